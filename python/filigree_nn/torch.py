# SPDX-License-Identifier: Apache-2.0
"""Sparse layers for PyTorch, on the CPU: weights that do not exist take neither memory nor time.

>>> import torch
>>> from filigree_nn.torch import Evolution, SparseLinear
>>> model = torch.nn.Sequential(SparseLinear(64, 128, sparsity=0.9), torch.nn.ReLU(), SparseLinear(128, 10, sparsity=0.8))
>>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
>>> evolution = Evolution(model, optimizer, rule="rigl", every=100, steps=1000)
>>> model(torch.zeros(32, 64)).shape
torch.Size([32, 10])
"""

import fnmatch
import json
import math
import struct
import tempfile

import numpy as np
import scipy.sparse
import torch

from . import _core
from .networks import Layer, Network

_ACTIVATIONS = {
    torch.nn.ReLU: "relu",
    torch.nn.Sigmoid: "sigmoid",
    torch.nn.Tanh: "tanh",
    torch.nn.Softplus: "softplus",
    torch.nn.LeakyReLU: "leaky-relu",
    torch.nn.Identity: "identity",
}


def _transposed(x):
    """Rows as columns, in memory of their own."""
    if x.dtype != torch.float32:
        return x.t().contiguous()
    to = torch.empty(x.shape[1], x.shape[0])
    _core.transpose(x.detach().contiguous(), to)
    return to


class _Product(torch.autograd.Function):
    """x · Wᵀ for rows x, with gradients where weights exist, and nowhere else."""

    @staticmethod
    def forward(context, x, value, layer):
        pattern = layer._pattern()
        inputs = _transposed(x)  # the kernels take the samples of a neuron together
        context.pattern, context.layer = pattern, layer
        context.save_for_backward(inputs, value)
        return _transposed(pattern.product(value.detach(), inputs))

    @staticmethod
    def backward(context, gradient):
        inputs, value = context.saved_tensors
        pattern, layer = context.pattern, context.layer
        outer = _transposed(gradient)
        if layer._watched:
            layer._seen = (inputs, outer)
        of_inputs = _transposed(pattern.transposed_product(value, outer)) if context.needs_input_grad[0] else None
        of_values = pattern.entries(outer, inputs) if context.needs_input_grad[1] else None
        return of_inputs, of_values, None


class _Pattern:
    """Where the weights of a layer are, by rows and by columns."""

    def __init__(self, row_begin, column, inputs):
        self.row_begin, self.column = row_begin, column
        self.outputs, self.inputs = len(row_begin) - 1, inputs
        rows = torch.repeat_interleave(torch.arange(self.outputs), row_begin.diff())
        self.order = torch.argsort(column, stable=True)
        self.row = rows[self.order].to(torch.int32).contiguous()
        counts = torch.bincount(column.long(), minlength=inputs)
        self.column_begin = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
        self.row_of = rows

    def product(self, value, x):
        if value.dtype != torch.float32:
            return self._gathered(self.row_of, self.column.long(), value, x, self.outputs)
        y = torch.empty(self.outputs, x.shape[1])
        _core.spmm(self.row_begin, self.column, value, x, y)
        return y

    def transposed_product(self, value, x):
        if value.dtype != torch.float32:
            return self._gathered(self.column.long(), self.row_of, value, x, self.inputs)
        y = torch.empty(self.inputs, x.shape[1])
        _core.spmm_transposed(self.column_begin, self.row, value.detach()[self.order], x, y)
        return y

    def entries(self, a, b):
        if a.dtype != torch.float32:
            return (a[self.row_of] * b[self.column.long()]).sum(1)
        value = torch.empty(len(self.column))
        _core.sddmm(self.row_begin, self.column, a, b, value)
        return value

    @staticmethod
    def _gathered(to, place, value, x, size):
        """The same for other types, which are for checking gradients rather than for speed."""
        return torch.zeros(size, x.shape[1], dtype=x.dtype).index_add(0, to, value[:, None] * x[place])


