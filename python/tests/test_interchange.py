# SPDX-License-Identifier: Apache-2.0
"""Networks in other programs' files, from Python."""

import importlib.util

import numpy as np
import pytest
import scipy.sparse

import filigree_nn as fn
from filigree_nn.keras import from_keras


def network(scaled=True):
    generator = np.random.default_rng(3)
    first = scipy.sparse.random_array((16, 20), density=0.3, rng=generator, dtype=np.float32)
    second = scipy.sparse.random_array((4, 16), density=0.5, rng=generator, dtype=np.float32)
    mean = generator.normal(size=20) if scaled else ()
    return fn.Network.from_layers(
        [(first, generator.normal(size=16), "relu"), (second, None, "identity")], loss="cross-entropy", mean=mean,
        output_names=["a", "b", "c", "d"],
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_onnx_comes_back_as_it_was(tmp_path, sparse):
    before = network()
    before.save(tmp_path / "net.onnx", sparse=sparse)
    after = fn.Network.load(tmp_path / "net.onnx")
    assert after == before
    assert after.output_names == ["a", "b", "c", "d"]
    assert any("softmax" in note for note in after.notes)


@pytest.mark.parametrize("form, name", [("scipy", "net"), ("matrix-market", "net"), ("state-dict", "net.safetensors")])
def test_other_forms_come_back_without_what_they_cannot_say(tmp_path, form, name):
    before = network(scaled=False)
    before.save(tmp_path / name, form=form)
    after = fn.Network.load(tmp_path / name, loss="cross-entropy")
    for one, other in zip(before.layers, after.layers):
        assert (one.weight != other.weight).nnz == 0
        assert np.array_equal(one.bias, other.bias)
    with pytest.raises(ValueError, match="scaling of inputs"):
        network().save(tmp_path / "other.safetensors" if name.endswith("s") else tmp_path / "other", form=form)


def test_matrices_of_scipy_are_layers(tmp_path):
    weight = scipy.sparse.random_array((5, 7), density=0.5, rng=1, dtype=np.float32)
    x = np.random.default_rng(2).normal(size=(9, 7)).astype(np.float32)
    expected = x @ weight.toarray().T
    for form in ("csr", "csc", "coo", "bsr"):
        scipy.sparse.save_npz(tmp_path / "w.npz", weight.asformat(form))
        found = fn.Network.load(tmp_path / "w.npz").compile().run(x)
        assert np.allclose(found, expected, atol=16 * 2.0**-23)


def test_what_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / "net.onnx").write_bytes(b"\x08\x08nothing of a model")
    with pytest.raises(fn.Error, match="net.onnx"):
        fn.Network.load(tmp_path / "net.onnx")
    with pytest.raises(ValueError, match="no activation"):
        fn.Network.load(tmp_path / "net.onnx", activation="magic")
    with pytest.raises(ValueError, match="operator set 3"):
        network().save(tmp_path / "x.onnx", opset=3)


def test_analysis_compares_with_dense():
    analysis = network().compile().analyze(batches=(1, 40), seconds=0.002)
    assert analysis["summary"].startswith("runs ")
    assert [timing["rows"] for timing in analysis["network"]] == [1, 40]
    assert [layer["connections"] for layer in analysis["layers"]] == [layer.weight.nnz for layer in network().layers]


@pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
@pytest.mark.parametrize("sparse", [False, True])
def test_onnx_runtime_agrees(tmp_path, sparse):
    import onnx
    import onnxruntime

    before = network()
    before.save(tmp_path / "net.onnx", sparse=sparse)
    onnx.checker.check_model(str(tmp_path / "net.onnx"), full_check=True)
    x = np.random.default_rng(4).normal(size=(100, 20)).astype(np.float32)
    found = onnxruntime.InferenceSession(str(tmp_path / "net.onnx")).run(None, {"input": x})[0]
    # Sums of up to 20 products, twice, and an exponential function: each rounding is 2⁻²⁴ of what is added up.
    outputs = before.compile().run(x)
    bound = 64 * 2.0**-24 * (1 + np.abs(outputs).max())
    assert np.abs(found - before.compile().predict_proba(x)).max() <= bound


class KerasLayer:
    """What a layer of Keras offers."""

    def __init__(self, weights=(), **config):
        self.weights, self.config, self.name = list(weights), config, "layer"

    def get_weights(self):
        return self.weights

    def get_config(self):
        return self.config


def keras_model(*layers):
    """Layers by the names of their kinds."""
    made = [type(kind, (KerasLayer,), {})(weights, **config) for kind, weights, config in layers]
    return type("Model", (), {"layers": made})()


def test_layers_of_keras_are_folded():
    generator = np.random.default_rng(6)
    kernels = [generator.normal(size=shape) for shape in ((5, 4), (4, 3))]
    biases = [generator.normal(size=n) for n in (4, 3)]
    norm = [generator.uniform(0.5, 2, size=4) for _ in range(4)]
    network = from_keras(keras_model(
        ("InputLayer", (), {}),
        ("Dense", (kernels[0], biases[0]), {"activation": "linear"}),
        ("BatchNormalization", norm, {"epsilon": 0.01}),
        ("ReLU", (), {"max_value": 2.0, "negative_slope": 0.0}),
        ("Dropout", (), {}),
        ("BatchNormalization", norm, {"epsilon": 0.01}),
        ("Dense", (kernels[1], biases[1]), {"activation": "softmax"}),
    ))
    gamma, beta, mean, variance = norm
    normal = lambda z: (z - mean) / np.sqrt(variance + 0.01) * gamma + beta
    x = generator.normal(size=(30, 5)).astype(np.float32)
    expected = normal(np.clip(normal(x @ kernels[0] + biases[0]), 0, 2)) @ kernels[1] + biases[1]
    assert np.abs(network.compile().run(x) - expected).max() <= 64 * 2.0**-24 * (1 + np.abs(expected).max())
    assert network.loss == "cross-entropy"
    with pytest.raises(ValueError, match="Conv2D is not computed here"):
        from_keras(keras_model(("Conv2D", (), {})))
    with pytest.raises(ValueError, match="swish is not computed here"):
        from_keras(keras_model(("Dense", (kernels[0],), {"activation": "swish"})))
