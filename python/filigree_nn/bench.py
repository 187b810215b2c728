# SPDX-License-Identifier: Apache-2.0
"""Measures this package next to others on this machine and prints Markdown: ``python -m filigree_nn.bench all``.

What is compared runs in one process and takes turns; ratios are of the same turn. A peer that is not installed is named as
missing. Nothing else should run meanwhile.
"""

import argparse
import concurrent.futures
import gzip
import importlib.util
import json
import math
import multiprocessing
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from importlib import metadata

import numpy as np

from . import _core
from .networks import Layer, Network
from .training import train

_LEFT_OUT = {}  # peers that are missing, and why


# ---- measuring


def _calls_in(work, seconds):
    """How many calls take about so long; the first calls, which are slower, go before."""
    work()
    started, calls = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        work()
        calls += 1
    return max(1, calls)


def interleaved(works, rounds, seconds=0.02):
    """Seconds of a call of each work in each round.

    Within a round all take turns, and another one begins each time. Before its turn a work is called once, after a moment in
    which threads of the one before, which may wait spinning, go to sleep.
    """
    calls = {name: _calls_in(work, seconds) for name, work in works.items()}
    times = {name: [] for name in works}
    names = list(works)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            time.sleep(0.01)
            works[name]()
            started = time.perf_counter()
            for _ in range(calls[name]):
                works[name]()
            times[name].append((time.perf_counter() - started) / calls[name])
    return times


def shown(values, scale=1, digits=3):
    """The median, and the quartiles as its spread."""
    low, middle, high = statistics.quantiles([scale * value for value in values], n=4, method="inclusive")
    return f"{middle:.{digits}g} ({low:.{digits}g}–{high:.{digits}g})"


def ratios(slower, faster):
    return [a / b for a, b in zip(slower, faster)]


def heading(text):
    print(f"\n## {text}\n")


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- machine and peers