class SparseLinear(torch.nn.Module):
    """A linear layer of which only some weights exist: parameters are one-dimensional, so any optimizer takes them.

    Parameters
    ----------
    in_features, out_features : int
    sparsity : float
        The share of the weights that do not exist.
    bias : bool
    generator : torch.Generator, optional
        Draws which weights exist, and their values: uniform, scaled by the number that each output has.

    Attributes
    ----------
    weight : torch.nn.Parameter
        The weights that exist, row by row.
    row_begin, column : torch.Tensor
        Where they are, as in CSR.
    """

    def __init__(self, in_features, out_features, sparsity=0.9, bias=True, generator=None):
        super().__init__()
        if not 0 <= sparsity < 1:
            raise ValueError(f"a sparsity of {sparsity}, but it is from 0 to below 1")
        self.in_features, self.out_features = in_features, out_features
        total = in_features * out_features
        count = max(1, round(total * (1 - sparsity)))
        chosen = torch.randperm(total, generator=generator)[:count].sort().values
        self._set_pattern(*self._csr(chosen))
        fan_in = (self.row_begin.diff().clamp(min=1))[torch.div(chosen, in_features, rounding_mode="floor")]
        self.weight = torch.nn.Parameter((torch.rand(count, generator=generator) * 2 - 1) * (3 / fan_in).sqrt())
        self.bias = torch.nn.Parameter(torch.zeros(out_features)) if bias else None
        self._watched, self._seen = False, None

    def _csr(self, places):
        """Row begins and columns of ascending positions in the full matrix."""
        rows = torch.div(places, self.in_features, rounding_mode="floor")
        begin = torch.zeros(self.out_features + 1, dtype=torch.int64)
        begin[1:] = torch.bincount(rows, minlength=self.out_features).cumsum(0)
        return begin, (places - rows * self.in_features).to(torch.int32)

    def _set_pattern(self, row_begin, column):
        self.register_buffer("row_begin", row_begin)
        self.register_buffer("column", column)
        self._made = None

    def _pattern(self):
        if self._made is None:
            self._made = _Pattern(self.row_begin, self.column, self.in_features)
        return self._made

    def _load_from_state_dict(self, state_dict, prefix, *arguments):
        count = state_dict.get(prefix + "weight")
        if count is not None and count.shape != self.weight.shape:
            self.weight = torch.nn.Parameter(torch.empty_like(count))
            self._set_pattern(self.row_begin, torch.empty(len(count), dtype=torch.int32))
        super()._load_from_state_dict(state_dict, prefix, *arguments)
        self._made = None

    @classmethod
    def from_dense(cls, weight, bias=None, sparsity=None):
        """The largest weights of a matrix, or all that are not zero."""
        outputs, inputs = weight.shape
        layer = cls(inputs, outputs, 0.999999, bias is not None)
        flat = weight.detach().reshape(-1)
        if sparsity is None:
            places = flat.nonzero().reshape(-1)
        else:
            places = flat.abs().topk(max(1, round(flat.numel() * (1 - sparsity)))).indices.sort().values
        layer._set_pattern(*layer._csr(places))
        layer.weight = torch.nn.Parameter(flat[places].float().clone())
        if bias is not None:
            layer.bias = torch.nn.Parameter(bias.detach().float().clone())
        return layer

    def places(self):
        """Where the weights are in the full matrix, row by row."""
        return self._pattern().row_of * self.in_features + self.column

    def to_dense(self):
        """The full matrix."""
        dense = torch.zeros(self.out_features * self.in_features, dtype=self.weight.dtype)
        dense[self.places()] = self.weight.detach()
        return dense.reshape(self.out_features, self.in_features)

    def forward(self, x):
        rows = x.reshape(-1, self.in_features)
        y = _Product.apply(rows if rows.dtype == self.weight.dtype else rows.to(self.weight.dtype), self.weight, self)
        if self.bias is not None:
            y = y + self.bias
        return y.reshape(*x.shape[:-1], self.out_features)

    def extra_repr(self):
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, weights={len(self.weight)}, "
            f"sparsity={1 - len(self.weight) / (self.in_features * self.out_features):.3f}"
        )


