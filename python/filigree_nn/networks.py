# SPDX-License-Identifier: Apache-2.0
"""Networks, and plans that run them."""

import html
import logging
import math
import os

import numpy as np
import scipy.sparse
import scipy.special

from . import _core
from ._arrays import csr_arrays, outputs_array, rows_of

_PICTURE = 48  # pixels of a layer's picture


def probabilities(outputs, loss, task):
    """What the outputs of a network of this loss say of each class or label. Two classes may share one output."""
    if loss == "cross-entropy":
        return scipy.special.softmax(outputs, axis=1)
    if loss == "mse":
        return outputs
    if loss == "binary-cross-entropy":
        return scipy.special.expit(_of_two(outputs, task))
    raise ValueError(f"a network of the loss {loss} gives values, not probabilities")


def log_probabilities(outputs, loss, task):
    """The logarithm of `probabilities`, which is finite where the probability itself underflows."""
    if loss == "cross-entropy":
        return scipy.special.log_softmax(outputs, axis=1)
    if loss == "binary-cross-entropy":
        return scipy.special.log_expit(_of_two(outputs, task))
    with np.errstate(divide="ignore"):  # a sigmoid of 0 has a logarithm of minus infinity
        return np.log(probabilities(outputs, loss, task))


def _of_two(logits, task):
    """A logit for each class where one output tells two apart; else the logits as they are."""
    return np.hstack([-logits, logits]) if task == "classes" and logits.shape[1] == 1 else logits


