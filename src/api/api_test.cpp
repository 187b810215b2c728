// SPDX-License-Identifier: Apache-2.0
// Tests of the public API: networks, plans, and both challenge engines where they could disagree.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "base/random.h"
#include "filigree/filigree.h"
#include "infer/reference.h"
#include "io/test_files.h"
#include "network/challenge.h"
#include "network/model_file.h"
#include "network/test_networks.h"
#include "recipes/challenge_setup.h"
#include "sparse/test_inputs.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

// One input row with these values.
InputRows one_row_of(const std::vector<float>& values) {
  return full_rows(values.size(), values);
}

std::size_t live_rows(Engine engine, const Network& network, const InputRows& inputs, bool filter = true) {
  const PreparedEngine prepared = prepare_engine(engine, network, std::size_t{1} << 30, {});
  RunOptions options;
  options.merge_rows = true;
  options.filter = filter;
  return find_categories(prepared.plan, inputs, options, {}).run.live.size();
}

void expect_engines_agree(const Network& network, const InputRows& inputs, std::size_t live) {
  for (const bool filter : {true, false}) {
    EXPECT_EQ(live_rows(Engine::plain, network, inputs, filter), live);
    EXPECT_EQ(live_rows(Engine::compiled, network, inputs, filter), live);
  }
}

TEST(Engines, AgreeWhereAConstantNeuronKeepsARowFromSaturating) {
  // The second neuron of layer 1 reads nothing and is zero, so layer 2 sees (32, 0), not (32, 32).
  const Network network = in_memory(
      {{{2, 2, {0, 1, 1}, {0}, {100}}, {-0.3f, -0.3f}, {Activation::relu, 32}},
       {{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {0.001f, 2, 0.001f, 2}}, {-0.3f, -0.3f}, {Activation::relu, 32}}});
  expect_engines_agree(network, one_row_of({1, 0}), 0);
}

TEST(Engines, AgreeOnInputsBelowZero) {
  const Network network = in_memory({{{1, 3, {0, 3}, {0, 1, 2}, {1, 3, 1}}, {-2}, {Activation::relu, 32}}});
  const InputRows inputs = one_row_of({1e8f, 1, -1e8f});
  expect_engines_agree(network, inputs, live_rows(Engine::plain, network, inputs));
}

TEST(Engines, AgreeWhereManyInputsAreReadAlike) {
  // Plain adds a thousand small products to one large one and loses some of each; added up first they are not
  // lost.
  std::vector<float> values(1001, 1.004f);
  values[0] = 16945000;
  CsrMatrix w{1, 1001, {0, 1001}, std::vector<Index>(1001), std::vector<float>(1001, 0.995f)};
  std::iota(w.column.begin(), w.column.end(), 0);
  const Network network = in_memory({{w, {-(0.995f * 16945000 + 400)}, {Activation::relu, kNoCap}}});
  const InputRows inputs = one_row_of(values);
  expect_engines_agree(network, inputs, live_rows(Engine::plain, network, inputs));
}

TEST(Engines, AgreeWhereCapsDifferFromLayerToLayer) {
  const Network network = in_memory({{{1, 1, {0, 1}, {0}, {100}}, {-0.3f}, {Activation::relu, 1}},
                                     {{1, 1, {0, 1}, {0}, {2}}, {-2}, {Activation::relu, 32}}});
  expect_engines_agree(network, one_row_of({1}), 0);
}

TEST(Engines, AgreeOnNetworksThatAreNotMonotone) {
  // Three equal neurons whose readers' weights cancel: the order of summation decides.
  const Network network =
      in_memory({{{3, 1, {0, 1, 2, 3}, {0, 0, 0}, {1, 1, 1}}, {0, 0, 0}, {Activation::relu, kNoCap}},
                 {{1, 3, {0, 3}, {0, 1, 2}, {1e8f, 5, -1e8f}}, {-6}, {Activation::relu, kNoCap}}});
  const InputRows inputs = one_row_of({1});
  expect_engines_agree(network, inputs, live_rows(Engine::plain, network, inputs));
}

TEST(Engines, AgreeWhereALayerHasNoConnections) {
  const Network network = in_memory({{{2, 2, {0, 0, 0}, {}, {}}, {-1, -1}, {Activation::relu, 32}}});
  expect_engines_agree(network, one_row_of({1, 1}), 0);
  const Network always = in_memory({{{2, 2, {0, 0, 0}, {}, {}}, {-1, 1}, {Activation::relu, 32}}});
  expect_engines_agree(always, one_row_of({1, 1}), 1);
}

