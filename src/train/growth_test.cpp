// SPDX-License-Identifier: Apache-2.0
// Tests of growth: the largest gradients against all of them in double, and places at random.
#include "train/growth.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "base/random.h"
#include "base/test_threads.h"
#include "sparse/test_matrices.h"
#include "train/test_training.h"

namespace filigree::internal {
namespace {

enum class Place { dense_rows, sparse_rows, above };
constexpr Place kPlaces[] = {Place::dense_rows, Place::sparse_rows, Place::above};

// A layer, samples, and places that are taken.
struct Recorded {
  std::vector<TrainLayer> layers;
  DataRows data;
  Record record;
  Pattern taken;

  // A first layer of dense or of sparse rows, or one above another.
  static std::vector<TrainLayer> layers_for(Index inputs, Index outputs, Place place) {
    std::vector<TrainLayer> made(place == Place::above ? 2 : 1);
    made.front().inputs = 1;
    made.front().outputs = inputs;
    made.back().inputs = inputs;
    made.back().outputs = outputs;
    made.back().by_input = place != Place::dense_rows;
    return made;
  }
  Recorded(Index inputs, Index outputs, Place place, std::size_t samples, double density, std::uint64_t seed)
      : layers(layers_for(inputs, outputs, place)),
        data(random_rows(Kind::sparse, 60, inputs, 2, seed)),
        record(random_record(layers, samples, 60, seed)),
        taken(to_pattern((layer().by_input ? random_csr(inputs, outputs, density, seed)
                                           : random_csr(outputs, inputs, density, seed))
                             .view())) {
    // Neurons that were silent in every sample.
    const auto silence = [&](Buffer<float>& values, std::size_t neuron) {
      if ((neuron + 1) * record.width > values.size()) return;
      std::fill_n(values.data() + neuron * record.width, record.width, 0.0f);
    };
    silence(kept().x, 0);
    silence(kept().x, static_cast<std::size_t>(inputs) / 2);
    silence(kept().delta, static_cast<std::size_t>(outputs) - 1);
  }
  const TrainLayer& layer() const { return layers.back(); }
  Record::LayerRecord& kept() { return record.layers.back(); }
  const Record::LayerRecord& kept() const { return record.layers.back(); }
  std::vector<Candidate> largest(std::size_t count, std::span<const std::uint32_t> outputs = {}) const {
    auto found = largest_gradients(layer(), kept(), record, data, taken, count, outputs);
    std::sort(found.begin(), found.end(), larger);
    return found;
  }
  bool holds(std::uint32_t row, std::uint32_t column) const {
    const auto columns = taken.row_columns(row);
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  }
  GradientAt truth(std::uint32_t row, std::uint32_t column) const {
    return gradient_at(layers.size() - 1, record, data, layer().by_input ? column : row,
                       layer().by_input ? row : column);
  }
};

// Are these the `count` largest of all gradients at free places, up to what rounding can exchange?
testing::AssertionResult are_largest(const Recorded& setup, const std::vector<Candidate>& found,
                                     std::size_t count, std::span<const std::uint32_t> outputs) {
  const auto fail = [] { return testing::AssertionFailure(); };
  std::set<std::pair<std::uint32_t, std::uint32_t>> chosen;
  double smallest = 1e300, rounding = 0;
  for (const Candidate& c : found) {
    if (!chosen.emplace(c.row, c.column).second) return fail() << "a place twice";
    if (setup.holds(c.row, c.column)) return fail() << "a place that is taken";
    const std::uint32_t output = setup.layer().by_input ? c.column : c.row;
    if (!outputs.empty() && std::find(outputs.begin(), outputs.end(), output) == outputs.end())
      return fail() << "output " << output << " was not asked for";
    const GradientAt truth = setup.truth(c.row, c.column);
    const double error = setup.record.width * 1.2e-7 * truth.magnitude;
    if (std::fabs(c.gradient - truth.sum) > error) return fail() << c.gradient << " instead of " << truth.sum;
    if (c.gradient == 0) return fail() << "a gradient of zero";
    smallest = std::min(smallest, std::fabs(truth.sum));
    rounding = std::max(rounding, error);
  }
  std::size_t available = 0;
  for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(setup.taken.rows); ++r) {
    for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(setup.taken.cols); ++c) {
      const std::uint32_t output = setup.layer().by_input ? c : r;
      if (setup.holds(r, c)) continue;
      if (!outputs.empty() && std::find(outputs.begin(), outputs.end(), output) == outputs.end()) continue;
      const GradientAt truth = setup.truth(r, c);
      if (truth.magnitude == 0) continue;
      ++available;
      if (chosen.contains({r, c}) || found.size() < count) continue;
      const double error = setup.record.width * 1.2e-7 * truth.magnitude;
      if (std::fabs(truth.sum) > smallest + rounding + error)
        return fail() << "left out " << truth.sum << " for " << smallest;
    }
  }
  if (found.size() != std::min(count, available))
    return fail() << found.size() << " of " << count << ", " << available << " available";
  return testing::AssertionSuccess();
}

