# SPDX-License-Identifier: Apache-2.0
"""Networks, plans and trainers in Python: arrays without copies, errors instead of crashes."""

import copy
import gc
import multiprocessing
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse

import filigree_nn as fn
from filigree_nn.training import Rows, Trainer, TrainingData


def random_weight(generator, shape, density):
    return scipy.sparse.csr_array(generator.uniform(-1, 1, shape) * (generator.random(shape) < density), dtype=np.float32)


def random_network(seed=0, inputs=20, outputs=4):
    generator = np.random.default_rng(seed)
    first = random_weight(generator, (16, inputs), 0.3)
    second = random_weight(generator, (outputs, 16), 0.5)
    return fn.Network.from_layers(
        [(first, generator.normal(size=16), "relu"), (second, None, "identity")], loss="cross-entropy"
    )


def blobs(rows=300, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(rows, 8)).astype(np.float32)
    y = (x[:, 0] > x[:, 1]).astype(int)
    return x, y


def test_a_network_computes_what_its_arrays_say():
    network = random_network()
    x = np.random.default_rng(1).normal(size=(50, 20)).astype(np.float32)
    first, second = network.layers
    hidden = np.maximum(x.astype(float) @ first.weight.T.astype(float) + first.bias, 0)
    expected = hidden @ second.weight.T.astype(float) + second.bias
    magnitude = np.abs(x) @ np.abs(first.weight.T) @ np.abs(second.weight.T) + 1
    bound = 40 * 2.0**-24 * (magnitude + np.abs(expected))
    assert np.all(np.abs(network.compile().run(x) - expected) <= bound)


def test_layers_are_the_networks_own_memory_and_outlive_it():
    network = random_network()
    weight, again = network.layers[0].weight, fn.Network(network._core_network).layers[0].weight
    assert np.shares_memory(weight.data, again.data)
    assert np.shares_memory(weight.indices, again.indices)
    assert weight.indices.dtype == weight.indptr.dtype == np.int32
    assert not weight.data.flags.writeable and not weight.indices.flags.writeable
    before = weight.data.copy()
    del network, again
    gc.collect()
    assert np.array_equal(weight.data, before)


def test_rows_of_any_layout_and_type_give_the_same():
    plan = random_network().compile()
    x = np.random.default_rng(2).integers(0, 255, size=(70, 20)).astype(np.float32)
    expected = plan.run(x)
    wide = np.zeros((70, 40), np.float32)
    wide[:, ::2] = x
    for rows in (x.astype(float), x.astype(np.uint8), x.astype(np.int64), np.asfortranarray(x), wide[:, ::2], x[::-1][::-1],
                 x.tolist(), scipy.sparse.csr_array(x), scipy.sparse.csc_matrix(x), scipy.sparse.coo_array(x)):
        assert np.array_equal(plan.run(rows), expected)
    out = np.zeros((70, 8), np.float32)
    assert plan.run(x, out[:, :4]).base is not None
    assert np.array_equal(out[:, :4], expected)
    assert not out[:, 4:].any()


@pytest.mark.parametrize(
    "rows, message",
    [
        (np.zeros((3, 7)), "rows of 7 values, but the network has 20 inputs"),
        (np.zeros(20), "reshape"),
        (np.zeros((2, 3, 4)), "there are 3"),
        (np.full((1, 20), np.nan), "input 0 of row 0 is nan"),
        (np.array([["a"] * 20]), "of type <U1"),
        (np.full((1, 20), 1e300), "does not fit a float"),
    ],
)
def test_rows_that_do_not_fit_are_an_error(rows, message):
    with pytest.raises(ValueError, match=message):
        random_network().compile().run(rows)