TEST(Engines, AgreeWhereAConstantIsZeroInFloatAlone) {
  // 0.1f + 0.3f is 0.4f once rounded, and more than 0.4f before.
  const Network network = in_memory({{{2, 1, {0, 0, 0}, {}, {}}, {0.1f, 0.3f}, {Activation::relu, 32}},
                                     {{1, 2, {0, 2}, {0, 1}, {1, 1}}, {-0.4f}, {Activation::relu, 32}}});
  expect_engines_agree(network, one_row_of({1}), 0);
}

TEST(Engines, AgreeOnRandomNetworksOfAllKinds) {
  EXPECT_TRUE(rc::check([] {
    std::vector<Layer> layers;
    Index width = *rc::gen::inRange<Index>(1, 10);
    const Index inputs_width = width;
    const bool monotone = *rc::gen::arbitrary<bool>();
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    for (int l = *rc::gen::inRange(1, 20); l > 0; --l) {
      const Index next = *rc::gen::inRange<Index>(1, 12);
      CsrMatrix w = random_csr(next, width, *rc::gen::element(0.2, 0.5, 1.0), random.next());
      for (float& v : w.value)
        v = static_cast<float>(random.below(4) + 1) / 4 * (monotone || random.below(3) > 0 ? 1.0f : -1.0f);
      std::vector<float> bias(next);
      for (float& b : bias)
        b = (monotone               ? -1.0f
             : random.below(4) == 0 ? 1.0f
                                    : -1.0f) *
            static_cast<float>(random.below(4) + 1) * 0.1f;
      layers.push_back(
          {std::move(w), std::move(bias), {Activation::relu, random.below(2) == 0 ? 4.0f : 32.0f}});
      width = next;
    }
    const Network network = in_memory(std::move(layers));
    std::vector<float> values(inputs_width);
    for (float& v : values) v = static_cast<float>(random.below(3));
    const InputRows inputs = one_row_of(values);
    const std::size_t plain = live_rows(Engine::plain, network, inputs);
    RC_ASSERT(live_rows(Engine::compiled, network, inputs) == plain);
    const std::vector<Index> row{0};
    const ReferenceVerdict verdict = reference_verdict(*network.parts().layers, inputs, row, {});
    if (monotone) RC_ASSERT(verdict.alive.size() <= plain && plain <= verdict.possibly_alive.size());
  }));
}

TEST(Plan, ComputesWhatTheNetworkSays) {
  const Network network =
      make_network({{2, 3, {0, 1, 3, 3}, {0, 0, 1}, {2, 1, 1}, {0, -1, 7}, {Activation::relu, 8}}});
  const Plan plan = compile(network);
  EXPECT_EQ(plan.inputs(), 2);
  EXPECT_EQ(plan.outputs(), 3);
  EXPECT_EQ(plan.run(std::vector<float>{1, 2, 10, 0}), (std::vector<float>{2, 2, 7, 8, 8, 7}));
  EXPECT_THROW((void)plan.run(std::vector<float>{1, 2, 3}), std::invalid_argument);
  EXPECT_THROW((void)plan.run(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()}), Error);
  EXPECT_TRUE(plan.run(std::vector<float>{}).empty());
}

TEST(Plan, KeepsWhatIsNotFinite) {
  const Plan plan = compile(make_network(
      {{1, 2, {0, 1, 2}, {0, 0}, {3e38f, 2e38f}, {0, 0}, Activation::relu},
       {2, 3, {0, 2, 4, 6}, {0, 1, 0, 1, 0, 1}, {1, 1, 1, -1, -1, -1}, {0, 0, 0}, Activation::relu}}));
  const auto outputs = plan.run(std::vector<float>{10});
  EXPECT_TRUE(std::isinf(outputs[0]));
  EXPECT_TRUE(std::isnan(outputs[1]));
  EXPECT_EQ(outputs[2], 0.0f);
}

// A model whose inputs are scaled, from a file.
Network scaled_network(const std::filesystem::path& path, std::vector<float> mean, std::vector<float> scale) {
  // Two inputs are read alike, one is not read.
  save(make_network({{4, 2, {0, 3, 4}, {0, 1, 3, 3}, {2, 2, 1, 5}, {0.5f, 0}, ActivationFunction::leaky(-1)}},
                    {.scaling = {std::move(mean), std::move(scale)}, .loss = Loss::mse}),
       path);
  return load(path);
}

