// SPDX-License-Identifier: Apache-2.0
// Tests of checkpoints: everything comes back, and what is damaged is refused.
#include "train/state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "filigree/runtime.h"
#include "io/safetensors.h"
#include "io/test_files.h"
#include "train/test_checkpoint.h"
#include "train/test_training.h"
#include "train/training.h"

namespace filigree::internal {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TrainOptions small_options(bool dense) {
  TrainOptions options;
  options.network.neurons = {8, 7, 5, 3};
  options.network.sparsity = 0.4;
  options.network.dense = dense;
  options.run.batch = 16;
  options.run.epochs = 3;
  options.evolution.update_every = 2;
  options.learning.optimizer = Optimizer::adam;
  options.network.activation = HiddenActivation::all_relu;
  options.network.slope = 0.1;
  options.run.seed = 0xfedcba9876543210u;
  return options;
}

EpochReport some_report() {
  EpochReport report;
  report.epoch = 3;
  report.epochs = 7;
  report.lr = 0.1;
  report.train_loss = 1.0 / 3;
  report.train_score = 2.0 / 3;
  report.validation_score = kNone;
  report.validation_loss = kNone;
  report.test_score = 0.123456789012345678;
  report.connections = 1234567890123;
  report.sparsity = 0.9;
  report.dropped = 5;
  report.grown = 6;
  report.dead_neurons = 7;
  report.seconds = 1e-300;
  report.evolve_seconds = 1e300;
  report.samples_per_second = 12345.678;
  return report;
}

void expect_same(const EpochReport& a, const EpochReport& b) {
  EXPECT_EQ(to_json_line(a, Task::classes), to_json_line(b, Task::classes));
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.train_loss, b.train_loss);
  EXPECT_EQ(a.connections, b.connections);
}

// A state in mid-epoch with everything that a checkpoint can hold.
TrainState some_state(const Dataset& data, bool dense) {
  Training trainer(data, small_options(dense));
  for (int step = 0; step < 3; ++step) trainer.step(std::span(trainer.train_rows()).first(16));
  TrainState state = std::move(trainer.state());
  state.step_in_epoch = 3;
  state.history = {some_report(), some_report()};
  state.best_score = 0.7;
  state.best_epoch = 2;
  for (const TrainLayer& layer : state.layers) state.best.push_back(to_layer(layer));
  state.best[0].bias[0] = 0.25f;
  state.layers[1].threshold = 0.1 + 0.2;
  return state;
}

TEST(Checkpoint, BringsEverythingBack) {
  const TestDirectory directory;
  const auto path = directory / "checkpoint.safetensors";
  for (const Kind kind : kKinds) {
    for (const bool dense : {false, true}) {
      const Dataset data = random_data(kind, 60, 8, 3, 1);
      const TrainState state = some_state(data, dense);
      write_checkpoint(path, state);
      const TrainState back = read_checkpoint(Source(path), {});
      EXPECT_EQ(back.options, state.options);
      EXPECT_EQ(back.data_fingerprint, state.data_fingerprint);
      EXPECT_EQ(back.facts.scaling, state.facts.scaling);
      EXPECT_EQ(back.step, 3);
      EXPECT_EQ(back.step_in_epoch, 3);
      EXPECT_EQ(back.best_score, 0.7);
      EXPECT_EQ(back.best_epoch, 2);
      EXPECT_EQ(back.simd, simd_name());  // resuming with other instructions is worth a warning
      EXPECT_EQ(back.best, state.best);
      expect_same(back.epoch, state.epoch);
      ASSERT_EQ(back.history.size(), 2u);
      expect_same(back.history[1], state.history[1]);
      EXPECT_EQ(all_bits(back.layers), all_bits(state.layers));
      ASSERT_EQ(back.layers.size(), state.layers.size());
      for (std::size_t l = 0; l < back.layers.size(); ++l) {
        EXPECT_EQ(back.layers[l].pattern, state.layers[l].pattern);
        EXPECT_EQ(back.layers[l].transposed, state.layers[l].transposed);
        EXPECT_EQ(back.layers[l].by_input, state.layers[l].by_input);
        EXPECT_EQ(back.layers[l].dense, dense);
        EXPECT_EQ(back.layers[l].activation, state.layers[l].activation);
        EXPECT_EQ(back.layers[l].threshold, state.layers[l].threshold);
      }
    }
  }
}

TEST(Checkpoint, GoesOnBitByBitFromAnyStep) {
  const TestDirectory directory;
  const auto path = directory / "checkpoint.safetensors";
  for (const Kind kind : {Kind::floats, Kind::sparse}) {
    for (const bool dense : {false, true}) {
      const Dataset data = random_data(kind, 60, 8, 3, 2);
      Training straight(data, small_options(dense));
      for (int step = 0; step < 9; ++step) {
        write_checkpoint(path, straight.state());
        Training resumed(data, read_checkpoint(Source(path), {}));
        const auto rows = std::span(straight.train_rows()).subspan(step, 16);
        straight.step(rows);
        resumed.step(rows);
        EXPECT_EQ(all_bits(resumed.state().layers), all_bits(straight.state().layers)) << step;
        EXPECT_EQ(resumed.state().epoch.train_loss, straight.state().epoch.train_loss);
      }
    }
  }
}

