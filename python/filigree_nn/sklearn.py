# SPDX-License-Identifier: Apache-2.0
"""Sparse networks as estimators of scikit-learn.

>>> from sklearn.datasets import load_iris
>>> from filigree_nn.sklearn import SparseMLPClassifier
>>> x, y = load_iris(return_X_y=True)
>>> model = SparseMLPClassifier(random_state=0).fit(x, y)
>>> bool(model.score(x, y) > 0.9)
True
>>> model.network_.sparsity > 0.85
True
"""

import numbers

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state, column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target, unique_labels
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .networks import Plan, log_probabilities, probabilities
from .training import Rows, Trainer, TrainingData, epochs_of, line_of

_X_TYPES = {"accept_sparse": "csr", "dtype": (np.float32, np.float64, np.uint8), "order": None}


class _SparseMLP(BaseEstimator):
    """What classifiers and regressors share."""

    def __init__(
        self, hidden_layer_sizes=None, *, sparsity=0.9, activation="relu", evolve="rigl", preset="auto", batch_size=None,
        learning_rate_init=None, alpha=None, max_iter=None, early_stopping=False, validation_fraction=0.1,
        n_iter_no_change=10, random_state=None, warm_start=False, verbose=False, settings=None,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.sparsity = sparsity
        self.activation = activation
        self.evolve = evolve
        self.preset = preset
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.alpha = alpha
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.settings = settings

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _chosen(self):
        """Settings as the engine calls them; those not given are the preset's."""
        chosen = {
            "hidden": self.hidden_layer_sizes,
            "sparsity": self.sparsity,
            "activation": self.activation,
            "evolve": self.evolve,
            "batch": self.batch_size,
            "lr": self.learning_rate_init,
            "weight_decay": self.alpha,
            "epochs": self.max_iter,
            "seed": int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
        }
        if isinstance(self.hidden_layer_sizes, numbers.Integral):
            chosen["hidden"] = (self.hidden_layer_sizes,)
        if self.early_stopping:
            chosen["validation"] = self.validation_fraction
            chosen["patience"] = self.n_iter_no_change
        return {**chosen, **(self.settings or {})}

    def _keep(self, trainer):
        """What is known of a fitted estimator."""
        self.network_ = trainer.network
        history = trainer.history
        self.loss_curve_ = [report["train_loss"] for report in history]
        self.loss_ = self.loss_curve_[-1] if history else np.nan
        self.best_loss_ = min(self.loss_curve_, default=np.nan)
        self.validation_scores_ = [report["validation_score"] for report in history] if self.early_stopping else None
        self.n_iter_ = len(history)
        self.t_ = trainer.steps
        self.n_layers_ = len(self.network_.layers) + 1
        self.n_outputs_ = self.network_.outputs
        self._plan = Plan(self.network_)

    def _train(self, data, start=None):
        trainer = Trainer(data, preset=self.preset, start=start, **self._chosen())
        for report in epochs_of(trainer):
            if self.verbose:
                print(line_of(report))
        trainer.use_best()
        self._trainer = None
        self._keep(trainer)
        return self

    def _names(self):
        return [str(name) for name in getattr(self, "feature_names_in_", ())]

    def _outputs(self, x):
        check_is_fitted(self, "network_")
        return self._plan.run(validate_data(self, x, reset=False, **_X_TYPES))

    def _partial(self, data):
        """One epoch on further rows."""
        if getattr(self, "_trainer", None) is None:
            chosen = {"schedule": "constant", "warmup_epochs": 0, **self._chosen(), "epochs": 1}
            if chosen["lr"] is None:
                chosen["lr"] = 0.02
            for name in ("validation", "patience"):
                chosen.pop(name, None)
            self._trainer = Trainer(data, preset=self.preset, **chosen)
        else:
            self._trainer.go_on_with(data)
        while not self._trainer.done:
            self._trainer.epoch()
        self._keep(self._trainer)
        return self

    def __getstate__(self):
        """Without what is made anew, and the optimizer's memory of partial_fit."""
        return {name: value for name, value in super().__getstate__().items() if name not in ("_plan", "_trainer")}

    def __setstate__(self, state):
        super().__setstate__(state)
        if hasattr(self, "network_"):
            self._plan = Plan(self.network_)


class SparseMLPClassifier(ClassifierMixin, _SparseMLP):
    """A classifier whose weights mostly do not exist, from the first step of its training to the last.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, optional
        Neurons of each hidden layer; None chooses by rows and features.
    sparsity : float
        The share of the weights that do not exist.
    activation : {"relu", "leaky-relu", "all-relu", "sigmoid", "tanh", "softplus"}
    evolve : {"rigl", "set", "ertl", "snfs", "granet", "none"}
        How connections move while it trains.
    preset : {"auto", "fast", "best", "ertl"}
        Where settings come from that are not given.
    batch_size, max_iter : int, optional
        Rows of a step; epochs.
    learning_rate_init, alpha : float, optional
        The learning rate at its peak; the weight decay.
    early_stopping : bool
        Keeps `validation_fraction` of the rows, stops after `n_iter_no_change` epochs that are no better, and keeps the
        best network.
    class_weight : dict or "balanced", optional
    random_state : int, RandomState or None
    warm_start : bool
        `fit` goes on from the network of the last one.
    verbose : bool
    settings : dict, optional
        Any of `filigree_nn.settings`.

    Attributes
    ----------
    network_ : filigree_nn.Network
    classes_ : numpy.ndarray
    loss_curve_ : list of float
    n_iter_ : int
        Epochs that were trained.

    Examples
    --------
    >>> from filigree_nn.sklearn import SparseMLPClassifier
    >>> model = SparseMLPClassifier(random_state=0).fit([[0.0], [1.0]] * 20, ["no", "yes"] * 20)
    >>> model.predict([[1.0], [0.0]]).tolist()
    ['yes', 'no']
    """

    def __init__(
        self, hidden_layer_sizes=None, *, sparsity=0.9, activation="relu", evolve="rigl", preset="auto", batch_size=None,
        learning_rate_init=None, alpha=None, max_iter=None, early_stopping=False, validation_fraction=0.1,
        n_iter_no_change=10, class_weight=None, random_state=None, warm_start=False, verbose=False, settings=None,
    ):
        super().__init__(
            hidden_layer_sizes, sparsity=sparsity, activation=activation, evolve=evolve, preset=preset,
            batch_size=batch_size, learning_rate_init=learning_rate_init, alpha=alpha, max_iter=max_iter,
            early_stopping=early_stopping, validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change,
            random_state=random_state, warm_start=warm_start, verbose=verbose, settings=settings,
        )
        self.class_weight = class_weight

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _data(self, x, y, sample_weight, classes=None):
        """Rows and targets of the engine; sets classes_."""
        check_classification_targets(y)
        self.multilabel_ = type_of_target(y, input_name="y") == "multilabel-indicator"
        if self.multilabel_:
            y = y.toarray() if scipy.sparse.issparse(y) else np.asarray(y)
            self.classes_ = np.arange(y.shape[1])
            if self.class_weight is not None:
                raise ValueError("class_weight is for classes, not for several labels of a row")
            rows, task, targets = Rows(x, y, sample_weight), "labels", y.shape[1]
            return TrainingData(rows, task, targets, feature_names=self._names())
        y = column_or_1d(y, warn=True)
        self.classes_ = np.unique(y) if classes is None else np.asarray(classes)
        if len(self.classes_) < 2:
            raise ValueError(f"This classifier needs at least 2 classes in y, but it has 1 class: {self.classes_[0]!r}")
        numbers_of = np.searchsorted(self.classes_, y)
        if self.class_weight is not None:
            of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
            sample_weight = weights * of_class[numbers_of]
        rows = Rows(x, numbers_of, sample_weight)
        names = [str(each) for each in self.classes_]
        return TrainingData(rows, "classes", len(self.classes_), names if len(set(names)) == len(names) else (), self._names())

    def fit(self, X, y, sample_weight=None):
        """Trains on rows X and classes y, or on labels: a column of 0 and 1 for each."""
        X, y = validate_data(self, X, y, multi_output=True, ensure_min_samples=2, **_X_TYPES)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        start = self.network_ if self.warm_start and hasattr(self, "network_") else None
        return self._train(self._data(X, y, sample_weight), start)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """One epoch on these rows; `classes` names all there will be, the first time."""
        first = not hasattr(self, "classes_") or getattr(self, "_trainer", None) is None
        X, y = validate_data(self, X, y, multi_output=True, reset=first, **_X_TYPES)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        if first and classes is None:
            classes = unique_labels(y)
        known = np.sort(np.asarray(classes)) if first else self.classes_
        if not first and classes is not None and not np.array_equal(np.sort(np.asarray(classes)), known):
            raise ValueError(f"`classes={classes}` is not the same as on last call to partial_fit, was: {known}")
        unknown = np.setdiff1d(np.asarray(y), known) if np.asarray(y).ndim == 1 else []
        if len(unknown):
            raise ValueError(f"The classes {unknown} of y are not among those of the first call: {known}")
        return self._partial(self._data(X, y, sample_weight, None if np.asarray(y).ndim == 2 else known))

    def predict_proba(self, X):
        """The probability of each class, or of each label. With the loss ``"mse"``, each class for itself: no sum of 1."""
        return probabilities(self._outputs(X).astype(np.float64), self.network_.loss, self.network_.task)

    def predict_log_proba(self, X):
        """The logarithm of `predict_proba`."""
        return log_probabilities(self._outputs(X).astype(np.float64), self.network_.loss, self.network_.task)

    def predict(self, X):
        """The most likely class, or the labels that are more likely than not."""
        outputs = self._outputs(X)
        if self.multilabel_:
            return (outputs > 0).astype(int)
        one_output = outputs.shape[1] == 1
        return self.classes_[(outputs[:, 0] > 0).astype(int) if one_output else outputs.argmax(axis=1)]


class SparseMLPRegressor(RegressorMixin, _SparseMLP):
    """A regressor whose weights mostly do not exist. Targets are learned in units of their own spread.

    Parameters
    ----------
    loss : {"squared", "absolute", "huber"}
    hidden_layer_sizes, sparsity, activation, evolve, preset, batch_size, learning_rate_init, alpha, max_iter, \
early_stopping, validation_fraction, n_iter_no_change, random_state, warm_start, verbose, settings
        See `SparseMLPClassifier`.

    Attributes
    ----------
    network_ : filigree_nn.Network
    loss_curve_ : list of float
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from filigree_nn.sklearn import SparseMLPRegressor
    >>> x = np.linspace(0, 1, 200).reshape(-1, 1)
    >>> model = SparseMLPRegressor(random_state=0).fit(x, 3 * x.ravel() + 1)
    >>> bool(model.score(x, 3 * x.ravel() + 1) > 0.95)
    True
    """

    def __init__(
        self, hidden_layer_sizes=None, *, loss="squared", sparsity=0.9, activation="relu", evolve="rigl", preset="auto",
        batch_size=None, learning_rate_init=None, alpha=None, max_iter=None, early_stopping=False,
        validation_fraction=0.1, n_iter_no_change=10, random_state=None, warm_start=False, verbose=False, settings=None,
    ):
        super().__init__(
            hidden_layer_sizes, sparsity=sparsity, activation=activation, evolve=evolve, preset=preset,
            batch_size=batch_size, learning_rate_init=learning_rate_init, alpha=alpha, max_iter=max_iter,
            early_stopping=early_stopping, validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change,
            random_state=random_state, warm_start=warm_start, verbose=verbose, settings=settings,
        )
        self.loss = loss

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _chosen(self):
        return {**super()._chosen(), "loss": self.loss}

    def _checked(self, X, y, sample_weight, reset=True):
        X, y = validate_data(
            self, X, y, multi_output=True, y_numeric=True, reset=reset, ensure_min_samples=2, **_X_TYPES
        )
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        targets = 1 if y.ndim == 1 else y.shape[1]
        self._one_value = y.ndim == 1
        return TrainingData(Rows(X, y, sample_weight), "values", targets, feature_names=self._names())

    def fit(self, X, y, sample_weight=None):
        """Trains on rows X and values y: one or more columns."""
        start = self.network_ if self.warm_start and hasattr(self, "network_") else None
        return self._train(self._checked(X, y, sample_weight), start)

    def partial_fit(self, X, y, sample_weight=None):
        """One epoch on these rows. The spread of the first ones is what values are measured by."""
        first = getattr(self, "_trainer", None) is None
        return self._partial(self._checked(X, y, sample_weight, reset=first))

    def predict(self, X):
        """The values, in the units of y."""
        outputs = self._outputs(X).astype(np.float64)
        return outputs.ravel() if self._one_value else outputs
