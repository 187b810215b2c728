# SPDX-License-Identifier: Apache-2.0
"""Rows and targets as the engine reads them: no copy where the memory can be read as it is."""

import numpy as np
import scipy.sparse

from . import _core

_DENSE = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.uint8))


def csr_arrays(matrix):
    """The three arrays of a CSR matrix whose columns ascend within each row and occur once.

    The positions are copies: if the matrix changes while it is read, those that were checked are those that are used.
    """
    matrix = scipy.sparse.csr_array(matrix)
    if not (matrix.has_sorted_indices and matrix.has_canonical_format):
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return (
        np.array(matrix.indptr, dtype=np.int64),
        np.array(matrix.indices, dtype=np.int32),
        np.ascontiguousarray(matrix.data, dtype=np.float32),
        matrix.shape[1],
    )


def _by_dlpack(owner, what):
    try:
        return np.from_dlpack(owner)
    except (BufferError, RuntimeError, TypeError) as error:
        raise ValueError(f"{what} cannot be reached by NumPy through DLPack: {error}") from error


def array_of(x):
    """A NumPy array of whatever has values, without a copy where there is memory: DLPack alone is enough."""
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        return _by_dlpack(x, "the memory of an array")
    return np.asarray(x)


def outputs_array(out):
    """The memory that outputs are written to, as a NumPy array."""
    if hasattr(out, "__dlpack__") and not isinstance(out, np.ndarray):
        out = _by_dlpack(out, "the memory of out")
        if not out.flags.writeable:  # older versions of NumPy never write through DLPack
            raise ValueError(f"out is memory that NumPy {np.__version__} may only read through DLPack; give it as an array")
    if not isinstance(out, np.ndarray) or out.dtype != np.float32 or out.ndim != 2 or not out.flags.writeable:
        raise ValueError("out is a writeable array of float32 with two dimensions")
    return out


def dense_array(x):
    """An array of rows that the engine reads where it is, or a copy of another type or layout."""
    x = array_of(x)
    if x.ndim == 1:
        raise ValueError(f"rows of inputs have two dimensions, but there is one, of {x.shape[0]}: x.reshape(1, -1) is one row")
    if x.ndim != 2:
        raise ValueError(f"rows of inputs have two dimensions, but there are {x.ndim}")
    if x.dtype not in _DENSE or not x.dtype.isnative:
        if x.dtype.kind not in "biuf":
            raise ValueError(f"rows of inputs are numbers, but these are of type {x.dtype}")
        x = x.astype(np.float32 if x.dtype.kind == "b" or x.dtype.itemsize < 4 else np.float64)
    if min(x.strides, default=0) < 0 or any(stride % x.itemsize for stride in x.strides):
        x = np.ascontiguousarray(x)
    return x


def whole_numbers(values, what):
    """An array of int32 with the same values; fractions, and whatever else would change, are refused."""
    values = array_of(values)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{what} are whole numbers, but these are of type {values.dtype}")
    limits = np.iinfo(np.int32)
    wrong = ~((values >= limits.min) & (values <= limits.max))  # so that NaN is wrong
    if values.dtype.kind == "f":
        wrong |= values != np.floor(values)
    if wrong.any():
        raise ValueError(f"{what} are whole numbers of 32 bits, but there is {values[wrong].flat[0]}")
    return np.ascontiguousarray(values, np.int32)


def rows_of(x):
    """Rows for the engine, of an array, a data frame or a sparse matrix."""
    if scipy.sparse.issparse(x):
        return _core.Rows(*csr_arrays(x))
    return _core.Rows(dense_array(x))
