# SPDX-License-Identifier: Apache-2.0
"""A small transformer that learns to continue text, with dense and with 90 % sparse feed-forward blocks."""

import random

try:
    import torch
except ImportError:
    print("skipped: this example needs PyTorch (pip install torch)")
    raise SystemExit from None

from filigree_nn.torch import Evolution, sparsify

LENGTH, WIDTH, STEPS, BATCH = 40, 64, 400, 16


def text(sentences, seed):
    """Sentences of a small grammar: whoever is named first comes back at the end."""
    draw = random.Random(seed)
    pairs = [draw.sample(["ann", "bob", "cleo", "dan"], 2) for _ in range(sentences)]
    return "".join(f"{one} {draw.choice(['sees', 'calls', 'visits'])} {two}, {two} greets {one}. " for one, two in pairs)


class Writer(torch.nn.Module):
    """Predicts the next character at each position."""

    def __init__(self, characters):
        super().__init__()
        self.of_character = torch.nn.Embedding(characters, WIDTH)
        self.of_position = torch.nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.1)
        block = torch.nn.TransformerEncoderLayer(WIDTH, 4, 512, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = torch.nn.TransformerEncoder(block, 2, enable_nested_tensor=False)
        self.out = torch.nn.Linear(WIDTH, characters)

    def forward(self, x):
        mask = torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), 1)
        return self.out(self.blocks(self.of_character(x) + self.of_position[: x.shape[1]], mask))


def loss_of(model, starts, data):
    rows = torch.stack([data[s : s + LENGTH + 1] for s in starts])
    return torch.nn.functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def learn(name, model, train, test):
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    evolution = Evolution(model, optimizer, rule="rigl", every=20, steps=STEPS) if name == "sparse" else None
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, torch.randint(len(train) - LENGTH - 1, (BATCH,)), train).backward()
        optimizer.step()
        if evolution is not None:
            evolution.step()
    with torch.no_grad():
        loss = loss_of(model, range(0, len(test) - LENGTH - 1, LENGTH), test).item()
    weights = sum(each.numel() for of, each in model.blocks.named_parameters() if ".linear" in of and of.endswith(".weight"))
    print(f"{name:6}  {weights:7,} feed-forward weights, loss {loss:.3f} per character of new text", flush=True)


def goes_on(model, start, letters, count):
    line = [letters.index(c) for c in start]
    for _ in range(count):
        line.append(model(torch.tensor([line[-LENGTH:]]))[0, -1].argmax().item())
    return "".join(letters[c] for c in line)


letters = sorted(set(text(200, 0)))
train, test = (torch.tensor([letters.index(c) for c in text(count, seed)]) for count, seed in ((2000, 1), (100, 2)))
for name in ("dense", "sparse"):
    torch.manual_seed(0)
    model = Writer(len(letters))
    if name == "sparse":
        print(sparsify(model.blocks, sparsity=0.9, only="*.linear[12]"), "layers made sparse")
    learn(name, model, train, test)
print("the sparse one writes:", goes_on(model, "ann sees bob, bob greets ann. cleo ", letters, 60))
