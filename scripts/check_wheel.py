# SPDX-License-Identifier: Apache-2.0
"""Checks what a wheel that is given away contains: check_wheel.py WHEEL. Prints what it found, or what is wrong with it."""

import pathlib
import re
import sys
import zipfile

MOST_BYTES = 15_000_000
# Libraries that may be inside: fmt (MIT), Highway (Apache-2.0), zlib (Zlib), zstd (BSD-3-Clause, at its user's choice).
ALLOWED = {"libfmt", "libhwy", "libz", "libzstd"}
# Whose licences go with them, and with what is compiled in.
NOTICES = {"libfmt", "libhwy", "libzstd", "libkissfft", "nlohmann-json3", "libtomlplusplus", "libprotozero", "nanobind", "robin-map"}
TAG = re.compile(r"filigree_nn-[^-]+-(cp311-cp311|cp312-abi3)-manylinux_\d+_\d+_x86_64(\.manylinux\w+)*\.whl")


def faults_of(wheel):
    """What is wrong with a wheel, and the libraries in it."""
    tag = TAG.fullmatch(wheel.name)
    if not tag:
        return [f"it is named {wheel.name}, not as a manylinux wheel for Python 3.11 or for the stable ABI of 3.12"], []
    faults = []
    if wheel.stat().st_size > MOST_BYTES:
        faults.append(f"it has {wheel.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
    names = [name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")]
    parts = {name: name.split("/") for name in names}
    libraries = [parts[name][-1] for name in names if parts[name][0] == "filigree_nn.libs"]
    extensions = [parts[name][-1] for name in names if parts[name][0] == "filigree_nn" and ".so" in name]
    expected = "_core.abi3.so" if tag[1] == "cp312-abi3" else "_core.cpython-311-x86_64-linux-gnu.so"
    if extensions != [expected]:
        faults.append(f"its extensions are {extensions}, not {expected} alone")
    for library in libraries:
        if re.split(r"[-.]", library)[0] not in ALLOWED:
            faults.append(f"{library} is inside, which is not among {', '.join(sorted(ALLOWED))}")
    notices = {parts[name][-1].removesuffix(".txt") for name in names if parts[name][-2:-1] == ["licenses"]}
    if NOTICES - notices:
        faults.append(f"licences are missing: {', '.join(sorted(NOTICES - notices))}")
    strays = [name for name in names if not re.match(r"filigree_nn(/|\.libs/|-[^/]*\.dist-info/)", name)]
    if strays:
        faults.append(f"{strays[0]} does not belong there")
    return faults, libraries


def main():
    wheel = pathlib.Path(sys.argv[1])
    faults, libraries = faults_of(wheel)
    for fault in faults:
        print(f"filigree: {wheel.name}: {fault}", file=sys.stderr)
    if not faults:
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, with {', '.join(sorted(libraries)) or 'no library'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