def _processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if os.path.exists("/proc/cpuinfo") else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def print_machine():
    versions = [f"filigree {_core.__version__}", f"Python {platform.python_version()}"]
    for package in ("numpy", "scipy", "scikit-learn", "torch", "sparselab"):
        if _version(package):
            versions.append(f"{package} {_version(package)}")
    threads = [f"{name}={os.environ[name]}" for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY") if name in os.environ]
    print(f"{_processor()}, {len(os.sched_getaffinity(0))} threads, load {os.getloadavg()[0]:.1f} when this began", end="")
    print("".join(f", {each}" for each in threads) + ". " + ", ".join(versions) + ".")
    print("Cells hold the median of the rounds and, in brackets, the quartiles.")


def missing(module, package):
    """Whether a peer is missing; if so, it will be said."""
    if importlib.util.find_spec(module) is not None:
        return False
    _LEFT_OUT[package] = f"not installed (pip install {package})"
    return True


# ---- calls


def random_network(widths, sparsity, seed=1):
    generator = np.random.default_rng(seed)
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        exists = generator.random((outputs, inputs)) >= sparsity
        layers.append(Layer(exists * generator.normal(size=(outputs, inputs)), None, "relu"))
    return Network.from_layers(layers)


def bench_calls(arguments):
    """What a call of Plan.run for one row takes. Of the smallest network nearly all of it is overhead."""
    heading("One row: `Plan.run`")
    networks = {
        "1-1, 1 connection": random_network([1, 1], 0),
        "784-256-256-10, 97 % sparse": random_network([784, 256, 256, 10], 0.97),
    }
    columns = {}
    for name, network in networks.items():
        plan = network.compile()
        row = np.random.default_rng(0).normal(size=(1, network.inputs)).astype(np.float32)
        as_double, out = row.astype(float), np.empty((1, network.outputs), np.float32)
        rows = _core.Rows(row)
        works = {
            "`plan.run(row)`, float32": lambda: plan.run(row),
            "`plan.run(row, out)`, float32": lambda: plan.run(row, out),
            "`plan.run(row)`, float64": lambda: plan.run(as_double),
            "the extension module alone, rows and output ready": lambda: plan._plan.run(rows, out),
        }
        columns[name] = interleaved(works, arguments.rounds)
    names = list(next(iter(columns.values())))
    table(["µs", *columns], [[name, *(shown(times[name], 1e6) for times in columns.values())] for name in names])
    print("The left column is at most the overhead above C++: it holds the computation of one connection as well.")


# ---- fit


def _program_run(program, directory, options):
    """Trains by the program; seconds of the process, its epochs, and the network."""
    command = [program, "train", "--data", "npy:x.npy,y.npy,x_test.npy,y_test.npy"]
    command += ["--out", "run", "--json", "out.json", "--quiet"]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    shutil.rmtree(directory / "run", ignore_errors=True)
    started = time.perf_counter()
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    history = json.loads((directory / "out.json").read_text())["history"]
    return seconds, sum(epoch["seconds"] for epoch in history), Network.load(directory / "run" / "model.safetensors")


def bench_fit(arguments):
    """fn.train next to the program on the same rows, settings and seed."""
    heading("Training: `fn.train` and `filigree train`")
    program = shutil.which(arguments.program)
    if program is None:
        _LEFT_OUT["the program filigree"] = f"there is no {arguments.program} (--program PATH)"
        return
    program = os.path.abspath(program)
    generator = np.random.default_rng(0)
    x = generator.normal(size=(25_000, 256)).astype(np.float32)
    y = (x[:, :10] + 0.5 * x[:, 10:20]).argmax(axis=1)
    parts = {"x": x[:20_000], "y": y[:20_000], "x_test": x[20_000:], "y_test": y[20_000:]}
    options = {"sparsity": 0.97, "hidden": "256-256-256", "epochs": arguments.epochs, "seed": 1}
    times = {name: [] for name in ("program", "program, epochs", "Python", "Python, epochs")}
    with tempfile.TemporaryDirectory() as place:
        directory = pathlib.Path(place)
        for name, values in parts.items():
            np.save(directory / f"{name}.npy", values)
        for number in range(arguments.rounds + 1):  # the first round is not counted
            of_program, of_epochs, network = _program_run(program, directory, options)
            started = time.perf_counter()
            run = train(parts["x"], parts["y"], test=(parts["x_test"], parts["y_test"]), **options)
            seconds = time.perf_counter() - started
            if number > 0:
                found = (of_program, of_epochs, seconds, sum(epoch["seconds"] for epoch in run.history))
                for name, value in zip(times, found):
                    times[name].append(value)
    rows = [
        ["training, all epochs", "program, epochs", "Python, epochs"],
        ["from data to network: the process with its files, the call of `fn.train`", "program", "Python"],
    ]
    cells = [
        [what, shown(times[a]), shown(times[b]), shown(ratios(times[b], times[a]), digits=4)] for what, a, b in rows
    ]
    table(["s", "program", "Python", "Python / program"], cells)
    same = all(np.array_equal(a.weight.toarray(), b.weight.toarray()) for a, b in zip(network.layers, run.network.layers))
    print(f"20,000 rows of 256 features, {arguments.epochs} epochs, 97 % sparse. Both networks are {'the same' if same else 'NOT the same'}.")


# ---- layers


def _layer_works(sparsity, size, batch):
    """Forward and backward of a layer by each library that there is."""
    import torch

    from .torch import SparseLinear

    x = torch.randn(batch, size, requires_grad=True)
    gradient = torch.randn(batch, size)

    def step_of(forward, parameters):
        def step():
            for each in (x, *parameters):
                each.grad = None
            forward(x).backward(gradient)

        return step

    ours = SparseLinear(size, size, sparsity)
    dense = torch.nn.Linear(size, size)
    begin, bias = ours.row_begin.to(torch.int32), ours.bias.detach().clone().requires_grad_()
    csr = torch.sparse_csr_tensor(begin, ours.column, ours.weight.detach().clone(), (size, size)).requires_grad_()
    by_csr = lambda rows: torch.sparse.mm(csr, rows.t()).t() + bias
    if not torch.allclose(by_csr(x), ours(x), atol=1e-3):
        raise RuntimeError("torch.sparse computes something else")
    works = {
        "`nn.Linear`": step_of(dense, list(dense.parameters())),
        "`torch.sparse` CSR": step_of(by_csr, [csr, bias]),
    }
    if not missing("sparselab", "sparselab"):
        import sparselab

        theirs = sparselab.SparseLinear(size, size, sparsity=sparsity)
        works["SparseLab"] = step_of(theirs, list(theirs.parameters()))
    works["filigree"] = step_of(ours, list(ours.parameters()))
    return works


def bench_layers(arguments):
    """SparseLinear next to other layers: forward and backward."""
    heading("A layer of PyTorch, 1024 × 1024, 128 rows: forward and backward")
    if missing("torch", "torch"):
        return
    warnings.filterwarnings("ignore", message="Sparse (CSR|invariant)")
    milliseconds, times_as_fast = [], []
    for sparsity in (0.9, 0.97, 0.99):
        say(f"layers: {sparsity:.0%}")
        times = interleaved(_layer_works(sparsity, 1024, 128), arguments.rounds)
        milliseconds.append([f"{sparsity:.0%}", *(shown(each, 1e3) for each in times.values())])
        ours = times.pop("filigree")
        times_as_fast.append([f"{sparsity:.0%}", *(shown(ratios(each, ours)) for each in times.values())])
    names = list(times)
    table(["ms", *names, "filigree"], milliseconds)
    table(["filigree is … times as fast as", *names], times_as_fast)


# ---- transformer


def _transformer(torch, width, wide, blocks, with_feed_forward=True):
    """Blocks of attention and feed-forward, each after a norm and next to a way around."""

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.before_attention = torch.nn.LayerNorm(width)
            self.attention = torch.nn.MultiheadAttention(width, 8, batch_first=True)
            self.before_feed_forward = torch.nn.LayerNorm(width)
            layers = [torch.nn.Linear(width, wide), torch.nn.ReLU(), torch.nn.Linear(wide, width)]
            self.feed_forward = torch.nn.Sequential(*layers) if with_feed_forward else torch.nn.Identity()

        def forward(self, x):
            normed = self.before_attention(x)
            x = x + self.attention(normed, normed, normed, need_weights=False)[0]
            return x + self.feed_forward(self.before_feed_forward(x))

    return torch.nn.Sequential(*(Block() for _ in range(blocks)))


def bench_transformer(arguments):
    """A training step of two transformer blocks with dense and with sparse feed-forward layers."""
    heading("A training step of two transformer blocks: width 512, feed-forward 2048, 8 × 64 tokens, AdamW")
    if missing("torch", "torch"):
        return
    import torch

    from .torch import sparsify

    x, target = torch.randn(8, 64, 512), torch.randn(8, 64, 512)

    def step_of(model):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

        def step():
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), target).backward()
            optimizer.step()

        return step

    sparse = _transformer(torch, 512, 2048, 2)
    sparsify(sparse, 0.95, only="*.feed_forward.*")
    works = {
        "dense": step_of(_transformer(torch, 512, 2048, 2)),
        "95 % sparse feed-forward": step_of(sparse),
        "no feed-forward": step_of(_transformer(torch, 512, 2048, 2, with_feed_forward=False)),
    }
    times = interleaved(works, arguments.rounds, seconds=0.1)
    bare = times["no feed-forward"]
    rows = []
    for name, each in times.items():
        share = [100 * (1 - b / a) for a, b in zip(each, bare)]
        rows.append([name, shown(each, 1e3), shown(ratios(times["dense"], each)), "–" if each is bare else shown(share)])
    table(["", "ms a step", "times as fast as dense", "% of the step in the feed-forward"], rows)
    print("The feed-forward's share is what the step takes more than the same blocks without it.")


