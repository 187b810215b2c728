# SPDX-License-Identifier: Apache-2.0
"""The Python of the pages runs, and shows what it shows."""

import importlib.util
import pathlib
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

import filigree_nn as fn

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


@pytest.mark.parametrize("page", ["docs/PYTHON.md", "docs/FORMAT.md", "README.md"])
def test_runs_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    features, classes = load_iris(return_X_y=True)
    names = {"X": features, "y": classes, "out": np.empty((600, 2), np.float32)}
    found = blocks(page)
    assert found
    for block in found:
        if "import torch" in block and importlib.util.find_spec("torch") is None:
            continue
        exec(compile(block, page, "exec"), names)
        for shown in re.findall(r"^run\.network +# (Network\([^)]*\))", block, re.M):
            assert repr(names["run"].network) == shown
    if page == "docs/FORMAT.md":
        assert fn.Network.load("model.safetensors").layers[1].shape == (10, 256)
