# SPDX-License-Identifier: Apache-2.0
"""How fast a CSV file of numbers is read, next to pandas' C reader, in turns: read_speed.py FILE [ROUNDS].

Needs the Python package. filigree's time is that of a whole data set on one thread: parsing, targets and hashes.
"""

import os
import statistics
import sys
import time
import warnings

import numpy as np
import pandas as pd

from filigree_nn import _core

warnings.filterwarnings("ignore", message=".*float_precision")


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main():
    file, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    size = os.path.getsize(file) / 1e6
    session = _core.Session(1)
    readers = {
        "filigree": lambda: _core.in_session(session, lambda: _core.Data.load("csv:" + file, "1", 0.0)),
        "pandas, float32": lambda: pd.read_csv(file, header=None, engine="c", dtype=np.float32),
        "pandas, correctly rounded": lambda: pd.read_csv(file, header=None, engine="c", float_precision="round_trip"),
    }
    rates = {name: [] for name in readers}
    for _ in range(rounds):
        for name, read in readers.items():
            rates[name].append(size / seconds(read))
    for name, found in rates.items():
        print(f"{name:28} {statistics.median(found):5.0f} MB/s ({min(found):.0f}–{max(found):.0f})")


if __name__ == "__main__":
    main()