// The file with one change to its header.
std::string refusal(const std::filesystem::path& path, const TrainState& state,
                    const std::function<void(Metadata&)>& change) {
  write_checkpoint(path, state);
  change_checkpoint(path, change);
  return error_of([&] { read_checkpoint(Source(path), {}); });
}

TEST(Checkpoint, RefusesNumbersThatCannotBe) {
  const TestDirectory directory;
  const auto path = directory / "checkpoint.safetensors";
  const Dataset data = random_data(Kind::floats, 60, 8, 3, 3);
  const TrainState state = some_state(data, false);
  const auto set = [&](const std::string& key, const std::string& value) {
    return refusal(path, state, [&](Metadata& metadata) { metadata[key] = value; });
  };
  EXPECT_EQ(set("step", "3"), "");
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"step", "-1"},
                                                        {"step", "many"},
                                                        {"step", "1e99"},
                                                        {"step_in_epoch", "-1"},
                                                        {"step_in_epoch", "99999999"},
                                                        {"format", "filigree checkpoint 0"},
                                                        {"settings", "{\"network\":\"8-7-5-3\""},
                                                        {"settings", "{\"lr\":\"-1\"}"},
                                                        {"settings", "{\"lr\":0.1}"},
                                                        {"settings", "{\"no-such-setting\":\"1\"}"},
                                                        {"settings", ""},
                                                        {"epoch", "{}"},
                                                        {"history", "{}\n"},
                                                        {"layers.0.activation", "77"},
                                                        {"layers.0.activation", "-1"},
                                                        {"layers.1.by_input", "0"},
                                                        {"layers.0.slope", "nan"}}) {
    EXPECT_NE(set(key, value), "") << key << " = " << value;
  }
  EXPECT_NE(refusal(path, state, [](Metadata& metadata) { metadata.erase("data"); }), "");
  EXPECT_NE(set("epoch", to_json_line(state.epoch, Task::classes).replace(9, 1, "null")), "")
      << "an epoch of null";
}

TEST(Checkpoint, IsRefusedWhereverABitHasFlipped) {
  const TestDirectory directory;
  const auto path = directory / "checkpoint.safetensors";
  const Dataset data = random_data(Kind::floats, 60, 8, 3, 3);
  write_checkpoint(path, some_state(data, false));
  const std::string good = file_content(path);
  for (std::size_t at = 0; at < good.size(); at += 97) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    put_file(path, bad);
    EXPECT_NE(error_of([&] { read_checkpoint(Source(path), {}); }), "") << "byte " << at;
  }
  put_file(path, good);
  EXPECT_EQ(error_of([&] { read_checkpoint(Source(path), {}); }), "");
}

TEST(Checkpoint, IsRefusedByATrainerThatCannotGoOnFromIt) {
  const Dataset data = random_data(Kind::floats, 60, 8, 3, 3);
  TrainState state = some_state(data, false);
  state.step = state.step_in_epoch = 9;
  EXPECT_NE(error_of([&] { const Training trainer(data, state); }).find("step 9 of an epoch of 4 steps"),
            std::string::npos);
  const Dataset sparse = random_data(Kind::sparse, 60, 8, 3, 3);
  EXPECT_NE(
      error_of([&] { const Training trainer(sparse, some_state(data, false)); }).find("begun on dense rows"),
      std::string::npos);
}

TEST(Checkpoint, RefusesWeightsThatAreNotFiniteAndArraysThatDoNotFit) {
  const TestDirectory directory;
  const auto path = directory / "checkpoint.safetensors";
  const Dataset data = random_data(Kind::floats, 60, 8, 3, 4);
  const TrainState sound = some_state(data, false);
  const auto complaint = [&](const std::function<void(TrainState&)>& change) {
    TrainState state = sound;
    change(state);
    write_checkpoint(path, state);
    return error_of([&] { read_checkpoint(Source(path), {}); });
  };
  EXPECT_EQ(complaint([](TrainState&) {}), "");
  EXPECT_NE(complaint([](TrainState& s) { s.layers[1].value[3] = NAN; }).find("layers.1.value[3]"),
            std::string::npos);
  EXPECT_NE(complaint([](TrainState& s) { s.layers[0].bias[0] = INFINITY; }), "");
  EXPECT_NE(complaint([](TrainState& s) { s.layers[0].value.pop_back(); }), "");
  EXPECT_NE(complaint([](TrainState& s) { s.layers[0].first.clear(); }), "");
  EXPECT_NE(complaint([](TrainState& s) { s.layers[0].bias_second.push_back(0); }), "");
  EXPECT_NE(complaint([](TrainState& s) { s.layers[2].pattern.column[0] = 99; }), "");
  EXPECT_NE(complaint([](TrainState& s) { s.layers[2].pattern.row_begin[1] = 9999; }), "");
  EXPECT_NE(complaint([](TrainState& s) { s.facts.scaling.mean.resize(3); }), "")
      << "a scale of 8, a mean of 3";
  EXPECT_NE(complaint([](TrainState& s) { s.facts.scaling.scale.push_back(1); }), "");
  EXPECT_NE(complaint([](TrainState& s) { s.best[1].weights.column[0] = 70; }), "");
  EXPECT_NE(complaint([](TrainState& s) { s.layers.pop_back(); }), "");
}

