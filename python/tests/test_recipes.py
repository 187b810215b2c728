# SPDX-License-Identifier: Apache-2.0
"""Scores, smaller networks and the challenge from Python."""

import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import filigree_nn as fn


def blobs(rows=600, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(rows, 8)).astype(np.float32)
    return x, (x[:, 0] > x[:, 1]).astype(int)


@pytest.fixture(scope="module")
def trained():
    x, y = blobs()
    rows, test = fn.Rows(x[:500], y[:500]), fn.Rows(x[500:], y[500:])
    data = fn.TrainingData(rows, "classes", test=test)
    return data, fn.train(x[:500], y[:500], hidden=(64, 64), sparsity=0.5, epochs=20, seed=1).network, (x, y)


def test_scores_are_those_of_the_outputs(trained):
    data, network, (x, y) = trained
    metrics = fn.evaluate(network, data)
    right = network.compile().run(x[500:]).argmax(axis=1) == y[500:]
    assert metrics["accuracy"] == pytest.approx(right.mean())
    assert {"loss", "f1_macro", "roc_auc"} <= set(metrics)


def test_exact_passes_keep_the_function(trained):
    _, network, (x, _) = trained
    result = fn.compile_network(network)
    assert result.network.connections <= network.connections
    assert all(set(each) == {"name", "neurons_removed", "connections_removed"} for each in result.passes)
    before, after = network.compile().run(x), result.network.compile().run(x)
    assert np.abs(before - after).max() <= 64 * 2.0**-23 * np.abs(before).max()


@pytest.mark.parametrize("method", ["magnitude", "neurons"])
def test_prunes_and_says_what_it_cost(trained, method, tmp_path):
    data, network, _ = trained
    run = fn.prune(network, data, method=method, target=0.9, epochs=10, directory=tmp_path / "run")
    assert run.network.connections <= 0.1 * (8 * 64 + 64 * 64 + 64 * 2) + 1
    assert run.after["connections_and_biases"] < run.before["connections_and_biases"]
    assert {1, 32} < set(run.after["seconds"])
    assert run.after["accuracy"] > 0.8
    assert (tmp_path / "run" / "compact.safetensors").exists()


def test_grows_within_its_budget(trained):
    data, _, _ = trained
    run = fn.grow(data, budget=600, stages=2, epochs=3)
    assert 0 < run.network.connections <= 600
    assert len(run.history) > 0


def test_the_challenge_is_checked():
    plain, compiled = (fn.challenge(1024, 12, inputs=500, engine=engine, check="full") for engine in ("plain", "compiled"))
    assert plain["categories"] == compiled["categories"]
    assert plain["verified"] == "reference" and not plain["mismatches"]
    assert compiled["compiled_connections"] < compiled["connections"]


def test_bad_settings_are_errors(trained):
    data, network, _ = trained
    for call in (
        lambda: fn.prune(network, data, method="magic"),
        lambda: fn.prune(network, data, target=1.5),
        lambda: fn.grow(data, budget=-1),
        lambda: fn.challenge(1000),
        lambda: fn.challenge(engine="steam"),
        lambda: fn.evaluate(network, data, "nothing"),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError, match="no setting"):
        fn.prune(network, data, colour="red")


def test_what_the_library_warns_of_is_a_python_warning(tmp_path):
    cut = tmp_path / "cut.csv"
    cut.write_text("y,a\n" + "0,1\n1,2\n" * 20 + "0,3")
    with pytest.warns(UserWarning, match="does not end in a newline"):
        fn._core.Data.load(f"csv:{cut}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            fn._core.Data.load(f"csv:{cut}")


EVALUATES = """
import time, numpy as np, filigree_nn as fn
x = np.random.default_rng(0).normal(size=(1_000_000, 64)).astype(np.float32)
trainer = fn.Trainer(fn.TrainingData(fn.Rows(x, (x[:, 0] > 0).astype(int)), "classes"), hidden=(512, 512), epochs=1, sparsity=0.3)
print("ready", flush=True)
try:
    trainer.evaluate("train")
    print("done", flush=True)
except KeyboardInterrupt:
    print("interrupted", trainer.network.outputs, flush=True)
"""


def test_ctrl_c_stops_an_evaluation_at_once():
    with subprocess.Popen([sys.executable, "-c", EVALUATES], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted 2\n"
        assert process.wait(30) == 0
