# SPDX-License-Identifier: Apache-2.0
"""Memory that is offered by DLPack alone: read in place, written to where it may be."""

import numpy as np
import pytest

import filigree_nn as fn
from filigree_nn._arrays import dense_array
from filigree_nn.training import Rows, TrainingData


numpy_writes = pytest.mark.skipif(
    not np.from_dlpack(np.zeros(1)).flags.writeable, reason="this NumPy only reads through DLPack"
)


class OnlyDLPack:
    """Offers the memory of an array, and nothing else of it."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **wanted):
        return self._array.__dlpack__(**wanted)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Elsewhere(OnlyDLPack):
    """Memory of a device that NumPy does not know."""

    def __dlpack__(self, **wanted):
        raise BufferError("it lies on a device")

    def __dlpack_device__(self):
        return 2, 0


def plan():
    weight = np.random.default_rng(0).normal(size=(3, 5))
    return fn.Network.from_layers([(weight, None, "identity")]).compile()


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint8, np.int64])
def test_rows_are_read(kind):
    x = np.random.default_rng(1).integers(0, 200, size=(40, 5)).astype(kind)
    assert np.array_equal(plan().run(OnlyDLPack(x)), plan().run(x))
    assert np.array_equal(plan().run(OnlyDLPack(x[::2])), plan().run(x[::2]))
    assert np.shares_memory(dense_array(OnlyDLPack(x)), x) == (kind != np.int64)


@numpy_writes
def test_outputs_are_written():
    x = np.random.default_rng(1).normal(size=(40, 5)).astype(np.float32)
    memory = np.zeros((40, 8), np.float32)
    out = OnlyDLPack(memory[:, :3])
    assert plan().run(x, out) is out
    assert np.array_equal(memory[:, :3], plan().run(x))
    assert not memory[:, 3:].any()


def test_what_cannot_be_read_or_written_is_an_error():
    x = np.zeros((4, 5), np.float32)
    frozen = np.zeros((4, 3), np.float32)
    frozen.flags.writeable = False
    for out in (OnlyDLPack(frozen), OnlyDLPack(np.zeros((4, 3))), OnlyDLPack(np.zeros(12, np.float32)), Elsewhere(x)):
        with pytest.raises(ValueError, match="out is|of out cannot"):
            plan().run(x, out)
    assert not frozen.any()
    with pytest.raises(ValueError, match="of an array cannot be reached by NumPy through DLPack"):
        plan().run(Elsewhere(x))
    with pytest.raises(ValueError, match="there is one"):
        plan().run(OnlyDLPack(x[0]))


def test_memory_that_may_only_be_read_is_said_to_be_so():
    frozen = np.zeros((4, 3), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="through DLPack"):
        plan().run(np.zeros((4, 5), np.float32), OnlyDLPack(frozen))


def test_training_reads_rows_targets_and_weights():
    x = np.random.default_rng(2).normal(size=(200, 5)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    weight = np.ones(200)
    asked = {"hidden": (8,), "epochs": 3, "seed": 1}
    expected = fn.train(x, y, sample_weight=weight, **asked).network
    assert fn.train(OnlyDLPack(x), OnlyDLPack(y), sample_weight=OnlyDLPack(weight), **asked).network == expected
    assert TrainingData(Rows(OnlyDLPack(x), OnlyDLPack(y)), "classes")._data.train_rows == 200


@numpy_writes
def test_tensors_of_torch_are_rows_and_outputs():
    torch = pytest.importorskip("torch")
    x = torch.randn(40, 5)
    out = torch.zeros(40, 3)
    assert plan().run(x, out) is out
    assert np.array_equal(out.numpy(), plan().run(x.numpy()))
    with pytest.raises(ValueError, match="of out cannot"):
        plan().run(x, torch.zeros(40, 3, requires_grad=True))
