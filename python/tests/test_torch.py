# SPDX-License-Identifier: Apache-2.0
"""Sparse layers in PyTorch, next to dense ones with the same weights."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

try:
    from torch.func import functional_call
except ImportError:  # before PyTorch 2.0
    from torch.nn.utils.stateless import functional_call

import filigree_nn as fn
from filigree_nn.torch import Evolution, SparseLinear, from_torch, load_state_dict, sparsify, to_torch


@pytest.mark.parametrize("sparsity", [0.0, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("shape", [(7,), (1, 7), (33, 7), (2, 5, 7)])
def test_computes_what_a_dense_layer_of_its_weights_does(sparsity, shape):
    torch.manual_seed(1)
    layer = SparseLinear(7, 11, sparsity)
    dense = torch.nn.Linear(7, 11)
    with torch.no_grad():
        dense.weight.copy_(layer.to_dense())
        dense.bias.copy_(layer.bias)
    x = torch.randn(shape, requires_grad=True)
    same = x.detach().clone().requires_grad_()
    weights = torch.randn(*shape[:-1], 11)
    (layer(x) * weights).sum().backward()
    (dense(same) * weights).sum().backward()
    torch.testing.assert_close(layer(x), dense(same))
    torch.testing.assert_close(x.grad, same.grad)
    torch.testing.assert_close(layer.bias.grad, dense.bias.grad)
    torch.testing.assert_close(layer.weight.grad, dense.weight.grad.reshape(-1)[layer.places()])


def test_gradients_agree_with_differences():
    layer = SparseLinear(6, 5, 0.5).double()
    x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    of_parameters = lambda rows, weight, bias: functional_call(layer, {"weight": weight, "bias": bias}, rows)
    assert torch.autograd.gradcheck(of_parameters, (x, layer.weight, layer.bias))


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop])
@pytest.mark.parametrize("rule", ["rigl", "set"])
def test_learns_while_its_topology_evolves(optimizer, rule):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(512, 20, generator=generator)
    y = (x[:, 0] > x[:, 1]).long()
    model = torch.nn.Sequential(SparseLinear(20, 64, 0.8, generator=generator), torch.nn.ReLU(), SparseLinear(64, 2, 0.5, generator=generator))
    steps = optimizer(model.parameters(), lr=0.01 if optimizer is not torch.optim.SGD else 0.2)
    evolution = Evolution(model, steps, rule=rule, every=10, steps=200, generator=generator)
    before, updates = model[0].places().clone(), 0
    for _ in range(200):
        steps.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        steps.step()
        updates += evolution.step()
        assert model[0].places().diff().min() > 0
    assert updates == 14
    assert not torch.equal(before, model[0].places())
    assert (model(x).argmax(1) == y).float().mean() > 0.9


def test_the_optimizers_memory_moves_with_the_weights():
    layer = SparseLinear(10, 10, 0.7)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
    evolution = Evolution(layer, optimizer, every=2, drop_fraction=0.5, steps=100)
    for _ in range(2):
        layer(torch.randn(8, 10)).square().sum().backward()
        optimizer.step()
        places, moment = layer.places().clone(), optimizer.state[layer.weight]["exp_avg"].clone()
        weight = layer.weight.detach().clone()
        evolution.step()
    kept = dict(zip(places.tolist(), zip(weight.tolist(), moment.tolist())))
    stayed = 0
    for place, value, own in zip(layer.places().tolist(), layer.weight.tolist(), optimizer.state[layer.weight]["exp_avg"].tolist()):
        if value != 0:
            assert kept[place] == (value, own)
            stayed += 1
        else:
            assert own == 0
    assert 0 < stayed < len(places)


def test_rigl_grows_where_the_gradient_is_largest():
    layer = SparseLinear(12, 9, 0.8, bias=False)
    evolution = Evolution(layer, torch.optim.SGD(layer.parameters(), lr=0.1), every=2, drop_fraction=0.2, steps=1000)
    evolution.step()
    x, weights, before = torch.randn(16, 12), torch.randn(16, 9), layer.places().clone()
    (layer(x) * weights).sum().backward()
    evolution.step()
    gradient = (weights.t() @ x).abs().reshape(-1)
    grown = torch.tensor(sorted(set(layer.places().tolist()) - set(before.tolist())))
    gradient[before] = -1
    assert sorted(gradient.topk(len(grown)).indices.tolist()) == grown.tolist()


def test_sparsify_replaces_what_is_meant_and_keeps_the_largest():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(8, 4)))
    largest = model[2][0].weight.detach().abs().reshape(-1).topk(8).indices.sort().values
    assert sparsify(model, 0.75, only="2.*") == 1
    assert isinstance(model[0], torch.nn.Linear)
    assert torch.equal(model[2][0].places(), largest)


def test_goes_to_a_network_and_back():
    model = torch.nn.Sequential(torch.nn.Flatten(), SparseLinear(12, 8, 0.5), torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.Linear(8, 3)).eval()
    network = from_torch(model)
    x = torch.randn(5, 12)
    expected = model(x).detach()
    torch.testing.assert_close(torch.from_numpy(network.compile().run(x.numpy())), expected)
    torch.testing.assert_close(to_torch(network)(x).detach(), expected)
    with pytest.raises(ValueError, match="no counterpart"):
        from_torch(torch.nn.Sequential(torch.nn.Conv1d(1, 1, 1)))


def test_a_trained_network_scales_its_inputs_in_torch_as_well():
    x = np.random.default_rng(0).normal(3, 5, size=(200, 6)).astype(np.float32)
    network = fn.train(x, (x[:, 0] > 3).astype(int), hidden=(16,), epochs=5, sparsity=0.5).network
    np.testing.assert_allclose(to_torch(network)(torch.from_numpy(x)).detach().numpy(), network.compile().run(x), rtol=1e-4, atol=1e-4)


def test_state_dicts_carry_the_topology():
    one, other = SparseLinear(9, 7, 0.5), SparseLinear(9, 7, 0.9)
    other.load_state_dict(one.state_dict())
    x = torch.randn(3, 9)
    assert torch.equal(one(x), other(x))


def test_damage_is_an_error_and_no_crash():
    layer = SparseLinear(5, 5, 0.5)
    layer.column[0] = 77
    with pytest.raises(ValueError, match="damaged"):
        layer(torch.randn(2, 5))
    with pytest.raises(ValueError, match="sparsity of 1"):
        SparseLinear(5, 5, 1)
    with pytest.raises(RuntimeError):
        SparseLinear(5, 5)(torch.randn(2, 6))


def test_state_dicts_become_networks(tmp_path):
    torch.manual_seed(5)
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
    )
    with torch.no_grad():
        model[1].running_mean.normal_()
        model[1].running_var.uniform_(0.5, 2)
    model.eval()
    torch.save(model.state_dict(), tmp_path / "model.pt")
    network = load_state_dict(tmp_path / "model.pt")
    x = torch.randn(20, 6)
    with torch.no_grad():
        expected = model(x).numpy()
    assert np.abs(network.compile().run(x.numpy()) - expected).max() <= 64 * 2.0**-24 * (1 + np.abs(expected).max())
