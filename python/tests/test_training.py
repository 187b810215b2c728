# SPDX-License-Identifier: Apache-2.0
"""What training does beside the network: bars, copies of its state, data that change under it."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import filigree_nn as fn
from filigree_nn.sklearn import SparseMLPClassifier
from filigree_nn.training import Rows, Trainer, TrainingData


def blobs(rows=300):
    x = np.random.default_rng(0).normal(size=(rows, 8)).astype(np.float32)
    return x, (x[:, 0] > x[:, 1]).astype(int)


def test_progress_shows_a_bar(capsys):
    x, y = blobs()
    fn.train(x, y, hidden=(8,), epochs=4, progress=True)
    shown = capsys.readouterr().err
    assert "4/4" in shown and "epoch/s" in shown and "loss=" in shown


def test_a_bar_is_closed_when_a_callback_fails():
    import tqdm

    def fail(report):
        raise KeyError("mine")

    x, y = blobs()
    with pytest.raises(KeyError, match="mine"):
        fn.train(x, y, hidden=(8,), epochs=4, progress=True, callback=fail)
    assert not tqdm.tqdm._instances


def test_progress_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    x, y = blobs()
    with pytest.raises(ImportError, match="pip install tqdm"):
        fn.train(x, y, hidden=(8,), epochs=4, progress=True)


def test_the_log_has_a_line_for_each_epoch(caplog):
    x, y = blobs()
    with caplog.at_level("INFO", "filigree_nn"):
        run = fn.train(x, y, hidden=(8,), epochs=3, validation=(x, y))
    assert [record.levelname for record in caplog.records] == ["INFO"] * 3
    for record, report in zip(caplog.records, run.history):
        assert record.message.startswith(f"epoch {report['epoch']}: loss {report['train_loss']:.5f}, score ")
        assert f"validation score {report['validation_score']:.4f}" in record.message
        assert "test score" not in record.message


def test_the_log_has_the_settings_for_those_who_debug(caplog):
    x, y = blobs()
    with caplog.at_level("DEBUG", "filigree_nn"):
        SparseMLPClassifier((7, 5), max_iter=2, random_state=0).fit(x, y)
    first, *epochs = caplog.records
    assert first.levelname == "DEBUG" and " hidden=7-5 " in first.message and " epochs=2 " in first.message
    assert [record.levelname for record in epochs] == ["INFO"] * 2
    caplog.clear()
    fn.train(x, y, hidden=(8,), epochs=2)
    assert not caplog.records


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_trainer_names_what_to_keep_in_its_place(copied):
    x, y = blobs()
    trainer = Trainer(TrainingData(Rows(x, y), "classes"), hidden=(8,), epochs=2)
    with pytest.raises(TypeError, match="state_dict"):
        copied(trainer)
    assert pickle.loads(pickle.dumps(trainer.state_dict())) == trainer.state_dict()


CHANGED = """
import sys, threading, numpy as np, filigree_nn as fn
kind = np.dtype(sys.argv[1])
x = np.random.default_rng(0).integers(0, 200, size=(20000, 32)).astype(kind)
y, weight = (x[:, 0] > 99).astype(np.int32), np.ones(len(x), np.float32)
begun, enough = threading.Event(), threading.Event()
def work():
    asked = {"sample_weight": weight, "hidden": (64, 64), "epochs": 100000, "seed": 1}
    try:
        fn.train(x, y, callback=lambda report: begun.set() or enough.is_set(), **asked)
    except ValueError as error:  # such as of a loss that is no longer finite
        print(error, file=sys.stderr)
    begun.clear()
thread = threading.Thread(target=work)
thread.start()
begun.wait()
extremes = [0, 255] if kind == np.uint8 else [0, 255, np.nan, np.inf, -1e38]
for round_ in range(50):
    x[...] = extremes[round_ % len(extremes)]
    y[...] = [-1, 2**31 - 1][round_ % 2]
    weight[...] = [np.nan, -1e30][round_ % 2]
enough.set()
thread.join()
print("ended" if not begun.is_set() else "failed")
"""


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8"])
def test_arrays_that_change_while_they_are_read_are_no_crash(kind):
    done = subprocess.run([sys.executable, "-c", CHANGED, kind], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


SPARSE_CHANGED = """
import threading, numpy as np, scipy.sparse, filigree_nn as fn
x = scipy.sparse.random_array((20000, 200), density=0.05, rng=0, dtype=np.float32).tocsr()
y = np.arange(20000) % 2
plan = fn.train(x, y, hidden=(16,), epochs=1).network.compile()
sound, ended = x.indices[-1], threading.Event()
def change():
    while not ended.is_set():
        x.indices[-1] = 2**31 - 1
        x.indices[-1] = sound
thread = threading.Thread(target=change)
thread.start()
fine = 0
for _ in range(100):
    for work in (lambda: plan.run(x), lambda: fn.train(x, y, hidden=(8,), epochs=1)):
        try:
            work()
            fine += 1
        except ValueError:
            pass
ended.set()
thread.join()
print("ended", fine > 0)
"""


def test_positions_that_change_while_they_are_read_are_no_crash():
    done = subprocess.run([sys.executable, "-c", SPARSE_CHANGED], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "ended True\n"), done.stderr
