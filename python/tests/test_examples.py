# SPDX-License-Identifier: Apache-2.0
"""Every example runs from beginning to end, and its output says what it should."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

import filigree_nn as fn

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "python"
GALLERY = (ROOT / "docs" / "GALLERY.md").read_text()
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


def output_of(name, directory, *before):
    """What an example prints. Its threads wait without spinning: else those of PyTorch take minutes on busy processors."""
    command = [sys.executable, *before, str(EXAMPLES / name)]
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_in_the_gallery(name, text):
    """The gallery shows what the example printed here, numbers and what the transformer wrote aside."""
    masked = lambda shown: re.sub(r"writes: .*", "writes: TEXT", re.sub(r"\d[\d.,]*(e-\d+)?", "N", shown)).split()
    ((shown,),) = [found.groups() for found in re.finditer(rf"```\n\$ python examples/python/{name}\n(.*?)```", GALLERY, re.S)]
    return masked(shown) == masked(text)


def numbers(pattern, text):
    return [tuple(float(each.replace(",", "")) for each in found.groups()) for found in re.finditer(pattern, text)]


def shapes(path):
    assert path.stat().st_size < 60_000
    return [each.tag.rpartition("}")[2] for each in xml.etree.ElementTree.parse(path).iter()]


def test_first_model(tmp_path):
    text = output_of("first_model.py", tmp_path)
    assert is_in_the_gallery("first_model.py", text)
    assert "inputs with the largest weights: 3, 17, 29\n" in text
    ((right,),) = numbers(r"right on ([\d.]+)% of 500 rows", text)
    assert right > 90
    assert len(re.findall(r"^row \d+: high [\d.]+, low [\d.]+, middle [\d.]+; it is (?:high|low|middle)$", text, re.M)) == 3
    assert fn.Network.load(tmp_path / "first_model.safetensors").output_names == ["high", "low", "middle"]


def test_pandas_table(tmp_path):
    text = output_of("pandas_table.py", tmp_path)
    assert is_in_the_gallery("pandas_table.py", text)
    ((right,),) = numbers(r"test rows: +([\d.]+)% right", text)
    assert right > 85
    assert "inputs: district_harbour, " in text and "missingindicator_built\n" in text
    (harbour,), (airport,) = numbers(r"a home at the \w+: sold ([\d.]+)", text)
    assert harbour > airport


def test_compare_sparsities(tmp_path):
    text = output_of("compare_sparsities.py", tmp_path)
    assert is_in_the_gallery("compare_sparsities.py", text)
    rows = numbers(r" ([\d.]+)% +([\d,]+) +([\d.]+)% … ([\d.]+)%", text)
    assert [row[0] for row in rows] == [0, 50, 80, 90, 95, 98, 99, 99.5]
    assert all(abs(connections - 84480 * (1 - sparsity / 100)) <= 1 for sparsity, connections, _, _ in rows)
    assert all(lowest <= highest for _, _, lowest, highest in rows)
    assert rows[3][3] > 95 and rows[7][3] > 85
    assert shapes(tmp_path / "compare_sparsities.svg").count("circle") == 24


@needs_torch
def test_sparse_transformer(tmp_path):
    text = output_of("sparse_transformer.py", tmp_path)
    assert is_in_the_gallery("sparse_transformer.py", text)
    (dense, of_dense), (sparse, of_sparse) = numbers(r"([\d,]+) feed-forward weights, loss ([\d.]+)", text)
    assert dense == 2 * 2 * 64 * 512
    assert sparse == pytest.approx(dense / 10, abs=4)
    assert of_dense < 1 and of_sparse < 1  # guessing any of the 17 characters costs 2.8
    assert "4 layers made sparse\n" in text and "the sparse one writes: ann sees bob, bob greets ann. cleo " in text


@needs_torch
def test_prune_torch(tmp_path):
    text = output_of("prune_torch.py", tmp_path)
    assert is_in_the_gallery("prune_torch.py", text)
    (dense, of_dense), (pruned, of_pruned) = numbers(r"([\d.]+)% right, ([\d,]+) parameters", text)
    ((trained,),) = numbers(r"trained on +([\d.]+)% right", text)
    assert pruned < trained and trained > 90 and dense > 90
    assert of_pruned < of_dense / 15
    ((apart,),) = numbers(r"outputs differ by ([\de.-]+)", text)
    assert apart < 1e-4
    assert fn.Network.load(tmp_path / "pruned.safetensors").connections == 4224


@pytest.mark.parametrize("name", ["sparse_transformer.py", "prune_torch.py"])
def test_without_torch_an_example_says_so(name, tmp_path):
    hidden = "import runpy, sys; sys.modules['torch'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
    assert output_of(name, tmp_path, "-c", hidden) == "skipped: this example needs PyTorch (pip install torch)\n"


def test_watch_topology(tmp_path):
    text = output_of("watch_topology.py", tmp_path)
    assert is_in_the_gallery("watch_topology.py", text)
    rows = numbers(r"epoch +(\d+): ([\d.]+)% right, (\d+)% of the connections in the middle quarter", text)
    assert [epoch for epoch, _, _ in rows] == [1, 2, 4, 8, 16, 32]
    assert rows[-1][1] > 95
    ((before,),) = numbers(r"before training it was (\d+)%", text)
    assert before < 32 and rows[-1][2] > before + 10
    assert shapes(tmp_path / "watch_topology.svg").count("path") == 7 * 8


def test_examples_are_all_tested_and_short_and_pictures_small():
    assert all((ROOT / "docs" / each).stat().st_size < 60_000 for each in re.findall(r"\(([\w./]+\.svg)\)", GALLERY))
    tested = set(re.findall(r'output_of\("(\w+\.py)"', pathlib.Path(__file__).read_text()))
    assert tested == {path.name for path in EXAMPLES.glob("*.py")}
    assert all(20 <= path.read_text().count("\n") <= 80 for path in EXAMPLES.glob("*.py"))
