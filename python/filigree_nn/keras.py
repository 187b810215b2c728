# SPDX-License-Identifier: Apache-2.0
"""Networks of Keras, by their layers in memory: Keras itself is not imported."""

import math

import numpy as np
import scipy.sparse

from .networks import Layer, Network

_ACTIVATIONS = {
    "linear": ("identity", math.inf), "relu": ("relu", math.inf), "relu6": ("relu", 6.0), "sigmoid": ("sigmoid", math.inf),
    "tanh": ("tanh", math.inf), "softplus": ("softplus", math.inf),
}  # fmt: skip
_WITHOUT_EFFECT = {"InputLayer", "Dropout", "Flatten", "GaussianNoise", "GaussianDropout", "ActivityRegularization"}


def from_keras(model):
    """A `Network` of a Keras model whose layers follow each other.

    Parameters
    ----------
    model : keras.Model
        Of Dense, BatchNormalization, Activation, ReLU, LeakyReLU, Softmax, Flatten and Dropout layers.

    Returns
    -------
    Network
        A softmax or sigmoid at the end is left to predictions.
    """
    made = _Layers()
    for layer in model.layers:
        made.add(layer)
    return made.network()


class _Layers:
    """Dense layers as they come; what scales their outputs is folded in, in double."""

    def __init__(self):
        self.layers = []
        self.weight = self.bias = None  # of a dense layer without an activation yet: a row for each output
        self.scale = self.shift = None  # of values behind an activation, for the next dense layer
        self.loss = None

    def add(self, layer):
        kind = type(layer).__name__
        if self.loss is not None and kind not in _WITHOUT_EFFECT:
            raise ValueError(f"{layer.name} ({kind}) follows a softmax")
        if kind in _WITHOUT_EFFECT:
            return
        config = layer.get_config()
        if kind == "Dense":
            self._dense(layer)
            self._activate(config.get("activation", "linear"))
        elif kind == "BatchNormalization":
            self._normalize(layer, config)
        elif kind == "Activation":
            self._activate(config["activation"])
        elif kind == "Softmax":
            self._activate("softmax")
        elif kind == "ReLU":
            if config.get("threshold"):
                raise ValueError(f"{layer.name}: a relu with a threshold is not computed here")
            slope = config.get("negative_slope") or 0.0
            self._close("leaky-relu" if slope else "relu", math.inf if config.get("max_value") is None else config["max_value"], slope)
        elif kind == "LeakyReLU":
            self._close("leaky-relu", math.inf, config.get("negative_slope", config.get("alpha", 0.3)))
        else:
            raise ValueError(f"{layer.name}: a layer of the kind {kind} is not computed here")

    def _dense(self, layer):
        if self.weight is not None:
            self._close("identity")
        kernel, *bias = layer.get_weights()
        self.weight = np.asarray(kernel, np.float64).T
        self.bias = np.asarray(bias[0], np.float64) if bias else np.zeros(self.weight.shape[0])
        if self.scale is not None:
            self.bias = self.bias + self.weight @ self.shift
            self.weight = self.weight * self.scale
            self.scale = self.shift = None

    def _normalize(self, layer, config):
        weights = [np.asarray(each, np.float64) for each in layer.get_weights()]
        gamma = weights.pop(0) if config.get("scale", True) else 1.0
        beta = weights.pop(0) if config.get("center", True) else 0.0
        mean, variance = weights
        scale = gamma / np.sqrt(variance + config.get("epsilon", 1e-3))
        shift = beta - mean * scale
        if self.weight is not None:
            self.weight, self.bias = self.weight * scale[:, None], self.bias * scale + shift
        elif self.scale is None:
            self.scale, self.shift = scale, shift
        else:
            self.scale, self.shift = self.scale * scale, self.shift * scale + shift

    def _activate(self, name):
        if name == "linear":
            return
        if name == "softmax":
            self.loss = "cross-entropy"
        elif name in _ACTIVATIONS:
            self._close(*_ACTIVATIONS[name])
        else:
            raise ValueError(f"the activation {name} is not computed here")

    def _close(self, activation, cap=math.inf, slope=0.0):
        if self.weight is None:
            raise ValueError(f"{activation} does not follow a dense layer")
        weight = scipy.sparse.csr_array(self.weight.astype(np.float32))
        self.layers.append(Layer(weight, self.bias.astype(np.float32), activation, cap, slope))
        self.weight = self.bias = None

    def network(self):
        if self.weight is not None:
            self._close("identity")
        if not self.layers:
            raise ValueError("a model without dense layers")
        if self.scale is not None:
            raise ValueError("a normalisation at the end is not computed here")
        last = self.layers[-1]
        if self.loss is None and last.activation == "sigmoid":
            last.activation, self.loss = "identity", "binary-cross-entropy"
        return Network.from_layers(self.layers, loss=self.loss)