def test_outputs_that_do_not_fit_are_an_error():
    plan = random_network().compile()
    x = np.zeros((3, 20), np.float32)
    for out in (np.zeros((2, 4), np.float32), np.zeros((3, 4)), np.zeros((4, 3), np.float32).T, [0]):
        with pytest.raises(ValueError, match="out"):
            plan.run(x, out)
    frozen = np.zeros((3, 4), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        plan.run(x, frozen)


def test_unsound_layers_are_an_error():
    with pytest.raises(ValueError, match="no activation"):
        fn.Network.from_layers([(np.eye(2), None, "magic")])
    with pytest.raises(ValueError):
        fn.Network.from_layers([(np.eye(2), None, "relu"), (np.eye(3), None, "relu")])
    with pytest.raises(ValueError):
        fn.Network.from_layers([(np.array([[np.inf]]), None, "relu")])
    with pytest.raises(TypeError):
        fn.Network("model.safetensors")
    with pytest.raises(fn.Error, match="nowhere"):
        fn.Network.load("/nowhere")


def test_networks_travel_as_their_files_do(tmp_path):
    network = random_network()
    network.save(tmp_path / "model.safetensors")
    for other in (fn.Network.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):
        assert other == network
    plan = pickle.loads(pickle.dumps(network.compile()))
    assert np.array_equal(plan.run(np.ones((2, 20))), network.compile().run(np.ones((2, 20))))


def test_html_escapes_and_shows_each_layer():
    text = random_network()._repr_html_()
    assert text.count("<svg") == 2
    assert "20 → 16" in text


def test_training_is_the_same_by_train_and_by_hand():
    x, y = blobs()
    run = fn.train(x, y, hidden=(16, 16), epochs=6, seed=4)
    trainer = Trainer(TrainingData(Rows(x, y), "classes", 2, ["0", "1"]), hidden=(16, 16), epochs=6, seed=4)
    for _ in range(3):
        trainer.epoch()
    trainer = Trainer.from_state(trainer._data, trainer.state_dict())
    while not trainer.done:
        trainer.epoch()
    assert trainer.network == run.network
    with pytest.raises(ValueError, match="epochs are done"):
        trainer.epoch()


def test_classes_values_and_labels_are_told_apart():
    x, _ = blobs()
    texts = np.where(x[:, 0] > 0, "yes", "no")
    assert fn.train(x, texts, hidden=(8,), epochs=2).network.output_names == ["no", "yes"]
    assert fn.train(x, x[:, 0] * 2, hidden=(8,), epochs=2).network.task == "values"
    assert fn.train(x, (x[:, :3] > 0).astype(int), hidden=(8,), epochs=2).network.task == "labels"


@pytest.mark.parametrize("numbers", [[0.5], [np.nan], [2**31], [-1], ["0"], np.ones(300, bool)])
def test_a_step_takes_only_numbers_of_rows(numbers):
    x, y = blobs()
    trainer = Trainer(TrainingData(Rows(x, y), "classes"), hidden=(8,), epochs=2)
    with pytest.raises(ValueError):
        trainer.step(numbers)
    assert trainer.steps == 0
    trainer.step([0.0, 1.0])
    trainer.step(np.arange(5, dtype=np.uint8))
    assert trainer.steps == 2


@pytest.mark.parametrize("wrong, message", [(0.5, "there is 0.5"), (np.nan, "there is nan"), (2.0**40, "of 32 bits")])
def test_classes_are_whole_numbers(wrong, message):
    x, y = blobs()
    classes = y.astype(float)
    assert TrainingData(Rows(x, classes), "classes")._data.train_rows == 300
    classes[7] = wrong
    with pytest.raises(ValueError, match=message):
        TrainingData(Rows(x, classes), "classes")


def test_settings_are_checked():
    x, y = blobs()
    for chosen, message in (({"sparsity": -1}, "sparsity is -1"), ({"evolve": "magic"}, "magic"), ({"batch": 0}, "batch")):
        with pytest.raises(ValueError, match=message):
            fn.train(x, y, **chosen)
    with pytest.raises(TypeError, match="no setting 'colour'"):
        fn.train(x, y, colour="red")
    with pytest.raises(ValueError, match="nan"):
        fn.train(np.full_like(x, np.nan), y)
    with pytest.raises(ValueError, match="rows"):
        fn.train(x, y[:-1])


def test_a_callback_sees_epochs_and_may_stop():
    seen = []
    x, y = blobs()
    run = fn.train(x, y, hidden=(8,), epochs=50, callback=lambda report: seen.append(report["epoch"]) or len(seen) == 3)
    assert seen == [1, 2, 3]
    assert run.stopped_early and len(run.history) == 3


def test_many_threads_run_one_plan():
    plan = random_network().compile()
    x = np.random.default_rng(3).normal(size=(500, 20)).astype(np.float32)
    expected, found = plan.run(x), []
    threads = [threading.Thread(target=lambda: found.append(plan.run(x))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all(np.array_equal(each, expected) for each in found)


def test_a_second_thread_is_told_that_a_trainer_is_busy():
    x, y = blobs(20000)
    trainer = Trainer(TrainingData(Rows(x, y), "classes"), hidden=(256, 256), epochs=1, batch=16)
    thread = threading.Thread(target=trainer.epoch)
    thread.start()
    refused = False
    while thread.is_alive() and not refused:
        try:
            _ = trainer.steps
        except ValueError as error:
            refused = "another thread" in str(error)
    thread.join()
    assert refused


INTERRUPTED = """
import signal, sys, time, numpy as np, filigree_nn as fn
from filigree_nn.training import Rows, Trainer, TrainingData
x = np.random.default_rng(0).normal(size=(200000, 64)).astype(np.float32)
trainer = Trainer(TrainingData(Rows(x, (x[:, 0] > 0).astype(int)), "classes"), hidden=(512, 512), epochs=100, sparsity=0.5)
print("ready", flush=True)
try:
    trainer.epoch()
except KeyboardInterrupt:
    print("interrupted", trainer.steps > 0, trainer.network.outputs, flush=True)
"""


def test_ctrl_c_stops_at_once_and_leaves_a_usable_trainer():
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted True 2\n"
        assert process.wait(30) == 0


LEFT_AT_WORK = """
import threading, numpy as np, filigree_nn as fn
x = np.random.default_rng(0).normal(size=(50000, 32)).astype(np.float32)
y = (x[:, 0] > 0).astype(int)
def work():
    while True:
        fn.train(x, y, hidden=(256, 256), epochs=50, sparsity=0.5)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
plan = fn.train(x[:100], y[:100], epochs=1).network.compile()
def run():
    while True:
        plan.run(x[:3000])
threading.Thread(target=run, daemon=True).start()
import time
time.sleep(0.3)
print("leaving", flush=True)
"""


def test_leaving_while_threads_work_is_no_crash():
    done = subprocess.run([sys.executable, "-c", LEFT_AT_WORK], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "leaving\n"


FORKED = """
import os, sys, threading, time, numpy as np, filigree_nn as fn
x = np.random.default_rng(0).normal(size=(50000, 32)).astype(np.float32)
y = (x[:, 0] > 0).astype(int)
thread = threading.Thread(target=lambda: fn.train(x, y, hidden=(256, 256), epochs=3))
thread.start()
time.sleep(0.2)
child = os.fork()
if child == 0:
    run = fn.train(x[:200], y[:200], hidden=(8,), epochs=2)
    sys.exit(0 if len(run.history) == 2 else 1)
code = os.waitpid(child, 0)[1]
thread.join()
print(code)
"""


def test_a_child_that_is_forked_in_the_middle_of_training_trains_itself():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60)
    assert done.stdout == "0\n", done.stderr


def run_in_child(network):
    return network.compile().run(np.ones((100, 20), np.float32))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_works_in_child_processes(method):
    network = random_network()
    expected = run_in_child(network)
    x, y = blobs()
    fn.train(x, y, hidden=(16,), epochs=2)  # threads are there before the fork
    with multiprocessing.get_context(method).Pool(2) as pool:
        for found in pool.map(run_in_child, [network] * 4):
            assert np.array_equal(found, expected)
