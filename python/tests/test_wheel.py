# SPDX-License-Identifier: Apache-2.0
"""scripts/check_wheel.py refuses what may not be given away."""

import importlib.util
import pathlib
import zipfile

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_wheel.py"
ABI3 = "filigree_nn-1.0.0-cp312-abi3-manylinux_2_35_x86_64.whl"


@pytest.fixture
def check():
    spec = importlib.util.spec_from_file_location("check_wheel", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel_of(place, check, name=ABI3, extension="_core.abi3.so", without=None, extra=()):
    licences = [f"filigree_nn-1.0.0.dist-info/licenses/{each}.txt" for each in check.NOTICES if each != without]
    with zipfile.ZipFile(place / name, "w") as wheel:
        for inside in ["filigree_nn/", "filigree_nn/__init__.py", f"filigree_nn/{extension}", "filigree_nn.libs/libfmt-1234.so.9", *licences, *extra]:
            wheel.writestr(inside, b"")
    return place / name


def test_a_sound_wheel_passes(tmp_path, check):
    assert check.faults_of(wheel_of(tmp_path, check)) == ([], ["libfmt-1234.so.9"])


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"name": "filigree_nn-1.0.0-cp312-abi3-linux_x86_64.whl"}, "not as a manylinux wheel"),
        ({"extension": "_core.cpython-312-x86_64-linux-gnu.so"}, "not _core.abi3.so alone"),
        ({"extra": ["filigree_nn.libs/libgomp-1234.so.1"]}, "libgomp-1234.so.1 is inside"),
        ({"extra": ["filigree_nn.libs/libcurl-1234.so.4.8"]}, "libcurl-1234.so.4.8 is inside"),
        ({"extra": ["filigree_nn/libcudart.so.12"]}, "its extensions are"),
        ({"extra": ["include/filigree/network.h"]}, "does not belong there"),
        ({"without": "libzstd"}, "licences are missing: libzstd"),
    ],
)
def test_a_faulty_wheel_is_told(tmp_path, check, changed, said):
    faults, _ = check.faults_of(wheel_of(tmp_path, check, **changed))
    assert len(faults) == 1 and said in faults[0]


def test_a_wheel_that_is_too_large_is_told(tmp_path, check, monkeypatch):
    monkeypatch.setattr(check, "MOST_BYTES", 100)
    faults, _ = check.faults_of(wheel_of(tmp_path, check))
    assert len(faults) == 1 and "bytes, more than 100" in faults[0]