TEST(Checkpoint, IsReadOrRefusedWhateverByteOfItIsDamaged) {
  const TestDirectory directory;
  const auto path = directory / "checkpoint.safetensors";
  const Dataset data = random_data(Kind::sparse, 60, 8, 3, 5);
  write_checkpoint(path, some_state(data, false));
  const std::string sound = file_content(path);
  for (std::size_t length = 0; length < sound.size(); length += 97) {
    put_file(path, sound.substr(0, length));
    EXPECT_NE(error_of([&] { read_checkpoint(Source(path), {}); }), "") << length;
  }
  int refused = 0;
  Random random(6);
  for (int trial = 0; trial < 200; ++trial) {
    std::string damaged = sound;
    damaged[random.below(damaged.size())] ^= static_cast<char>(1 + random.below(255));
    put_file(path, damaged);
    try {
      TrainState state = read_checkpoint(Source(path), {});
      if (state.options.network.neurons != small_options(false).network.neurons) continue;
      Training trainer(data, std::move(state));  // if it is taken, it is sound
      trainer.step(std::span(trainer.train_rows()).first(16));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}

TEST(EpochReport, ComesBackFromItsLine) {
  expect_same(epoch_from_json(to_json_line(some_report(), Task::classes)), some_report());
  EXPECT_TRUE(std::isnan(epoch_from_json(to_json_line(some_report(), Task::classes)).validation_loss));
  const std::string line = to_json_line(some_report(), Task::classes);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find("\"validation_accuracy\":null"), std::string::npos);
  EXPECT_NE(line.find("\"nnz\":1234567890123"), std::string::npos);
  EXPECT_NE(error_of([] { epoch_from_json("not json"); }), "");
  EXPECT_NE(error_of([] { epoch_from_json("{\"epoch\":1}"); }).find("epochs"), std::string::npos);
  EXPECT_NE(error_of([&] {
              std::string text = line;
              epoch_from_json(text.replace(text.find("\"lr\":"), 8, "\"lr\":[]"));
            }),
            "");
}

TEST(Fingerprint, ChangesWithEverythingInTheData) {
  for (const Kind kind : kKinds) {
    const Dataset data = random_data(kind, 30, 8, 3, 7);
    const std::uint64_t sound = fingerprint(data);
    EXPECT_EQ(fingerprint(random_data(kind, 30, 8, 3, 7)), sound);
    const auto changed = [&](const std::function<void(Dataset&)>& change) {
      Dataset other = data;
      change(other);
      return fingerprint(other) != sound;
    };
    EXPECT_TRUE(changed([](Dataset& d) { ++d.classes; }));
    for (const bool test : {false, true}) {
      const auto part = [&](Dataset& d) -> DataRows& { return test ? d.test : d.train; };
      EXPECT_TRUE(changed([&](Dataset& d) { part(d).label.back() ^= 1; }));
      if (kind == Kind::floats) {
        EXPECT_TRUE(changed([&](Dataset& d) { part(d).floats[part(d).floats.size() - 1] += 1; }));
      }
      if (kind == Kind::bytes) {
        EXPECT_TRUE(changed([&](Dataset& d) { part(d).bytes[part(d).bytes.size() - 1] ^= 1; }));
      }
      if (kind == Kind::sparse) {
        EXPECT_TRUE(changed([&](Dataset& d) { part(d).value[part(d).value.size() - 1] += 1; }));
        EXPECT_TRUE(changed([&](Dataset& d) { part(d).column[part(d).column.size() - 1] ^= 1; }));
        EXPECT_TRUE(changed([&](Dataset& d) { --part(d).row_begin[5]; })) << "values of another row";
      }
    }
  }
}

TEST(NetworkOf, KeepsLayersScalingAndLoss) {
  const Dataset data = random_data(Kind::floats, 60, 8, 3, 8);
  const TrainState state = some_state(data, false);
  const Network last = network_of(state), best = network_of(state, Which::best);
  const std::vector<Layer> layers = copied_layers(last);
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[1].weights, to_csr(state.layers[1].transposed, state.layers[1].transposed_value));
  EXPECT_EQ(layers[1].activation.slope, -0.1f);
  EXPECT_EQ(last.facts().scaling, state.facts.scaling);
  EXPECT_EQ(last.facts().loss, Loss::cross_entropy);
  EXPECT_EQ(best.layer(0).bias[0], 0.25f);
}

}  // namespace
}  // namespace filigree::internal
