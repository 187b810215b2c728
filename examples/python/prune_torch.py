# SPDX-License-Identifier: Apache-2.0
"""Takes a dense PyTorch model, keeps 5 % of its weights, trains those on, and runs the result without PyTorch."""

import copy
import os
import timeit

try:
    import torch
except ImportError:
    print("skipped: this example needs PyTorch (pip install torch)")
    raise SystemExit from None

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import filigree_nn as fn
from filigree_nn.torch import Evolution, from_torch, sparsify


def learn(model, x, y, epochs, rate, evolve=False):
    """The usual loop. Optimizers of PyTorch take sparse layers as they are."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    evolution = Evolution(model, optimizer, rule="rigl", every=20, steps=epochs * len(x) // 64) if evolve else None
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
            if evolution is not None:
                evolution.step()


def right(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def parameters(model):
    return sum(each.numel() for each in model.parameters())


def microseconds(call, rounds=2000):
    """What one call takes, the median."""
    return 1e6 * np.median(timeit.repeat(call, repeat=rounds, number=1))


torch.manual_seed(0)
images, digits = load_digits(return_X_y=True)
parts = train_test_split(images.astype(np.float32) / 16, digits, test_size=0.3, random_state=0)
x_train, x_test, y_train, y_test = (torch.from_numpy(part) for part in parts)

dense = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
)
learn(dense, x_train, y_train, epochs=20, rate=1e-3)
print(f"dense                  {right(dense, x_test, y_test):.1%} right, {parameters(dense):,} parameters")

model = copy.deepcopy(dense)
sparsify(model, sparsity=0.95)
print(f"95 % of weights gone   {right(model, x_test, y_test):.1%} right, {parameters(model):,} parameters")
learn(model, x_train, y_train, epochs=20, rate=1e-3, evolve=True)
print(f"trained on             {right(model, x_test, y_test):.1%} right")

network = from_torch(model)
network.save("pruned.safetensors")
plan = fn.Network.load("pruned.safetensors").compile()
first, row = x_test[:1], x_test[:1].numpy()
with torch.no_grad():
    apart = np.abs(plan.run(x_test) - model(x_test).numpy()).max()
    of_torch = microseconds(lambda: dense(first))
print(f"as a network           {network!r}: outputs differ by {apart:.0e} at most")
print(f"one row                {microseconds(lambda: plan.run(row)):.1f} µs, {of_torch:.1f} µs by the dense model in PyTorch")
print(f"pruned.safetensors     {os.path.getsize('pruned.safetensors'):,} bytes")