TEST(Plan, ScalesRawInputsBeforeAnythingElseCompiledOrNot) {
  const TestDirectory dir;
  const Network network = scaled_network(dir / "m.safetensors", {1, 2, 3, 4}, {0.5f});
  EXPECT_FALSE(network.facts().scaling.none());
  EXPECT_EQ(network.facts().loss, Loss::mse);
  save(compile_network(network).network, dir / "c.safetensors");
  const Network compiled = load(dir / "c.safetensors");
  EXPECT_TRUE(compiled.compiled());
  EXPECT_EQ(compiled.facts(), network.facts());
  const std::vector<std::uint8_t> bytes{3, 6, 99, 10, 0, 0, 0, 0};
  const std::vector<float> floats(bytes.begin(), bytes.end());
  // 2·(1 + 2) + 3 + 0.5, 5·3; below zero the sign changes: 2·(-0.5 - 1) - 2 + 0.5, 5·-2.
  const std::vector<float> expected{9.5f, 15, 4.5f, 10};
  for (const Network* form : {&network, &compiled}) {
    const Plan plan = compile(*form);
    EXPECT_EQ(plan.inputs(), 4);
    EXPECT_EQ(plan.run(floats), expected);
    EXPECT_EQ(plan.run(bytes), expected);
  }
}

TEST(Plan, FindsEachInputInItsPlaceWhetherFewOrManyAreUnread) {
  for (const Index last : {6, 50}) {  // the inputs between are read by nobody
    const Plan plan = compile(make_network(
        {{last + 1, 1, {0, 6}, {0, 1, 3, 4, 5, last}, {1, 2, 3, 4, 5, 6}, {0.5f}, Activation::identity}}));
    std::vector<float> inputs(static_cast<std::size_t>(last) + 1, 1000.0f);
    const std::vector<Index> read{0, 1, 3, 4, 5, last};
    for (std::size_t i = 0; i < read.size(); ++i) inputs[read[i]] = i + 1;
    EXPECT_EQ(plan.run(inputs), std::vector<float>{91.5f}) << last;
  }
}

TEST(Plan, GivesTheSameWhetherRowsMayDieOrNot) {
  // Deep, keeps zeros, and the inputs are mostly zeros: the executor runs it. Scaling by 1 keeps the other
  // network from it.
  std::vector<LayerArrays> layers;
  Random random(4);
  for (int l = 0; l < 20; ++l) {
    const CsrMatrix w = random_csr(24, 24, 0.4, random.next());
    LayerArrays layer{24, 24, w.row_begin, w.column, w.value, std::vector<float>(24, -0.01f)};
    for (float& v : layer.value) v *= 0.45f;
    layers.push_back(std::move(layer));
  }
  const Network network = make_network(layers);
  const Plan dying = compile(network);
  const Plan staying = compile(make_network(layers, {.scaling = {{}, {1}}}));
  std::vector<float> inputs(300 * 24, 0.0f);
  for (float& v : inputs)
    if (random.below(6) == 0) v = random.uniform(0, 2);
  const auto expected = staying.run(inputs);
  EXPECT_GT(std::ranges::count_if(expected, [](float v) { return v > 0; }), 100);
  EXPECT_EQ(dying.run(inputs), expected);
}

TEST(Network, RefusesWhatCannotBeRun) {
  EXPECT_THROW((void)make_network({}), Error);
  EXPECT_THROW((void)make_network({{0, 1, {0, 0}, {}, {}, {1}}}), Error);
  EXPECT_THROW((void)make_network({{2, 1, {0, 1}, {5}, {1}, {1}}}), Error);
  EXPECT_THROW((void)radix_net(1000, 2, 1), std::invalid_argument);
  EXPECT_THROW((void)load("/nowhere/model.safetensors"), Error);
  EXPECT_THROW((void)load("/tmp", -1), std::invalid_argument);
}

TEST(Compile, OfACompiledNetworkChangesNothing) {
  const CompileResult once = compile_network(radix_net(64, 6, 1));
  const CompileResult twice = compile_network(once.network);
  EXPECT_EQ(once.connections_after, twice.connections_after);
  EXPECT_EQ(twice.network.inputs(), 64);
  EXPECT_EQ(twice.network.outputs(), 64);
  std::vector<float> inputs(64);
  for (std::size_t i = 0; i < 64; ++i) inputs[i] = static_cast<float>(i % 5) / 2;
  EXPECT_EQ(compile(radix_net(64, 6, 1)).run(inputs), compile(twice.network).run(inputs));
}

