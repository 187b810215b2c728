# SPDX-License-Identifier: Apache-2.0
"""A table with text and gaps: a pandas frame through a scikit-learn pipeline into a sparse classifier."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from filigree_nn.sklearn import SparseMLPClassifier


def homes(rows, generator):
    """Homes for sale, and whether each was sold within a month. Some entries are missing, as in life."""
    table = pd.DataFrame(
        {
            "district": generator.choice(["harbour", "hill", "old town", "station"], rows, p=[0.2, 0.3, 0.2, 0.3]),
            "heating": generator.choice(["gas", "heat pump", "oil"], rows),
            "area": generator.normal(90, 30, rows).clip(25).round(),
            "built": generator.integers(1900, 2025, rows).astype(float),
            "price": generator.normal(4000, 900, rows).round(-1),
        }
    )
    wanted = table["district"].map({"harbour": 1.0, "hill": 0.2, "old town": 0.6, "station": -0.8})
    wanted += np.where(table["heating"] == "oil", -0.7, 0.2) + (table["built"] - 1960) / 80 - (table["price"] - 4000) / 700
    sold = np.where(wanted + generator.normal(0, 0.4, rows) > 0, "sold", "waits")
    for column, share in (("heating", 0.05), ("area", 0.1), ("built", 0.15)):
        table.loc[generator.random(rows) < share, column] = None
    return table, sold


table, sold = homes(3000, np.random.default_rng(0))
print(table.head(4).to_string())
print(f"{table.isna().any(axis=1).mean():.0%} of the rows have gaps; {np.mean(sold == 'sold'):.0%} of the homes were sold\n")

text, numbers = ["district", "heating"], ["area", "built", "price"]
columns = make_column_transformer(
    (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)), text),
    (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()), numbers),
    verbose_feature_names_out=False,
)
model = make_pipeline(columns, SparseMLPClassifier((64, 64), sparsity=0.9, max_iter=40, random_state=0))
model.set_output(transform="pandas")  # so that the network knows what its inputs are called

x_train, x_test, y_train, y_test = train_test_split(table, sold, test_size=0.25, random_state=0)
folds = cross_val_score(model, x_train, y_train, cv=3)
print("three folds:", ", ".join(f"{score:.1%}" for score in folds))
model.fit(x_train, y_train)
print(f"test rows:   {model.score(x_test, y_test):.1%} right")
print(model[-1].network_)
print("inputs:", ", ".join(model[-1].network_.input_names))

asked = pd.DataFrame([["harbour", "gas", 80, 2010, 3900], ["airport", None, None, 1950, 4700]], columns=table.columns)
for row, likely in zip(asked.to_dict("records"), model.predict_proba(asked)):
    print(f"a home at the {row['district']}: " + ", ".join(f"{name} {p:.2f}" for name, p in zip(model.classes_, likely)))
