# SPDX-License-Identifier: Apache-2.0
"""Trains a sparse network on arrays, looks inside, saves it, and predicts with the file."""

import numpy as np

import filigree_nn as fn

# 2,000 rows of 40 measurements. Three of them decide what a row is; the others are noise.
generator = np.random.default_rng(0)
x = generator.normal(size=(2000, 40)).astype(np.float32)
score = x[:, 3] - x[:, 17] + 0.8 * np.abs(x[:, 29])
kind = np.select([score < 0, score < 1.2], ["low", "middle"], "high")
train, test = slice(0, 1500), slice(1500, None)

run = fn.train(x[train], kind[train], sparsity=0.9, hidden=(64, 64), epochs=60, seed=1)
print(run.network)
for number, layer in enumerate(run.network.layers, 1):
    print(f"  layer {number}: {layer}")

# Where connections end and how large they are tells which inputs the network listens to.
first = run.network.layers[0].weight
heard = np.bincount(first.indices, np.abs(first.data), minlength=40)
print("inputs with the largest weights:", ", ".join(str(each) for each in sorted(np.argsort(-heard)[:3])))

run.network.save("first_model.safetensors")
network = fn.Network.load("first_model.safetensors")
likely = network.compile().predict_proba(x[test])
predicted = np.array(network.output_names)[likely.argmax(axis=1)]
print(f"right on {np.mean(predicted == kind[test]):.1%} of 500 rows that were not trained on")
for row in (3, 4, 11):
    shares = ", ".join(f"{name} {share:.2f}" for name, share in zip(network.output_names, likely[row]))
    print(f"row {row}: {shares}; it is {kind[test][row]}")