TEST(Challenge, IsRightOnBothEnginesAndSaysSo) {
  ChallengeOptions options;
  options.source.neurons = 256;
  options.source.layers = 20;
  options.source.inputs = 1500;
  options.check = Check::full;
  options.repeat = 2;
  options.engine = Engine::plain;
  const ChallengeResult plain = run_challenge(options);
  options.engine = Engine::compiled;
  const ChallengeResult compiled = run_challenge(options);
  EXPECT_EQ(plain.categories, compiled.categories);
  for (const ChallengeResult& result : {plain, compiled}) {
    EXPECT_EQ(result.verified, Verified::reference);
    EXPECT_EQ(result.checked_rows, 1500);
    EXPECT_TRUE(result.mismatches.empty());
    EXPECT_EQ(result.seconds_all.size(), 2u);
    EXPECT_EQ(result.connections, 256 * 32 * 20);
    EXPECT_EQ(result.live_rows.size(), 20u);
    EXPECT_EQ(result.live_rows.back(), static_cast<Offset>(result.categories.size()));
  }
  EXPECT_LT(compiled.compiled_connections, plain.compiled_connections / 4);
}

TEST(Verification, FindsEveryWrongRow) {
  ChallengeInputs source;
  source.neurons = 256;
  source.layers = 20;
  source.inputs = 600;
  const ChallengeData data = load_challenge(source, true, {});
  ChallengeOptions options;
  options.source = source;
  std::vector<Index> wrong = run_challenge(options).categories;
  Index extra = 0;
  while (std::ranges::binary_search(wrong, extra)) ++extra;
  const Index lost = wrong.back();
  wrong.pop_back();
  wrong.insert(std::ranges::lower_bound(wrong, extra), extra);
  const Verification found = verify_categories(data, wrong, 256 * 32 * 20, Check::full, {});
  EXPECT_EQ(found.mismatches, (std::vector<Index>{std::min(extra, lost), std::max(extra, lost)}));
}

// A network of 40 inputs and 23 outputs, and rows for it of which some inputs are zero.
struct Rowwise {
  static constexpr Index kInputs = 40, kOutputs = 23;
  static constexpr std::size_t kRows = 77;
  Plan plan = compile(make_network({layer(kInputs, 30, 1), layer(30, kOutputs, 2)}));
  std::vector<float> values = std::vector<float>(kRows * kInputs);
  std::vector<float> expected;

  Rowwise() {
    Random random(4);
    for (float& v : values) v = random.below(3) == 0 ? 0.0f : static_cast<float>(random.uniform(-1, 1));
    expected = plan.run(std::span<const float>(values));
  }
  static LayerArrays layer(Index inputs, Index outputs, std::uint64_t seed) {
    CsrMatrix w = random_csr(outputs, inputs, 0.4, seed);
    return {inputs,          outputs, w.row_begin, w.column, w.value, std::vector<float>(outputs, 0.25f),
            Activation::tanh};
  }
};

TEST(Plan, ReadsAndWritesRowsWithGaps) {
  const Rowwise given;
  const std::size_t in = Rowwise::kInputs, out = Rowwise::kOutputs;
  for (const std::size_t gap : {0u, 1u, 7u}) {
    std::vector<float> inputs(Rowwise::kRows * (in + gap), std::numeric_limits<float>::quiet_NaN());
    for (std::size_t r = 0; r < Rowwise::kRows; ++r)
      std::copy_n(given.values.data() + r * in, in, inputs.data() + r * (in + gap));
    for (const std::size_t rows : {std::size_t{1}, std::size_t{31}, Rowwise::kRows}) {
      std::vector<float> outputs(rows * (out + gap), -7);
      // The last row may end where its columns do.
      const std::span<const float> whole(inputs.data(), (rows - 1) * (in + gap) + in);
      given.plan.run(Rows(whole, Rowwise::kInputs, in + gap), {outputs, out + gap});
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t o = 0; o < out + gap; ++o)
          ASSERT_EQ(outputs[r * (out + gap) + o], o < out ? given.expected[r * out + o] : -7.0f)
              << rows << " rows, gap " << gap << ", output " << o << " of row " << r;
    }
  }
}

