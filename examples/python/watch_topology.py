# SPDX-License-Identifier: Apache-2.0
"""Watches connections move to the pixels that matter, and draws how many each pixel has as heat maps in SVG."""

import pathlib

import numpy as np

import filigree_nn as fn
from filigree_nn.training import Rows, TrainingData

SIDE, EPOCHS, SHOWN = 20, 32, [0, 1, 2, 4, 8, 16, 32]


def drawings(rows, generator):
    """Rings, crosses and bars of several sizes, near the middle of a noisy image."""
    down, across = np.mgrid[:SIDE, :SIDE]
    images, shapes = generator.normal(40, 15, (rows, SIDE, SIDE)), generator.integers(0, 3, rows)
    for image, shape in zip(images, shapes):
        y, x = np.abs(down - generator.normal(9.5, 1)), np.abs(across - generator.normal(9.5, 1))
        size = generator.uniform(3, 6)
        upright, level = np.maximum(x, y / size), np.maximum(y, x / size)
        distance = [np.abs(np.hypot(x, y) - size), np.minimum(upright, level), upright][shape]
        image[distance < 1.2] += 150
    return images.clip(0, 255).astype(np.uint8).reshape(rows, -1), np.array(["ring", "cross", "bar"])[shapes]


def connections_of_pixels(network):
    return np.bincount(network.layers[0].weight.indices, minlength=SIDE * SIDE).reshape(SIDE, SIDE)


def heat_maps(counts):
    """A map for each epoch shown; the darker a pixel, the more connections it has."""
    most, cell, gap = max(map(np.max, counts)), 5, 16
    step = SIDE * cell + gap
    box = f"0 0 {len(counts) * step + gap} {SIDE * cell + 70}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif" font-size="12" fill="#333">',
        '<title>Connections of each pixel over the epochs</title><rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{gap}" y="22" font-size="14">Connections of each pixel, 0 to {most}, after so many epochs</text>',
    ]
    for number, (epoch, map_) in enumerate(zip(SHOWN, counts)):
        parts.append(f'<g transform="translate({gap + number * step} 36)">')
        parts.append(f'<rect width="{SIDE * cell}" height="{SIDE * cell}" fill="#eef3f7"/>')
        for level in range(1, 9):  # a path for each of eight shades is a tenth of the size of a square for each pixel
            rows, columns = np.nonzero(np.ceil(8 * map_ / most) == level)
            squares = "".join(f"M{cell * c} {cell * r}h{cell}v{cell}h-{cell}z" for r, c in zip(rows, columns))
            parts.append(f'<path fill="#0b3c66" fill-opacity="{level / 8}" d="{squares}"/>')
        parts.append(f'<text x="{SIDE * cell / 2}" y="{SIDE * cell + 20}" text-anchor="middle">{epoch}</text></g>')
    return "\n".join(parts + ["</svg>\n"])


images, names = drawings(4000, np.random.default_rng(0))
_, kinds = np.unique(names, return_inverse=True)
data = TrainingData(Rows(images[:3000], kinds[:3000]), "classes", test=Rows(images[3000:], kinds[3000:]))
trainer = fn.Trainer(data, sparsity=0.97, hidden=(128, 64), epochs=EPOCHS, update_every=10, seed=1)
middle = np.zeros((SIDE, SIDE), bool)
middle[5:15, 5:15] = True

counts = [connections_of_pixels(trainer.network)]
for epoch in range(1, EPOCHS + 1):
    trainer.epoch()
    if epoch in SHOWN:
        counts.append(connections_of_pixels(trainer.network))
        share = counts[-1][middle].sum() / counts[-1].sum()
        print(f"epoch {epoch:2}: {trainer.evaluate('test')[0]:.1%} right, {share:.0%} of the connections in the middle quarter")
pathlib.Path("watch_topology.svg").write_text(heat_maps(counts))
print(f"before training it was {counts[0][middle].sum() / counts[0].sum():.0%}; watch_topology.svg shows it")
