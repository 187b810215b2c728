#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the Python examples and puts what they print and draw into docs/GALLERY.md and docs/gallery: scripts/gallery.py."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "GALLERY.md"


def output_of(name, directory):
    return subprocess.run([sys.executable, ROOT / name], cwd=directory, check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    with tempfile.TemporaryDirectory() as directory:
        block = lambda found: f"{found[1]}{output_of(found[2], directory)}```\n"
        page = re.sub(r"(```\n\$ python (\S+)\n).*?```\n", block, PAGE.read_text(), flags=re.S)
        if "skipped: " in page:
            sys.exit("an example was skipped: run this where PyTorch is installed")
        PAGE.write_text(page)
        for name in os.listdir(directory):
            if name.endswith(".svg"):
                shutil.copy(os.path.join(directory, name), ROOT / "docs" / "gallery" / name)


if __name__ == "__main__":
    main()