class Evolution:
    """Drops the smallest weights of sparse layers every few steps, and grows as many: call `step` after the optimizer's.

    Parameters
    ----------
    model : torch.nn.Module
    optimizer : torch.optim.Optimizer
        What it remembers of each weight (momentum, Adam's moments) moves with the weights.
    rule : {"rigl", "set"}
        Grows where the gradient is largest, or at random.
    every : int
        Steps between two updates.
    drop_fraction : float
        The share of a layer's weights that the first update drops; it falls to 0 like a cosine.
    steps : int
        Of the whole training; updates end after three quarters of them.
    generator : torch.Generator, optional
    """

    def __init__(self, model, optimizer, rule="rigl", every=100, drop_fraction=0.3, steps=10_000, generator=None):
        if rule not in ("rigl", "set"):
            raise ValueError(f"{rule!r} is no rule; there are rigl and set")
        self.layers = [module for module in model.modules() if isinstance(module, SparseLinear)]
        self.optimizer, self.rule, self.every, self.drop_fraction = optimizer, rule, every, drop_fraction
        self.end, self.generator, self.steps = math.ceil(0.75 * steps), generator, 0

    def step(self):
        """Counts a step; updates the topology when one is due."""
        self.steps += 1
        due = self.steps % self.every == 0 and self.steps < self.end
        if due:
            share = self.drop_fraction / 2 * (1 + math.cos(math.pi * self.steps / self.end))
            for layer in self.layers:
                self._update(layer, round(share * len(layer.weight)))
        soon = (self.steps + 1) % self.every == 0 and self.rule == "rigl"
        for layer in self.layers:  # gradients of all weights are made of the last batch's, when they are asked for
            layer._watched, layer._seen = soon, None
        return due

    def _update(self, layer, count):
        places, value = layer.places(), layer.weight.detach()
        free = layer.in_features * layer.out_features - len(places)
        count = min(count, free)
        if count == 0 or (self.rule == "rigl" and layer._seen is None):
            return
        kept = value.abs().topk(len(value) - count).indices.sort().values
        if self.rule == "rigl":
            inputs, outer = layer._seen
            score = (outer @ inputs.t()).abs().reshape(-1)
        else:
            score = torch.rand(layer.in_features * layer.out_features, generator=self.generator)
        score[places] = -1  # neither those that stay nor those that just went
        grown = score.topk(count).indices
        order = torch.cat([places[kept], grown]).sort()
        with torch.no_grad():
            for tensor in [layer.weight, *self._memory(layer.weight)]:
                moved = torch.cat([tensor[kept], tensor.new_zeros(count)])[order.indices]
                tensor.copy_(moved)
        begin, column = layer._csr(order.values)
        layer.row_begin.copy_(begin)
        layer.column.copy_(column)
        layer._made = None

    def _memory(self, parameter):
        state = self.optimizer.state.get(parameter, {})
        return [each for each in state.values() if torch.is_tensor(each) and each.shape == parameter.shape]


def sparsify(model, sparsity, only="*"):
    """Replaces linear layers of a model in place by sparse ones with their largest weights.

    Parameters
    ----------
    model : torch.nn.Module
    sparsity : float
    only : str
        Names of modules that are meant, with wild cards: ``"*.ffn.*"``.

    Returns
    -------
    int
        How many were replaced.
    """
    replaced = 0
    for name, module in list(model.named_modules()):
        for child_name, child in list(module.named_children()):
            full = f"{name}.{child_name}" if name else child_name
            if type(child) is torch.nn.Linear and fnmatch.fnmatch(full, only):
                setattr(module, child_name, SparseLinear.from_dense(child.weight, child.bias, sparsity))
                replaced += 1
    return replaced


