# SPDX-License-Identifier: Apache-2.0
"""How sparse may a network be? Trains at several sparsities, prints a table and draws a plot in SVG."""

import pathlib
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import filigree_nn as fn

SPARSITIES = [0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995]
SEEDS = [1, 2, 3]


def accuracies(sparsity, data):
    """For each seed the share of test rows that are right; the connections, and the seconds of one training."""
    x_train, x_test, y_train, y_test = data
    right, started = [], time.perf_counter()
    for seed in SEEDS:
        network = fn.train(x_train, y_train, sparsity=sparsity, hidden=(256, 256), epochs=40, seed=seed).network
        right.append(np.mean(network.compile().run(x_test).argmax(axis=1) == y_test))
    return right, network.connections, (time.perf_counter() - started) / len(SEEDS)


def plot(results):
    """A dot for each training, a line through the means: connections to the right, on a logarithmic axis."""
    left, top, width, height = 60, 40, 520, 260
    lowest = min(min(right) for right, _, _ in results) - 0.01
    logs = np.log10([connections for _, connections, _ in results])
    across = lambda log: left + 20 + (log - logs.min()) / (logs.max() - logs.min()) * (width - 40)
    down = lambda share: top + (1 - share) / (1 - lowest) * height
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 360" font-family="sans-serif" font-size="12" fill="#333">',
        '<title>Accuracy by number of connections</title><rect width="620" height="360" fill="#fff"/>',
        f'<text x="{left}" y="22" font-size="14">Test rows that are right, by connections that exist (grey: sparsity)</text>',
    ]
    for share in np.arange(np.ceil(lowest * 50) / 50, 1.001, 0.02):
        parts.append(f'<path d="M{left} {down(share):.1f}h{width}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{down(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    points = [(across(log), down(np.mean(right))) for log, (right, _, _) in zip(logs, results)]
    parts.append(f'<path d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in points)}" fill="none" stroke="#1668a8" stroke-width="2"/>')
    for sparsity, log, (right, connections, _) in zip(SPARSITIES, logs, results):
        x = f"{across(log):.1f}"
        parts += [f'<circle cx="{x}" cy="{down(share):.1f}" r="3" fill="#1668a8" fill-opacity="0.5"/>' for share in right]
        parts.append(f'<text x="{x}" y="{top + height + 20}" text-anchor="middle">{connections:,}</text>')
        parts.append(f'<text x="{x}" y="{top + height + 36}" text-anchor="middle" fill="#888">{sparsity:.1%}</text>')
    return "\n".join(parts + ["</svg>\n"])


data = train_test_split(*load_digits(return_X_y=True), test_size=0.3, random_state=0)
results = []
print("sparsity  connections  right on test rows  seconds")
for sparsity in SPARSITIES:
    results.append(accuracies(sparsity, data))
    right, connections, seconds = results[-1]
    print(f"{sparsity:8.1%}  {connections:11,}  {min(right):7.1%} … {max(right):.1%}  {seconds:7.2f}", flush=True)
pathlib.Path("compare_sparsities.svg").write_text(plot(results))
print("compare_sparsities.svg shows it")
