# SPDX-License-Identifier: Apache-2.0
"""The measurements run, and name what they leave out. What they measure is not tested."""

import gzip
import importlib.util
import math
import pathlib
import re

import numpy as np
import pytest

from filigree_nn import _core, bench

PROGRAM = pathlib.Path(_core.__file__).resolve().parents[2] / "filigree"  # in a build's directory
torch_is_there = importlib.util.find_spec("torch") is not None
CELL = r"[\d.e+-]+ \([\d.e+-]+–[\d.e+-]+\)"


def output_of(capsys, *words):
    assert bench.main([*words, "--rounds", "2"]) == 0
    return capsys.readouterr().out


@pytest.fixture
def in_a_hurry(monkeypatch):
    """One call of each work a round is enough for a test."""
    measure = bench.interleaved
    monkeypatch.setattr(bench, "interleaved", lambda works, rounds, seconds=0: measure(works, rounds, 0))


def rows_of(text):
    return [line for line in text.splitlines() if re.search(CELL, line)]


def test_turns_are_taken_and_counted():
    calls = {"one": 0, "other": 0}

    def count(name):
        calls[name] += 1

    times = bench.interleaved({name: lambda name=name: count(name) for name in calls}, rounds=3, seconds=0)
    assert [len(each) for each in times.values()] == [3, 3]
    assert all(each > 0 for values in times.values() for each in values)


def test_median_and_quartiles_are_shown():
    assert bench.shown([5, 1, 3, 2, 4], 1000) == "3e+03 (2e+03–4e+03)"
    assert bench.shown([0.1, 0.3, 0.2], digits=2) == "0.2 (0.15–0.25)"
    assert bench.ratios([6, 8], [2, 4]) == [3, 2]


def test_calls_are_measured(capsys):
    text = output_of(capsys, "calls")
    assert "filigree " in text and "numpy " in text and "threads" in text
    assert len(rows_of(text)) == 4


@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not next to the package")
def test_the_program_and_the_package_train_the_same_network(capsys):
    text = output_of(capsys, "fit", "--program", str(PROGRAM), "--epochs", "3")
    assert len(rows_of(text)) == 2
    assert "Both networks are the same." in text


def test_a_missing_program_and_missing_data_are_said(capsys, tmp_path):
    text = output_of(capsys, "fit", "--program", str(tmp_path / "none"))
    assert f"Left out: the program filigree, there is no {tmp_path}/none (--program PATH)." in text
    text = output_of(capsys, "accuracy", "--fashion", str(tmp_path))
    assert "Left out: Fashion-MNIST, there is no" in text
    assert not rows_of(text)


@pytest.mark.usefixtures("in_a_hurry")
@pytest.mark.parametrize("name, rows", [("layers", 6), ("transformer", 3)])
def test_layers_and_blocks_are_measured_or_torch_is_said_to_be_missing(capsys, name, rows):
    text = output_of(capsys, name)
    if torch_is_there:
        assert len(rows_of(text)) == rows
    else:
        assert "Left out: torch, not installed (pip install torch)." in text


@pytest.mark.usefixtures("in_a_hurry")
@pytest.mark.skipif(not torch_is_there, reason="PyTorch is not installed")
def test_a_missing_peer_is_said(capsys, monkeypatch):
    monkeypatch.setattr(bench.importlib.util, "find_spec", lambda name: None if name == "sparselab" else name)
    assert "Left out: sparselab, not installed (pip install sparselab)." in output_of(capsys, "layers")


def write_images(directory, name, rows, generator):
    labels = generator.integers(0, 10, rows).astype(np.uint8)
    images = np.repeat(labels[:, None] * 20, 784, axis=1).astype(np.uint8)
    with gzip.open(directory / f"{name}-images-idx3-ubyte.gz", "wb") as file:
        file.write(bytes(16) + images.tobytes())
    with gzip.open(directory / f"{name}-labels-idx1-ubyte.gz", "wb") as file:
        file.write(bytes(8) + labels.tobytes())


def test_seconds_to_a_goal_are_measured(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")  # spinning takes long on busy processors
    generator = np.random.default_rng(0)
    write_images(tmp_path, "train", 500, generator)
    write_images(tmp_path, "t10k", 100, generator)
    text = output_of(capsys, "accuracy", "--fashion", str(tmp_path), "--goal", "0.05", "--seeds", "1")
    assert len(re.findall(r"\| [\d.]+ \([\d.]+–[\d.]+\) \| [\d.]+ \|", text)) == 2 + torch_is_there


def test_a_goal_that_is_not_reached_is_never():
    assert bench._seconds_shown([3, math.inf, 2]) == "3.00 (2.00–never)"
    assert bench._seconds_shown([math.inf, 2]) == "never (2.00–never)"


def test_wrong_usage_is_refused(capsys):
    for words in (["nothing"], ["calls", "--rounds", "1"], ["accuracy", "--seeds", "0"]):
        with pytest.raises(SystemExit) as stopped:
            bench.main(words)
        assert stopped.value.code == 2