def from_torch(model, loss="cross-entropy"):
    """A `Network` of a ``torch.nn.Sequential`` of linear and sparse layers, activations, Flatten and Dropout."""
    layers = []
    for module in model:
        if isinstance(module, SparseLinear):
            weight = scipy.sparse.csr_array(
                (module.weight.detach().numpy(), module.column.numpy(), module.row_begin.numpy()),
                shape=(module.out_features, module.in_features),
            )
        elif isinstance(module, torch.nn.Linear):
            weight = scipy.sparse.csr_array(module.weight.detach().numpy())
        elif isinstance(module, (torch.nn.Flatten, torch.nn.Dropout)):
            continue
        elif type(module) in _ACTIVATIONS and layers and layers[-1].activation == "identity":
            layers[-1].activation = _ACTIVATIONS[type(module)]
            layers[-1].slope = getattr(module, "negative_slope", 0.0)
            if isinstance(module, torch.nn.Softplus) and (module.beta != 1):
                raise ValueError(f"a softplus of beta {module.beta}, but only 1 is known")
            continue
        else:
            raise ValueError(f"{module} has no counterpart in a network")
        bias = None if module.bias is None else module.bias.detach().numpy()
        layers.append(Layer(weight, bias, "identity"))
    return Network.from_layers(layers, loss=loss)


def load_state_dict(path, **options):
    """A `Network` of a state dict that ``torch.save`` wrote: weights alone are read, no code is run.

    Parameters
    ----------
    path : path
    **options
        See `Network.load`: ``activation="tanh"``, for example.
    """
    return from_state_dict(torch.load(path, map_location="cpu", weights_only=True), **options)


def from_state_dict(state, **options):
    """A `Network` of a state dict: linear layers and batch normalisations in the order of their names.

    Parameters
    ----------
    state : dict
        As ``model.state_dict()`` gives it.
    **options
        See `Network.load`.
    """
    arrays = {name: value.detach().to("cpu", torch.float32).contiguous().numpy() for name, value in state.items()}
    header, offset = {}, 0
    for name, values in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header).encode()
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in arrays.values():
            file.write(values.tobytes())
        file.flush()
        return Network.load(file.name, **options)


def to_torch(network):
    """A ``torch.nn.Sequential`` of sparse layers that computes what a network does, its scaling of inputs folded in."""
    modules = []
    mean = np.asarray(network._core_network.input_mean, np.float64)
    scale = np.asarray(network._core_network.input_scale, np.float64)
    by_name = {name: module for module, name in _ACTIVATIONS.items()}
    for number, layer in enumerate(network.layers):
        if math.isfinite(layer.cap):
            raise ValueError(f"layer {number + 1} is capped at {layer.cap}, for which PyTorch has no module")
        weight, bias = layer.weight.copy(), layer.bias.astype(np.float64)
        if number == 0 and (mean.size or scale.size):
            values = weight.data.astype(np.float64)
            values *= (np.broadcast_to(scale, network.inputs) if scale.size else np.ones(network.inputs))[weight.indices]
            if mean.size:
                shift = values * np.broadcast_to(mean, network.inputs)[weight.indices]
                bias = bias - np.bincount(np.repeat(np.arange(weight.shape[0]), np.diff(weight.indptr)), shift, weight.shape[0])
            weight.data = values.astype(np.float32)
        made = SparseLinear(weight.shape[1], weight.shape[0], 0.999999)
        made._set_pattern(
            torch.from_numpy(weight.indptr.astype(np.int64)), torch.from_numpy(weight.indices.astype(np.int32))
        )
        made.weight = torch.nn.Parameter(torch.from_numpy(weight.data.astype(np.float32).copy()))
        made.bias = torch.nn.Parameter(torch.from_numpy(bias.astype(np.float32)))
        modules.append(made)
        kind = by_name[layer.activation]
        if kind is not torch.nn.Identity:
            modules.append(kind(layer.slope) if kind is torch.nn.LeakyReLU else kind())
    return torch.nn.Sequential(*modules)
