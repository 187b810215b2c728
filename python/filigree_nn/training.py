# SPDX-License-Identifier: Apache-2.0
"""Training: networks that are sparse from the first step to the last."""

import contextlib
import dataclasses
import logging
import re

import numpy as np
import scipy.sparse

from . import _core
from ._arrays import array_of, csr_arrays, dense_array, whole_numbers
from .networks import Network

_log = logging.getLogger("filigree_nn")
_HELP = {info["name"].replace("-", "_"): info for info in _core.settings()}


def settings():
    """What there is to set in training.

    Returns
    -------
    dict
        For each name, as keyword arguments have it: its group, default, what is possible, and what it means.

    Examples
    --------
    >>> import filigree_nn as fn
    >>> fn.settings()["sparsity"]["possible"]
    'from 0 to below 1'
    """
    facts = {name: {key: info[key] for key in ("group", "default", "possible", "help")} for name, info in _HELP.items()}
    for each in facts.values():  # the command line's options are keyword arguments here
        each["help"] = re.sub(r"--([a-z-]+)", lambda match: match[1].replace("-", "_"), each["help"])
    return facts


def _text(value):
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(_text(each) for each in value)
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return str(value)


def setting_texts(chosen):
    """Settings as the library reads them: pairs of name and text."""
    texts = []
    for name, value in chosen.items():
        if name not in _HELP:
            raise TypeError(f"there is no setting {name!r}; filigree_nn.settings() lists them")
        if value is None:
            continue
        text = _text(value)
        texts.append((name.replace("_", "-"), text.replace(",", "-") if name == "network" else text))
    return texts


def make_options(preset, data, chosen):
    """The settings of a preset with those chosen in their place."""
    if preset is None:
        options = _core.Options()
    elif preset == "auto":
        options = _core.Options.preset_for(preset, data)
    else:
        options = _core.Options.preset(preset)
    for name, text in setting_texts(chosen):
        options.set(name, text)
    return options


@dataclasses.dataclass
class Rows:
    """Rows, what is to be told of them, and how much each counts."""

    x: object
    y: np.ndarray
    weight: np.ndarray | None = None


def _part(rows, task):
    """For the engine, with the arrays that it borrows."""
    if scipy.sparse.issparse(rows.x):
        made = _core.Rows(*csr_arrays(rows.x))
    else:
        made = _core.Rows(dense_array(rows.x))
    weight = None if rows.weight is None else np.ascontiguousarray(array_of(rows.weight), np.float32)
    if task == "classes":
        return _core.Part(made, classes=whole_numbers(rows.y, "the numbers of classes"), weights=weight)
    return _core.Part(made, targets=np.ascontiguousarray(array_of(rows.y), np.float32).reshape(-1), weights=weight)


class TrainingData:
    """Data for training, made of arrays, which it borrows and keeps alive.

    Parameters
    ----------
    train : Rows
        ``y``: the number of each row's class from 0 on, or its values or labels.
    task : {"classes", "values", "labels"}
    targets : int
        Classes, values or labels; 0 counts them.
    names, feature_names : list of str
    validation, test : Rows, optional
    """

    def __init__(self, train, task, targets=0, names=(), feature_names=(), validation=None, test=None):
        parts = [None if rows is None else _part(rows, task) for rows in (train, validation, test)]
        given = [array_of(rows.y) for rows in (train, validation, test) if rows is not None]
        if task == "classes" and not names and all(y.size for y in given):
            targets = targets or 1 + max(int(y.max()) for y in given)
            names = [str(number) for number in range(targets)]
        self._kept = parts
        self._data = _core.Data(
            parts[0], task, targets, list(names), list(feature_names), validation=parts[1], test=parts[2], borrow=True
        )


@dataclasses.dataclass
class TrainRun:
    """What came of training.

    Attributes
    ----------
    network : Network
    history : list of dict
        For each epoch its losses, scores, connections and seconds.
    stopped_early : bool
    """

    network: Network
    history: list
    stopped_early: bool = False


