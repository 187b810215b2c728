# SPDX-License-Identifier: Apache-2.0
"""Compares the metrics of `filigree eval` with scikit-learn's on random rows: metrics_check.py [PROGRAM [CASES]].

Needs numpy and scikit-learn. A network of one layer that hands its inputs on is written as a model file, so that the
rows of a table are the outputs to be scored.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
from sklearn import metrics

TOLERANCE = 1e-6


def write_identity(path, width, loss):
    value, bias = np.eye(width, dtype="<f4").tobytes(), np.zeros(width, "<f4").tobytes()
    header = {
        "__metadata__": {
            "format": "filigree model 1",
            "layers": "1",
            "loss": loss,
            "layers.0.inputs": str(width),
            "layers.0.activation": "identity",
        },
        "layers.0.value": {"dtype": "F32", "shape": [width, width], "data_offsets": [0, len(value)]},
        "layers.0.bias": {"dtype": "F32", "shape": [width], "data_offsets": [len(value), len(value) + len(bias)]},
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + value + bias)


def evaluate(program, place, loss, outputs, targets, task):
    write_identity(place / "model.safetensors", outputs.shape[1], loss)
    np.save(place / "rows.npy", outputs)
    np.save(place / "targets.npy", targets)
    command = [program, "eval", place / "model.safetensors", "--data", f"npy:{place}/rows.npy,{place}/targets.npy"]
    command += ["--task", task, "--part", "all", "--test-share", "0", "--quiet", "--json", place / "out.json"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return json.loads((place / "out.json").read_text())["metrics"]


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def classes_case(program, random, place):
    width, rows = int(random.integers(2, 6)), int(random.integers(60, 400))
    outputs = (3 * random.standard_normal((rows, width))).astype(np.float32)
    labels = random.integers(0, width, rows)
    labels[:width] = range(width)
    likely = random.random(rows) < 0.5
    outputs[likely, labels[likely]] += 2
    exponents = np.exp(outputs.astype(np.float64) - outputs.max(1, keepdims=True))
    shares = exponents / exponents.sum(1, keepdims=True)
    found = evaluate(program, place, "cross-entropy", outputs, labels, "classes")
    best = shares.argmax(1)
    one_hot = np.eye(width)[labels]
    scores, truth = (shares[:, 1], labels) if width == 2 else (shares, one_hot)
    return found, {
        "accuracy": metrics.accuracy_score(labels, best),
        "balanced_accuracy": metrics.balanced_accuracy_score(labels, best),
        "f1_macro": metrics.f1_score(labels, best, average="macro"),
        "f1_weighted": metrics.f1_score(labels, best, average="weighted"),
        "log_loss": metrics.log_loss(labels, shares, labels=range(width)),
        "roc_auc": metrics.roc_auc_score(truth, scores),
        "average_precision": metrics.average_precision_score(truth, scores),
    }


def labels_case(program, random, place):
    width, rows = int(random.integers(2, 6)), int(random.integers(60, 400))
    outputs = (3 * random.standard_normal((rows, width))).astype(np.float32)
    truth = (random.random((rows, width)) < 0.4).astype(np.uint8)
    truth[0], truth[1] = 0, 1
    found = evaluate(program, place, "binary-cross-entropy", outputs, truth, "labels")
    said = outputs > 0
    shares = sigmoid(outputs)
    return found, {
        "accuracy": metrics.accuracy_score(truth, said),
        "label_accuracy": np.mean(truth == said),
        "f1_macro": metrics.f1_score(truth, said, average="macro"),
        "f1_weighted": metrics.f1_score(truth, said, average="weighted"),
        "log_loss": np.mean([metrics.log_loss(truth[:, o], shares[:, o]) for o in range(width)]),
        "roc_auc": metrics.roc_auc_score(truth, shares),
        "average_precision": metrics.average_precision_score(truth, shares),
    }


def values_case(program, random, place):
    width, rows = int(random.integers(1, 5)), int(random.integers(60, 400))
    truth = (10 ** random.uniform(-2, 4) * random.standard_normal((rows, width)) + 0.25).astype(np.float32)
    outputs = (truth + truth.std() * random.standard_normal((rows, width))).astype(np.float32)
    found = evaluate(program, place, "squared", outputs, truth, "values")
    errors = [np.sqrt(metrics.mean_squared_error(truth[:, o], outputs[:, o])) for o in range(width)]
    return found, {
        "r2": metrics.r2_score(truth, outputs),
        "rmse": np.mean(errors),
        "mae": metrics.mean_absolute_error(truth, outputs),
    }


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/release/filigree"
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    random = np.random.default_rng(1)
    worst = {}
    with tempfile.TemporaryDirectory() as directory:
        for case in (classes_case, labels_case, values_case):
            for _ in range(cases):
                found, expected = case(program, random, pathlib.Path(directory))
                for name, value in expected.items():
                    off = abs(found[name] - value) / max(1, abs(value))
                    key = f"{case.__name__.removesuffix('_case')}: {name}"
                    worst[key] = max(worst.get(key, 0), off)
    for name, off in worst.items():
        print(f"{name:28} {off:.1e}")
    bad = [name for name, off in worst.items() if not off < TOLERANCE]
    if bad:
        print("more than", TOLERANCE, "apart:", ", ".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