TEST(LargestGradients, AreTheLargestOfAllForAnyLayer) {
  EXPECT_TRUE(rc::check([] {
    const auto inputs = *rc::gen::inRange<Index>(1, 25);
    const auto outputs = *rc::gen::inRange<Index>(1, 25);
    const Place place = *rc::gen::elementOf(std::vector<Place>(std::begin(kPlaces), std::end(kPlaces)));
    const auto samples = *rc::gen::inRange<std::size_t>(1, 70);
    const double density = *rc::gen::element(0.0, 0.2, 0.7, 1.0);
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const Recorded setup(inputs, outputs, place, samples, density, seed);
    const auto count = *rc::gen::inRange<std::size_t>(0, 700);
    RC_ASSERT(static_cast<bool>(are_largest(setup, setup.largest(count), count, {})));
    std::vector<std::uint32_t> some;
    for (std::uint32_t o = 0; o < static_cast<std::uint32_t>(outputs); o += 3) some.push_back(o);
    RC_ASSERT(static_cast<bool>(are_largest(setup, setup.largest(count / 4, some), count / 4, some)));
  }));
}

TEST(LargestGradients, LeaveNothingOutWhenNormsDifferByFar) {
  // Large norms come first and small ones are skipped: an aligned pair of small norm may still win.
  for (const Place place : kPlaces) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      Recorded setup(100, 80, place, 40, 0.1, seed);
      Random random(seed);
      const auto stretch = [&](Buffer<float>& values) {
        for (std::size_t n = 0; n < values.size() / setup.record.width; ++n) {
          const double factor = std::exp(3 * random.normal());
          for (std::size_t b = 0; b < setup.record.width; ++b)
            values[n * setup.record.width + b] *= static_cast<float>(factor);
        }
      };
      stretch(setup.kept().x);
      stretch(setup.kept().delta);
      for (const std::size_t count : {1, 10, 300, 2500})
        EXPECT_TRUE(are_largest(setup, setup.largest(count), count, {})) << count;
    }
  }
}

TEST(LargestGradients, FindEnoughWhereMostLargeOnesAreTaken) {
  for (const double density : {0.3, 0.7, 0.95}) {
    const Recorded setup(150, 120, Place::dense_rows, 40, density, 6);
    for (const std::size_t count : {100, 1000, 5000})
      EXPECT_TRUE(are_largest(setup, setup.largest(count), count, {})) << density << " " << count;
  }
}

TEST(LargestGradients, FindAnAlignedPairBehindManyOfLargerNorm) {
  // Inputs of norm 10 at random against 64 samples: a few times 10 / 8 of the other's norm. Ten of norm 5
  // that equal an output's samples but for their length give 5 times that norm, as much as the bound allows.
  Recorded setup(300, 40, Place::dense_rows, 64, 0, 5);
  const std::size_t width = setup.record.width;
  Buffer<float>& x = setup.kept().x;
  const Buffer<float>& delta = setup.kept().delta;
  for (std::size_t n = 0; n < 300; ++n) {
    const bool aligned = n >= 200 && n < 210;
    double squares = 0;
    for (std::size_t b = 0; b < width; ++b) {
      if (aligned) x[n * width + b] = delta[(n - 200) * width + b];
      squares += double{x[n * width + b]} * x[n * width + b];
    }
    for (std::size_t b = 0; b < width && squares > 0; ++b)
      x[n * width + b] *= static_cast<float>((aligned ? 5 : 10) / std::sqrt(squares));
  }
  for (const std::size_t count : {1, 2, 10}) {
    const auto found = setup.largest(count);
    EXPECT_TRUE(are_largest(setup, found, count, {})) << count;
    EXPECT_EQ(found.front().column, 200 + found.front().row);
  }
}

TEST(LargestGradients, TakeEqualOnesInTheOrderOfTheirPlaces) {
  Recorded setup(20, 30, Place::dense_rows, 32, 0, 1);
  std::fill(setup.kept().x.begin(), setup.kept().x.end(), 1.0f);
  std::fill(setup.kept().delta.begin(), setup.kept().delta.end(), -0.5f);
  const auto found = setup.largest(33);
  ASSERT_EQ(found.size(), 33u);
  for (std::uint32_t i = 0; i < 33; ++i) {
    EXPECT_EQ(found[i].gradient, -16.0f);
    EXPECT_EQ(found[i].row, i / 20);
    EXPECT_EQ(found[i].column, i % 20);
  }
}

