# SPDX-License-Identifier: Apache-2.0
"""Jobs made of networks and training: scores, smaller networks, the Sparse DNN Graph Challenge."""

import contextlib
import dataclasses
import os
import tempfile

from . import _core
from .networks import Network
from .training import TrainRun, setting_texts


def evaluate(network, data, part="test"):
    """How well a network does.

    Parameters
    ----------
    network : Network
    data : TrainingData
    part : {"test", "train", "all"}

    Returns
    -------
    dict
        The loss and every metric of the task: accuracy, F1, ROC-AUC; R², RMSE, …

    Examples
    --------
    >>> import numpy as np, filigree_nn as fn
    >>> x = np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)
    >>> data = fn.TrainingData(fn.Rows(x, (x[:, 0] > 0).astype(int)), "classes")
    >>> trainer = fn.Trainer(data, hidden=(16,), epochs=20, seed=1)
    >>> while not trainer.done:
    ...     _ = trainer.epoch()
    >>> fn.evaluate(trainer.network, data, "train")["accuracy"] > 0.9
    True
    """
    return _core.evaluate(network._core_network, data._data, part)


@dataclasses.dataclass
class Compiled:
    """What the exact passes made of a network.

    Attributes
    ----------
    network : Network
        The same function, of fewer neurons and connections.
    passes : list of dict
        What each pass removed.
    """

    network: Network
    passes: list


def compile_network(network):
    """The exact passes: neurons that compute the same become one, and what nobody reads goes.

    Parameters
    ----------
    network : Network

    Returns
    -------
    Compiled
    """
    core, passes = _core.compile_network(network._core_network)
    return Compiled(Network(core), passes)


@dataclasses.dataclass
class PruneRun:
    """A network made smaller, with what that cost and gained.

    Attributes
    ----------
    network : Network
        After pruning and the exact passes.
    before, after : dict
        Connections and biases, neurons of each layer, bytes of memory and file, accuracy, and the
        seconds that 1, 32 and 512 rows take, or all there are.
    """

    network: Network
    before: dict
    after: dict


def prune(network, data, *, method="magnitude", target=0.9, once=False, directory=None, **chosen):
    """Makes a network smaller, gradually, while it trains on.

    Parameters
    ----------
    network : Network
    data : TrainingData
    method : {"magnitude", "taylor", "random", "lottery", "neurons", "blocks", "n-of-m", "fssl"}
        What goes: single weights, whole neurons, or blocks.
    target : float
        The sparsity of the result.
    once : bool
        Everything goes before the first step instead of gradually.
    directory : path, optional
        Where the files of the run stay.
    **chosen
        Any of `settings`.

    Returns
    -------
    PruneRun
    """
    with _directory(directory) as path:
        core, before, after = _core.prune(
            network._core_network, data._data, method, float(target), bool(once), setting_texts(chosen), path
        )
    return PruneRun(Network(core), before, after)


def grow(data, *, budget, stages=4, deepen=0, directory=None, **chosen):
    """Grows a network from a small sparse seed, never above a budget.

    Parameters
    ----------
    data : TrainingData
    budget : int
        Connections.
    stages : int
        How often it grows.
    deepen : int
        How many of the stages, from the first on, add a layer.
    directory : path, optional
        Where the files of the run stay.
    **chosen
        Any of `settings`.

    Returns
    -------
    TrainRun
    """
    texts = setting_texts(chosen)
    if not any(name in ("network", "hidden") for name, _ in texts):
        texts.append(("hidden", "32,32"))
    options = _core.growing_options(texts)
    with _directory(directory) as path:
        core, history = _core.grow(data._data, int(budget), stages, deepen, options, path)
    return TrainRun(Network(core), history)


def challenge(
    neurons=1024, layers=0, *, inputs=None, seed=1, data=None, mnist=None, engine="compiled", check="auto", repeat=1
):
    """Runs the Sparse DNN Graph Challenge and checks the answer.

    Parameters
    ----------
    neurons : {1024, 4096, 16384, 65536}
    layers : int
        0: 120, or as many as the files have.
    inputs : int, optional
        The first so many images.
    data : path, optional
        The official files; without it, the network is generated.
    mnist : path, optional
        MNIST's files, which the official images are made from; without it, digits are drawn.
    engine : {"compiled", "plain"}
    check : {"auto", "full", "none"}
        A sample of the rows is compared with a reference in double precision, all of them, or none.
    repeat : int
        Times to run it.

    Returns
    -------
    dict
        The categories, counted from 0, whether they are verified, and times.
    """
    return _core.challenge(
        neurons, layers, inputs, seed, os.fspath(data or ""), os.fspath(mnist or ""), engine, check, repeat
    )


@contextlib.contextmanager
def _directory(given):
    """The one given, or one that is thrown away."""
    if given is not None:
        yield os.fspath(given)
        return
    with tempfile.TemporaryDirectory(prefix="filigree-") as path:
        yield path