# ---- accuracy


def _fashion(directory):
    def read(name, offset):
        return np.frombuffer(gzip.open(directory / f"{name}-ubyte.gz").read(), np.uint8, offset=offset)

    def part(name):
        return read(f"{name}-images-idx3", 16).reshape(-1, 784), read(f"{name}-labels-idx1", 8).astype(np.int64)

    return *part("train"), *part("t10k")


def _sparse_to(goal, directory, seed):
    """Seconds of a whole fit, if it ends at the goal. Its epochs were chosen on 10,000 training rows with other seeds."""
    from .sklearn import SparseMLPClassifier

    x, y, x_test, y_test = _fashion(directory)
    model = SparseMLPClassifier((256, 256, 256), sparsity=0.97, preset="fast", max_iter=60, random_state=seed)
    started = time.perf_counter()
    model.fit(x, y)
    seconds = time.perf_counter() - started
    score = model.score(x_test, y_test)
    return seconds if score >= goal else math.inf, score


def _sklearn_to(goal, directory, seed, most=30):
    """Seconds of epochs until the goal is first reached, scoring aside."""
    from sklearn.neural_network import MLPClassifier

    x, y, x_test, y_test = _fashion(directory)
    x, x_test = (part.astype(np.float32) / 255 for part in (x, x_test))
    model = MLPClassifier((256, 256, 256), random_state=seed)
    seconds = score = 0.0
    for _ in range(most):
        started = time.perf_counter()
        model.partial_fit(x, y, classes=np.arange(10))
        seconds += time.perf_counter() - started
        score = model.score(x_test, y_test)
        if score >= goal:
            return seconds, score
    return math.inf, score


