# SPDX-License-Identifier: Apache-2.0
"""Sparse neural networks that are really sparse: training and inference on the CPU.

>>> import numpy as np, filigree_nn as fn
>>> x = np.random.default_rng(0).normal(size=(600, 20)).astype(np.float32)
>>> y = (x[:, 0] > x[:, 1]).astype(int)
>>> run = fn.train(x, y, sparsity=0.9, hidden=(32, 32), epochs=20, seed=1)
>>> run.network.layers[0].weight.shape
(32, 20)
>>> run.network.compile().predict_proba(x[:2]).shape
(2, 2)
"""

import atexit

from . import _core
from ._core import Error, __version__
from .networks import Layer, Network, Plan
from .recipes import challenge, compile_network, evaluate, grow, prune
from .training import Rows, Trainer, TrainingData, TrainRun, settings, train

atexit.register(_core.shut_down)  # no call may be under way while the interpreter goes down

__all__ = [
    "Error", "Layer", "Network", "Plan", "Rows", "TrainRun", "Trainer", "TrainingData", "__version__", "challenge",
    "compile_network", "evaluate", "grow", "prune", "settings", "train",
]