TEST(LargestGradients, AreTheSameForAnyNumberOfThreads) {
  const ThreadsRestored restored;
  for (const Place place : kPlaces) {
    const Recorded setup(600, 300, place, 64, 0.05, 2);
    const auto run = [&](int threads) {
      set_threads(threads);
      return setup.largest(2000);
    };
    const auto expected = run(1);
    ASSERT_EQ(expected.size(), 2000u);
    for (const int threads : {2, 4}) {
      const auto found = run(threads);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].gradient, expected[i].gradient);
        EXPECT_EQ(found[i].row, expected[i].row);
        EXPECT_EQ(found[i].column, expected[i].column);
      }
    }
  }
}

TEST(LargestGradients, IgnoreSamplesThatAreNotThere) {
  Recorded setup(10, 10, Place::sparse_rows, 5, 0, 3);
  for (std::size_t b = 0; b < setup.record.width; ++b)
    if (b >= 5) {
      EXPECT_EQ(setup.record.rows[b], -1);
    }
  EXPECT_TRUE(are_largest(setup, setup.largest(1000), 1000, {}));
}

TEST(CostliestNeurons, AreThoseWithTheLargestSumsOfMagnitudes) {
  const Recorded setup(5, 40, Place::dense_rows, 20, 0, 4);
  std::vector<std::pair<double, std::uint32_t>> cost;
  for (std::uint32_t o = 0; o < 40; ++o) {
    double sum = 0;
    for (std::size_t b = 0; b < setup.record.width; ++b)
      sum += std::fabs(setup.kept().delta[o * setup.record.width + b]);
    cost.emplace_back(-sum, o);
  }
  std::sort(cost.begin(), cost.end());
  for (const std::size_t k : {0, 1, 7, 39, 40, 99}) {
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 0; i < std::min<std::size_t>(k, 40); ++i) expected.push_back(cost[i].second);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(costliest_neurons(RecordedGrowth(setup.layers, setup.record, setup.data).costs(0), k),
              expected);
  }
}

TEST(ChooseAtRandom, TakesDistinctFreePlacesAndAllOfThemWhenAskedForMore) {
  EXPECT_TRUE(rc::check([] {
    const Pattern taken = to_pattern((*any_csr()).view());
    const auto count = *rc::gen::inRange<std::size_t>(0, 500);
    const auto places = static_cast<std::size_t>(taken.rows) * static_cast<std::size_t>(taken.cols);
    const auto holds = [&](std::uint32_t row, std::uint32_t column) {
      const auto columns = taken.row_columns(row);
      return std::find(columns.begin(), columns.end(), column) != columns.end();
    };
    // Some are chosen before.
    std::vector<Candidate> chosen;
    for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(taken.rows); r += 3)
      for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(taken.cols); c += 4)
        if (!holds(r, c)) chosen.push_back({1, r, c});
    const std::size_t before = chosen.size();
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    choose_at_random(taken, count, random, chosen);
    RC_ASSERT(chosen.size() == before + std::min(count, places - taken.nnz() - before));
    std::set<std::pair<std::uint32_t, std::uint32_t>> distinct;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const Candidate& c = chosen[i];
      RC_ASSERT(c.row < static_cast<std::uint32_t>(taken.rows));
      RC_ASSERT(c.column < static_cast<std::uint32_t>(taken.cols));
      RC_ASSERT(!holds(c.row, c.column));
      RC_ASSERT(distinct.emplace(c.row, c.column).second);
      RC_ASSERT(c.gradient == (i < before ? 1.0f : 0.0f));
    }
  }));
}

TEST(ChooseAtRandom, PrefersNoPlace) {
  // 20 of 100 places, a quarter of which is taken: each free one with probability 20 / 75, in 3000 draws; and
  // 2 of 100, the way for sparse layers.
  const Pattern taken = to_pattern(CsrMatrix{1,
                                             100,
                                             {0, 25},
                                             [] {
                                               std::vector<Index> columns;
                                               for (Index c = 0; c < 25; ++c) columns.push_back(4 * c);
                                               return columns;
                                             }(),
                                             std::vector<float>(25)}
                                       .view());
  for (const std::size_t count : {20, 2, 60}) {
    std::vector<int> times(100, 0);
    Random random(5);
    constexpr int kDraws = 3000;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<Candidate> chosen;
      choose_at_random(taken, count, random, chosen);
      for (const Candidate& c : chosen) ++times[c.column];
    }
    const double p = static_cast<double>(count) / 75;
    for (std::size_t c = 0; c < 100; ++c) {
      const double expected = c % 4 == 0 ? 0 : kDraws * p;
      EXPECT_NEAR(times[c], expected, 5 * std::sqrt(expected * (1 - p)) + 1e-9) << c;
    }
  }
}

}  // namespace
}  // namespace filigree::internal