TEST(Plan, TakesSparseRows) {
  const Rowwise given;
  std::vector<Offset> begin{0};
  std::vector<Index> column;
  std::vector<float> value;
  for (std::size_t r = 0; r < Rowwise::kRows; ++r) {
    for (Index c = 0; c < Rowwise::kInputs; ++c)
      if (const float v = given.values[r * std::size_t{Rowwise::kInputs} + c]; v != 0) {
        column.push_back(c);
        value.push_back(v);
      }
    begin.push_back(column.size());
  }
  const Rows rows(begin, column, value, Rowwise::kInputs);
  EXPECT_EQ(rows.rows(), Rowwise::kRows);
  EXPECT_EQ(given.plan.run(rows), given.expected);
  value[5] = std::numeric_limits<float>::infinity();
  EXPECT_THROW((void)given.plan.run(rows), Error);
  EXPECT_THROW(Rows(begin, column, value, Rowwise::kInputs - 1), std::invalid_argument);
  EXPECT_THROW(Rows(begin, std::span(column).first(3), value, Rowwise::kInputs), std::invalid_argument);
  std::vector<Offset> backwards = begin;
  std::swap(backwards[3], backwards[5]);
  EXPECT_THROW(Rows(backwards, column, value, Rowwise::kInputs), std::invalid_argument);
}

// Scaling comes before everything else, also of what a sparse row does not have or has several times.
TEST(Plan, ScalesSparseRowsAsDenseOnes) {
  const TestDirectory dir;
  const Plan plan = compile(scaled_network(dir / "m.safetensors", {1, 2, 3, 4}, {0.5f}));
  const std::vector<float> dense{3, 0, 0, 10, 0, 6, 0, 0};
  const std::vector<Offset> begin{0, 3, 4};
  const std::vector<Index> column{0, 3, 0, 1};
  const std::vector<float> value{1, 10, 2, 6};
  const Rows rows(begin, column, value, 4);
  EXPECT_EQ(plan.run(rows), plan.run(dense));
  for (int call = 0; call < 20; ++call) EXPECT_EQ(plan.run(rows), plan.run(dense));  // row by row, too
}

// Deep networks take rows that are mostly zeros another way.
TEST(Plan, ReadsSparseRowsWithGapsInDeepNetworks) {
  const Plan plan = compile(radix_net(64, 20, 1));
  constexpr std::size_t kRows = 40, kIn = 64, kGap = 5;
  std::vector<float> whole(kRows * kIn, 0.0f),
      gaps(kRows * (kIn + kGap), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t r = 0; r < kRows; ++r) {
    whole[r * kIn + r % kIn] = 1;
    std::copy_n(whole.data() + r * kIn, kIn, gaps.data() + r * (kIn + kGap));
  }
  const std::vector<float> expected = plan.run(whole);
  std::vector<float> found(kRows * (kIn + 1), -7);
  plan.run(Rows(std::span<const float>(gaps), kIn, kIn + kGap), {found, kIn + 1});
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t o = 0; o <= kIn; ++o)
      ASSERT_EQ(found[r * (kIn + 1) + o], o < kIn ? expected[r * kIn + o] : -7.0f) << r << ", " << o;
}

TEST(Plan, RefusesRowsAndRoomThatDoNotFit) {
  const Rowwise given;
  std::vector<float> outputs(Rowwise::kRows * std::size_t{Rowwise::kOutputs});
  EXPECT_THROW(given.plan.run(Rows(std::span<const float>(given.values), 20), outputs),
               std::invalid_argument);
  const Rows rows(std::span<const float>(given.values), Rowwise::kInputs);
  EXPECT_THROW(given.plan.run(rows, std::span<float>(outputs).first(10)), std::invalid_argument);
  EXPECT_THROW(given.plan.run(rows, {outputs, 5}), std::invalid_argument);
  EXPECT_THROW(given.plan.run(rows, {outputs, ~std::size_t{0} / 2 + 1}), std::invalid_argument);
  EXPECT_THROW(Rows(std::span<const float>(given.values), Rowwise::kInputs, 7), std::invalid_argument);
  EXPECT_THROW(Rows(std::span<const float>(given.values).first(50), Rowwise::kInputs), std::invalid_argument);
}

TEST(Plan, RunsOnManyThreadsAtOnce) {
  const Rowwise given;
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (int u = 0; u < 4; ++u)
    users.emplace_back([&, u] {
      const std::size_t in = Rowwise::kInputs, out = Rowwise::kOutputs;
      std::vector<float> outputs(Rowwise::kRows * out);
      for (int round = 0; round < 30; ++round) {
        const std::size_t rows = 1 + (u * 31 + round * 7) % 77;  // by row and in panels
        given.plan.run(Rows(std::span<const float>(given.values).first(rows * in), Rowwise::kInputs),
                       outputs);
        if (!std::equal(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(rows * out),
                        given.expected.begin()))
          ++wrong;
      }
    });
  for (std::thread& user : users) user.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace filigree::internal