def _torch_to(goal, directory, seed, epochs=5, batch=128):
    """The same for a loop of PyTorch with momentum and a cosine schedule, scored after each quarter of an epoch."""
    import torch

    torch.manual_seed(seed)
    x, y, x_test, y_test = (torch.from_numpy(np.array(part)) for part in _fashion(directory))
    mean, deviation = x.float().mean(), x.float().std()
    x, x_test = ((part.float() - mean) / deviation for part in (x, x_test))
    layers = []
    for inputs, outputs in ((784, 256), (256, 256), (256, 256), (256, 10)):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        torch.nn.init.kaiming_normal_(layers[-2].weight, nonlinearity="relu")
    model = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=3e-4)
    an_epoch = math.ceil(len(x) / batch)
    scale = lambda step: min(1, (step + 1) / an_epoch) * (1 + math.cos(math.pi * min(1, step / (epochs * an_epoch)))) / 2
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, scale)
    seconds, first, score = 0.0, math.inf, 0.0
    for _ in range(epochs):
        for quarter in torch.randperm(len(x)).chunk(4):
            started = time.perf_counter()
            for chosen in quarter.split(batch):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
            seconds += time.perf_counter() - started
            with torch.no_grad():
                score = (model(x_test).argmax(1) == y_test).float().mean().item()
            first = min(first, seconds) if score >= goal else first
    return first, score


def _alone(method, *arguments):
    """What a method returns in a process of its own: threads of several libraries in one process get in each other's way."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as process:
        return process.submit(method, *arguments).result()


def _seconds_shown(seconds):
    """The median, or the later of the two in the middle, the lowest and the highest."""
    seconds = sorted(seconds)
    return f"{seconds[len(seconds) // 2]:.2f} ({seconds[0]:.2f}–{seconds[-1]:.2f})".replace("inf", "never")


def bench_accuracy(arguments):
    """Seconds to an accuracy on Fashion-MNIST."""
    heading(f"Fashion-MNIST, 784-256-256-256-10: seconds to {arguments.goal:.0%} of the test rows")
    if not (arguments.fashion / "train-images-idx3-ubyte.gz").exists():
        _LEFT_OUT["Fashion-MNIST"] = f"there is no {arguments.fashion}/train-images-idx3-ubyte.gz (--fashion DIR)"
        return
    methods = {}
    if not missing("sklearn", "scikit-learn"):
        methods["`SparseMLPClassifier`, 97 % sparse, preset fast, 60 epochs: the whole of `fit`"] = _sparse_to
        methods["`MLPClassifier`, its defaults, up to 30 epochs: until the goal is reached"] = _sklearn_to
    if not missing("torch", "torch"):
        methods["PyTorch, dense, 5 epochs of SGD with momentum: until the goal is reached"] = _torch_to
    found = {name: [] for name in methods}
    for seed in range(1, arguments.seeds + 1):
        for name, method in methods.items():
            say(f"accuracy: seed {seed}, {name}")
            found[name].append(_alone(method, arguments.goal, arguments.fashion, seed))
    rows = []
    for name, runs in found.items():
        rows.append([name, _seconds_shown([each for each, _ in runs]), f"{100 * statistics.mean(score for _, score in runs):.2f}"])
    table(["", "s (lowest–highest)", "mean % at the end"], rows)
    print(f"Seeds 1 to {arguments.seeds}, each run in a process of its own; neither loading nor scoring is timed.")
    print("Never: the goal was not reached in that run.")


BENCHES = {
    "calls": bench_calls,
    "fit": bench_fit,
    "layers": bench_layers,
    "transformer": bench_transformer,
    "accuracy": bench_accuracy,
}


def main(words=None):
    parser = argparse.ArgumentParser(prog="python -m filigree_nn.bench", description=__doc__.partition("\n\n")[0])
    parser.add_argument("bench", choices=[*BENCHES, "all"], help="what to measure")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each measurement (default: 15)")
    parser.add_argument("--program", default="filigree", help="the program, for fit (default: filigree)")
    parser.add_argument("--epochs", type=int, default=100, help="epochs, for fit (default: 100)")
    parser.add_argument(
        "--fashion", type=pathlib.Path, default=pathlib.Path("/usr/share/datasets/fashion-mnist"),
        help="directory with the four files of Fashion-MNIST, for accuracy (default: where Debian's package has them)",
    )
    parser.add_argument("--goal", type=float, default=0.89, help="share of test rows, for accuracy (default: 0.89)")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of each method, for accuracy (default: 5)")
    arguments = parser.parse_args(words)
    if arguments.rounds < 2 or arguments.seeds < 1:
        parser.error("there are at least 2 rounds and 1 seed")
    _LEFT_OUT.clear()
    print_machine()
    for name, bench in BENCHES.items():
        if arguments.bench in (name, "all"):
            say(f"measuring {name}")
            bench(arguments)
    for name, why in _LEFT_OUT.items():
        print(f"\nLeft out: {name}, {why}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