class Layer:
    """One layer: ``activation(weight @ x + bias)``.

    Attributes
    ----------
    weight : scipy.sparse.csr_array
        One row for each output. Of a layer of a network, its values and column indices are read-only memory of the
        network, not a copy.
    bias : numpy.ndarray
    activation : str
        ``"identity"``, ``"relu"``, ``"leaky-relu"``, ``"sigmoid"``, ``"tanh"`` or ``"softplus"``.
    cap, slope : float
        The largest output of a relu; the slope of a leaky relu below zero.
    """

    def __init__(self, weight, bias=None, activation="relu", cap=math.inf, slope=0.0):
        self.weight = weight if isinstance(weight, scipy.sparse.csr_array) else scipy.sparse.csr_array(weight)
        self.bias = np.zeros(self.weight.shape[0], np.float32) if bias is None else np.asarray(bias, np.float32)
        self.activation = activation
        self.cap = cap
        self.slope = slope

    @property
    def shape(self):
        """Outputs and inputs."""
        return self.weight.shape

    @property
    def sparsity(self):
        """The share of the weights that do not exist."""
        outputs, inputs = self.shape
        return 1 - self.weight.nnz / max(1, outputs * inputs)

    def __repr__(self):
        outputs, inputs = self.shape
        return f"Layer({inputs} → {outputs}, {self.weight.nnz:,} connections, {self.sparsity:.1%} sparse, {self.activation})"

    def _picture(self):
        """Where connections are, as a small image in SVG: darker is denser."""
        outputs, inputs = self.shape
        height, width = min(_PICTURE, outputs), min(_PICTURE, inputs)
        entries = self.weight.tocoo()
        cells = np.zeros((height, width))
        np.add.at(cells, (entries.row * height // outputs, entries.col * width // inputs), 1)
        most = max(1.0, cells.max())
        squares = "".join(
            f'<rect x="{c}" y="{r}" width="1" height="1" fill-opacity="{cells[r, c] / most:.2f}"/>'
            for r, c in zip(*np.nonzero(cells))
        )
        title = f"Connections of a layer of {inputs} inputs and {outputs} outputs"
        return (
            f'<svg viewBox="0 0 {width} {height}" width="{2 * _PICTURE}" height="{2 * _PICTURE}" role="img" '
            f'preserveAspectRatio="none" shape-rendering="crispEdges" fill="currentColor"><title>{title}</title>{squares}</svg>'
        )


class Network:
    """A network that cannot be changed. Made by `load`, `from_layers`, `train` and others; copies share it."""

    def __init__(self, core):
        if not isinstance(core, _core.Network):
            raise TypeError("a network is made by Network.load(), Network.from_layers() or train()")
        self._core_network = core
        self._layers = None
        self.notes = []

    @classmethod
    def load(
        cls, path, *, activation="relu", cap=math.inf, slope=0.01, last="identity", loss=None, orientation="auto",
        bias_row=False, epsilon=1e-5, input_scale=1.0, keep_zeros=False,
    ):
        """A network from a file or directory of any form, told by what it holds.

        Parameters
        ----------
        path : path
            A model file, the directory of a training run, ONNX, a state dict of PyTorch as safetensors, matrices of SciPy
            (npz) or Matrix Market, or a directory in the official challenge layout.
        activation, cap, slope, last : str, float, float, str
            Where the file has none: after every layer but the last, and after the last.
        loss : str, optional
            What the outputs mean, by what they were trained for; else as the file says.
        orientation : {"auto", "out-in", "in-out"}
            Whether matrices have a row for each output or for each input.
        bias_row : bool
            Whether the last row of each matrix holds the biases.
        epsilon : float
            Of batch normalisation in a state dict.
        input_scale : float
            By which inputs are multiplied first.
        keep_zeros : bool
            Whether weights that are zero stay connections.

        Returns
        -------
        Network
            Its `notes` say what was taken for granted; they are told to the logger ``filigree_nn`` as well.
        """
        core, notes, _, _ = _core.Network.import_file(
            os.fspath(path), activation, cap, slope, last, loss, orientation, bias_row, epsilon, input_scale, keep_zeros
        )
        for note in notes:
            logging.getLogger("filigree_nn").info("%s: %s", path, note)
        network = cls(core)
        network.notes = notes
        return network

    @classmethod
    def from_layers(cls, layers, *, loss=None, mean=(), scale=(), input_names=(), output_names=()):
        """A network of layers, each a `Layer`, or a tuple of what makes one.

        Parameters
        ----------
        layers : list
            `Layer` objects, or tuples such as ``(weight, bias, "relu")``; weights with one row for each output.
        loss : str, optional
            What it was trained for, which says what its outputs mean: ``"cross-entropy"``, ``"squared"``, …
        mean, scale : array_like, optional
            Each input becomes ``(x - mean) * scale`` before the first layer.
        input_names, output_names : list of str, optional

        Examples
        --------
        >>> import numpy as np, scipy.sparse, filigree_nn as fn
        >>> weight = scipy.sparse.csr_array(np.eye(3, 5))
        >>> network = fn.Network.from_layers([(weight, np.zeros(3), "relu")])
        >>> network.inputs, network.outputs
        (5, 3)
        """
        dicts = []
        for layer in layers:
            if not isinstance(layer, Layer):
                layer = Layer(*layer)
            begin, column, value, inputs = csr_arrays(layer.weight)
            dicts.append(
                {
                    "inputs": inputs,
                    "outputs": layer.weight.shape[0],
                    "row_begin": begin,
                    "column": column,
                    "value": value,
                    "bias": np.ascontiguousarray(layer.bias, np.float32),
                    "activation": layer.activation,
                    "cap": layer.cap,
                    "slope": layer.slope,
                }
            )
        as_floats = lambda values: [float(v) for v in np.atleast_1d(np.asarray(values, np.float32))] if np.size(values) else []
        return cls(
            _core.Network.from_layers(
                dicts, loss, as_floats(mean), as_floats(scale), list(input_names), list(output_names)
            )
        )

    def save(self, path, *, form=None, opset=17, sparse=False):
        """Writes a file: the old one or the new one is there, never half.

        Parameters
        ----------
        path : path
            ``.safetensors`` is a model file, ``.onnx`` is ONNX, a name without ending a directory of SciPy's npz files.
        form : {"filigree", "onnx", "state-dict", "scipy", "matrix-market"}, optional
            In the place of what the name says.
        opset, sparse : int, bool
            Of ONNX: the operator set, and whether weights are sparse initialisers.
        """
        self._core_network.save(os.fspath(path), form, opset, sparse)

    def to_bytes(self):
        """What `save` writes, in memory."""
        return self._core_network.to_bytes()

    @classmethod
    def from_bytes(cls, data):
        return cls(_core.Network.from_bytes(bytes(data)))

    def analyze(self, batches=(1, 32, 512), seconds=0.1):
        """How fast it runs here, layer by layer, next to a dense network with its zeros filled in.

        Returns
        -------
        dict
            ``"summary"`` is a sentence; ``"network"`` and each of ``"layers"`` have timings for each number of rows.
        """
        return _core.analyze(self._core_network, [int(rows) for rows in batches], float(seconds))

    def compile(self, *, exit_threshold=1.0):
        """Makes it ready to run on this machine: a `Plan`."""
        return Plan(self, exit_threshold=exit_threshold)

    @property
    def layers(self):
        """The layers, whose arrays are the network's own memory."""
        if self._layers is None:
            self._layers = [self._layer(self._core_network.layer(l)) for l in range(self._core_network.depth)]
        return self._layers

    @staticmethod
    def _layer(arrays):
        begin = arrays["row_begin"]
        if begin[-1] < 2**31:  # SciPy wants one type for both index arrays: the short one is converted, not the long one
            begin = begin.astype(np.int32)
        weight = scipy.sparse.csr_array(
            (arrays["value"], arrays["column"], begin),
            shape=(arrays["outputs"] * arrays["experts"], arrays["inputs"]),
            copy=False,
        )
        return Layer(weight, arrays["bias"], arrays["activation"], arrays["cap"], arrays["slope"])

    inputs = property(lambda self: self._core_network.inputs, doc="Number of inputs.")
    outputs = property(lambda self: self._core_network.outputs, doc="Number of outputs.")
    task = property(lambda self: self._core_network.task, doc='``"classes"``, ``"values"`` or ``"labels"``.')
    loss = property(lambda self: self._core_network.loss, doc="What it was trained for, or None.")
    input_names = property(lambda self: list(self._core_network.input_names), doc="Names of the inputs, if it has them.")
    output_names = property(lambda self: list(self._core_network.output_names), doc="Names of classes, labels or values.")
    connections = property(lambda self: sum(layer.weight.nnz for layer in self.layers), doc="Weights that exist.")

    @property
    def sparsity(self):
        """The share of the weights that do not exist, over all layers."""
        return 1 - self.connections / max(1, sum(math.prod(layer.shape) for layer in self.layers))

    def __repr__(self):
        widths = "-".join(str(n) for n in [self.layers[0].shape[1]] + [layer.shape[0] for layer in self.layers])
        return f"Network({widths}, {self.connections:,} connections, {self.sparsity:.1%} sparse)"

    def _repr_html_(self):
        rows = "".join(
            f"<tr><td>{l + 1}</td><td>{layer.shape[1]} → {layer.shape[0]}</td><td>{layer.weight.nnz:,}</td>"
            f"<td>{layer.sparsity:.1%}</td><td>{html.escape(layer.activation)}</td><td>{layer._picture()}</td></tr>"
            for l, layer in enumerate(self.layers)
        )
        head = "<tr><th>layer</th><th>neurons</th><th>connections</th><th>sparsity</th><th>activation</th><th>topology</th></tr>"
        return f"<p>{html.escape(repr(self))}</p><table>{head}{rows}</table>"

    def __reduce__(self):
        return Network.from_bytes, (self.to_bytes(),)

    def __eq__(self, other):
        return isinstance(other, Network) and self.to_bytes() == other.to_bytes()

    __hash__ = object.__hash__


class Plan:
    """A network made ready to run. Any number of threads may run one plan.

    Examples
    --------
    >>> import numpy as np, filigree_nn as fn
    >>> network = fn.Network.from_layers([(np.eye(3), None, "relu")])
    >>> fn.Plan(network).run([[1.0, -2.0, 3.0]])
    array([[1., 0., 3.]], dtype=float32)
    """

    def __init__(self, network, *, exit_threshold=1.0):
        self.network = network
        self._exit_threshold = exit_threshold
        self._plan = _core.Plan(network._core_network, exit_threshold)
        self._task, self._loss = network.task, network.loss

    inputs = property(lambda self: self._plan.inputs, doc="Number of inputs.")
    outputs = property(lambda self: self._plan.outputs, doc="Number of outputs.")

    def run(self, x, out=None):
        """What the network computes for each row: logits of one that tells classes apart.

        Parameters
        ----------
        x : array_like or sparse matrix
            Rows of inputs; float32, float64, uint8 and the values of CSR are read where they are, by DLPack as well.
        out : numpy.ndarray, or an object that offers writable memory by DLPack, optional
            Where the outputs go: float32, a row for each row of x.

        Returns
        -------
        numpy.ndarray
            ``out``, or a new array of float32.
        """
        rows = rows_of(x)
        if rows.columns != self._plan.inputs:
            raise ValueError(f"rows of {rows.columns} values, but the network has {self._plan.inputs} inputs")
        if out is None:
            out = np.empty((rows.rows, self._plan.outputs), np.float32)
        self._plan.run(rows, outputs_array(out))
        return out

    def analyze(self, batches=(1, 32, 512), seconds=0.1):
        """See `Network.analyze`."""
        return self.network.analyze(batches, seconds)

    def predict_proba(self, x):
        """Probabilities of the classes, or of each label, for each row."""
        return probabilities(self.run(x), self._loss, self._task)

    def __reduce__(self):
        return _plan, (self.network, self._exit_threshold)

    def __repr__(self):
        return f"Plan({self.network!r})"


def _plan(network, exit_threshold):
    return Plan(network, exit_threshold=exit_threshold)
