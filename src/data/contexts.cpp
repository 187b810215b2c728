// SPDX-License-Identifier: Apache-2.0
// Rows whose meaning depends on their context: data on which a mixture of experts can show what it is for.
#include <algorithm>
#include <array>

#include "base/random.h"
#include "data/dataset_sources.h"
#include "data/watched_loop.h"

namespace filigree::internal {

namespace {

constexpr std::uint64_t kStream = 0x636f6e74657874;  // "context"
constexpr Index kContexts = 16, kMeasures = 24, kClasses = 4;
constexpr Index kDefaultRows = 40000;

// In each context the classes have directions of their own, and a row belongs to the one it points to most.
class Meanings {
 public:
  explicit Meanings(std::uint64_t seed) {
    Random random(seed, kStream);
    for (auto& direction : direction_)
      for (double& d : direction) d = random.normal();
  }
  Index of(Index context, std::span<const double> measure) const {
    std::array<double, kClasses> along = {};
    for (std::size_t c = 0; c < along.size(); ++c) {
      const auto& direction = direction_[(context * kClasses) + c];
      for (std::size_t i = 0; i < direction.size(); ++i) along[c] += direction[i] * measure[i];
    }
    return std::ranges::max_element(along) - along.begin();
  }

 private:
  std::array<std::array<double, kMeasures>, std::size_t{kContexts}* kClasses> direction_ = {};
};

DataRows draw(Index count, const Meanings& meanings, std::uint64_t seed, const Observer& observer) {
  constexpr std::size_t kBatch = 8192, kGrain = 256;
  constexpr double kNoise = 0.2;
  const std::size_t rows = count;
  constexpr std::size_t kFeatures = std::size_t{kContexts} + std::size_t{kMeasures};
  DataRows part;
  part.rows = count;
  part.features = kFeatures;
  part.label.resize(rows);
  part.floats = Buffer<float>(rows * kFeatures);
  watched_loop(observer, "drawing rows", rows, kBatch, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      Random random(seed, r);
      const Index context = random.below(kContexts);
      std::array<double, kMeasures> measure = {};
      for (double& m : measure) m = random.normal();
      float* const row = part.floats.data() + r * kFeatures;
      for (Index c = 0; c < kContexts; ++c) row[c] = (c == context ? 1 : 0) + kNoise * random.normal();
      std::ranges::transform(measure, row + kContexts, [](double m) { return static_cast<float>(m); });
      part.label[r] = meanings.of(context, measure);
    }
  });
  return part;
}

}  // namespace

Dataset load_contexts(Names train_rows, const LoadRequest& request) {
  const auto& [options, known, observer] = request;
  const Index rows = rows_named(train_rows, "contexts", kDefaultRows);
  check_memory("contexts", rows, (std::size_t{kContexts} + kMeasures) * sizeof(float) + sizeof(Index),
               options);
  Random seeds(options.seed, kStream);
  const Meanings meanings(seeds.next());
  const std::uint64_t train_seed = seeds.next(), test_seed = seeds.next();
  return {"rows in contexts", kClasses, draw(rows, meanings, train_seed, observer),
          draw(rows / 5, meanings, test_seed, observer)};
}

}  // namespace filigree::internal