class Trainer:
    """A network in training, for loops of your own; `train` is such a loop.

    Parameters
    ----------
    data : TrainingData
    preset : str, optional
        ``"auto"``, ``"fast"``, ``"best"`` or ``"ertl"``; None: the defaults.
    start : Network, optional
        Goes on from this one.
    **chosen
        Any of `settings`.
    """

    def __init__(self, data, *, preset="auto", start=None, **chosen):
        self._data = data
        options = make_options(preset, data._data, chosen)
        if start is None:
            self._trainer = _core.Trainer(data._data, options)
        else:
            self._trainer = _core.Trainer(start._core_network, data._data, options)

    @classmethod
    def from_state(cls, data, state):
        """Goes on from `state_dict`, bit by bit."""
        trainer = cls.__new__(cls)
        trainer._data = data
        trainer._trainer = _core.Trainer.from_state(data._data, state["checkpoint"])
        return trainer

    def state_dict(self):
        """All there is to know: weights, connections, moments, counters, settings."""
        return {"checkpoint": self._trainer.state()}

    def __reduce__(self):
        raise TypeError(
            "a Trainer cannot be pickled or copied: keep its state_dict(), and go on with Trainer.from_state(data, state)"
        )

    def epoch(self):
        """Trains on all rows once; a dict that tells how it went. Ctrl-C stops it: the next call goes on from there."""
        return self._trainer.epoch()

    def step(self, rows):
        """One step on these rows, numbered from 0."""
        rows = np.asarray(rows)
        if rows.dtype.kind == "b":
            raise ValueError("rows to step on are numbered from 0: np.flatnonzero(mask) has the numbers of a mask")
        self._trainer.step(whole_numbers(rows, "the numbers of rows"))

    def go_on_with(self, data, epochs=1):
        """From here on with other rows, of the same features and targets."""
        self._trainer.go_on_with(data._data, epochs)
        self._data = data

    def evaluate(self, part="test"):
        """Score and loss: of ``"train"``, ``"test"`` or ``"all"`` rows."""
        return self._trainer.evaluate(part)

    def use_best(self):
        """With patience: back to the network of the best epoch in validation."""
        self._trainer.use_best()

    def setting(self, name):
        """What a setting is, as text."""
        return self._trainer.setting(name.replace("_", "-"))

    network = property(lambda self: Network(self._trainer.network()), doc="As it is now.")
    done = property(lambda self: self._trainer.done, doc="Whether all epochs are done, or patience has run out.")
    history = property(lambda self: self._trainer.history, doc="A dict for each epoch.")
    steps = property(lambda self: self._trainer.steps, doc="Steps done so far.")

    @property
    def learning_rate(self):
        """Of the next step. Setting it sets the peak of the schedule."""
        return self._trainer.learning_rate

    @learning_rate.setter
    def learning_rate(self, rate):
        self._trainer.set_peak_learning_rate(rate)


def line_of(report):
    """What there is to say of an epoch, in one line."""
    parts = [f"epoch {report['epoch']}: loss {report['train_loss']:.5f}", f"score {report['train_score']:.4f}"]
    for part in ("validation", "test"):
        if np.isfinite(score := report[f"{part}_score"]):
            parts.append(f"{part} score {score:.4f}")
    return ", ".join([*parts, f"{report['connections']} connections", f"{report['seconds']:.3f} s"])


def epochs_of(trainer):
    """Trains until it is done, and yields what is known of each epoch; the logger ``filigree_nn`` is told as well."""
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("settings: %s", " ".join(f"{name}={trainer.setting(name)}" for name in _HELP))
    while not trainer.done:
        report = trainer.epoch()
        _log.info("%s", line_of(report))
        yield report


def train(
    x, y, *, task=None, sample_weight=None, validation=None, test=None, feature_names=(), preset="auto", start=None,
    callback=None, progress=False, **chosen,
):
    """Trains a sparse network.

    Parameters
    ----------
    x : array_like or sparse matrix
        A row for each sample.
    y : array_like
        Classes as numbers or texts, values, or a column of 0 and 1 for each label.
    task : {"classes", "values", "labels"}, optional
        What y is: without it texts, whole numbers and bools are classes, floats are values, and several columns of whole
        numbers are labels.
    sample_weight : array_like, optional
    validation, test : tuple of (x, y), optional
    feature_names : list of str, optional
    preset : str, optional
        Where settings come from that are not given.
    start : Network, optional
        Goes on from this one.
    callback : callable, optional
        Is called with the dict of each epoch; training ends if it returns True.
    progress : bool
        Shows a bar of tqdm. The logger ``filigree_nn`` has a line for each epoch, at the level INFO, either way.
    **chosen
        Any of `settings`: ``sparsity=0.97, hidden=(256, 256), epochs=50, seed=1``.

    Returns
    -------
    TrainRun
    """
    y = array_of(y)
    if task is None:
        task = "values" if y.dtype.kind == "f" else "labels" if y.ndim == 2 and y.shape[1] > 1 else "classes"
    names, targets, number_of = [], 0, array_of
    if task == "classes":
        if y.ndim != 1:
            raise ValueError(f"classes have one dimension, but y has {y.ndim}")
        classes = np.unique(y)
        names, targets = [str(each) for each in classes], len(classes)

        def number_of(values):
            values = array_of(values)
            numbers = np.searchsorted(classes, values).clip(max=len(classes) - 1)
            if not np.array_equal(classes[numbers], values):
                raise ValueError("there are classes that no row to train on has")
            return numbers

    part = lambda pair: None if pair is None else Rows(pair[0], number_of(pair[1]))
    data = TrainingData(
        Rows(x, number_of(y), sample_weight), task, targets, names, feature_names, part(validation), part(test)
    )
    trainer = Trainer(data, preset=preset, start=start, **chosen)
    epochs = int(trainer.setting("epochs"))
    with _bar(epochs) if progress else contextlib.nullcontext() as bar:
        for report in epochs_of(trainer):
            if bar is not None:
                bar.set_postfix(loss=f"{report['train_loss']:.4f}", refresh=False)
                bar.update()
            if callback is not None and callback(report) is True:
                break
    trainer.use_best()
    return TrainRun(trainer.network, trainer.history, len(trainer.history) < epochs)


def _bar(epochs):
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True shows a bar of tqdm, which is missing: pip install tqdm") from error
    return tqdm(total=epochs, unit="epoch")
