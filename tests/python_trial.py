# SPDX-License-Identifier: Apache-2.0
"""Tries an installed filigree_nn where nothing else is: trains, saves, loads, runs; with scikit-learn, fits estimators.

python_trial.py [--sklearn] [--wheel]. --wheel: the libraries that it loads are to be the wheel's own.
"""

import pathlib
import sys
import tempfile

import numpy as np

import filigree_nn as fn


def rows(count, features):
    x = np.random.default_rng(0).normal(size=(count, features)).astype(np.float32)
    return x, np.where(x[:, 0] > x[:, 1], "left", "right")


def check(holds, what):
    if not holds:
        sys.exit(f"python_trial: {what}")


def try_training():
    x, y = rows(600, 20)
    run = fn.train(x, y, sparsity=0.9, hidden=(64, 64), epochs=50, seed=1)
    with tempfile.TemporaryDirectory() as place:
        run.network.save(pathlib.Path(place) / "model.safetensors")
        plan = fn.Network.load(pathlib.Path(place) / "model.safetensors").compile()
    found = np.array(run.network.output_names)[plan.predict_proba(x).argmax(axis=1)]
    share = np.mean(found == y)
    check(share > 0.9, f"only {share:.2f} of the rows that it was trained on are told right")
    print(f"{run.network}: {share:.3f} of the rows told right")


def try_large_training():
    """Layers so large that `rigl` takes a dense product to grow them: by oneDNN, or without it."""
    x, y = rows(2000, 784)
    for rule in ("set", "rigl"):
        print(f"{fn.train(x, y, sparsity=0.95, hidden=(256, 256), epochs=5, seed=1, evolve=rule).network}: trained by {rule}")


def try_estimators():
    from sklearn.datasets import load_diabetes, load_iris

    from filigree_nn.sklearn import SparseMLPClassifier, SparseMLPRegressor

    for name, model, data, least in (
        ("iris", SparseMLPClassifier(random_state=0), load_iris, 0.9),
        ("diabetes", SparseMLPRegressor(random_state=0), load_diabetes, 0.4),
    ):
        x, y = data(return_X_y=True)
        score = model.fit(x, y).score(x, y)
        check(score > least, f"{name}: the score is {score:.2f}")
        print(f"{type(model).__name__} on {name}: {score:.3f}")


def check_libraries():
    loaded = {pathlib.Path(line.split()[-1]) for line in open("/proc/self/maps") if "/" in line}
    for stem in ("libfmt", "libhwy", "libzstd"):
        places = {path.parent.name for path in loaded if path.name.startswith(stem)}
        check("filigree_nn.libs" in places, f"{stem} is loaded from {sorted(places)} alone")  # the system may have its own, too


def main():
    print(f"Python {sys.version.split()[0]}, filigree_nn {fn.__version__}, NumPy {np.__version__}")
    try_training()
    try_large_training()
    if "--sklearn" in sys.argv:
        try_estimators()
    if "--wheel" in sys.argv:
        check_libraries()


if __name__ == "__main__":
    main()
