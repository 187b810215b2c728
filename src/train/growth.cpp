// SPDX-License-Identifier: Apache-2.0
#include "train/growth.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <unordered_set>

#include "base/parallel.h"
#include "filigree/sparse.h"
#include "kernels/descent.h"
#include "kernels/find_large.h"
#include "kernels/gemm.h"

namespace filigree::internal {

bool larger(const Candidate& a, const Candidate& b) {
  // The bits of a positive float are in the order of its value.
  const std::uint32_t left = std::bit_cast<std::uint32_t>(a.gradient) & 0x7fffffffu;
  const std::uint32_t right = std::bit_cast<std::uint32_t>(b.gradient) & 0x7fffffffu;
  if (left != right) return left > right;
  return a.row != b.row ? a.row < b.row : a.column < b.column;
}

namespace {

bool holds(const Pattern& pattern, std::uint32_t row, std::uint32_t column) {
  const auto columns = pattern.row_columns(row);
  return std::binary_search(columns.begin(), columns.end(), static_cast<std::uint16_t>(column));
}

// The k largest candidates so far, of one thread. What one thread knows to be too small is so for all.
class Largest {
 public:
  Largest(std::size_t k, std::atomic<float>& bound) : k_(k), bound_(bound) {}

  float bound() const { return bound_.load(std::memory_order_relaxed); }
  bool worth(float gradient) const { return gradient != 0 && std::fabs(gradient) >= bound(); }
  void add(const Candidate& candidate) {
    found_.push_back(candidate);
    if (found_.size() >= k_ + k_ / 4 + 64) keep_largest();  // early, so that there soon is a bound
  }
  void keep_largest() {
    if (found_.size() <= k_) return;
    const auto last = found_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
    std::nth_element(found_.begin(), last, found_.end(), larger);
    const float smallest = std::fabs(last->gradient);
    found_.resize(k_);
    float bound = bound_.load(std::memory_order_relaxed);
    while (bound < smallest && !bound_.compare_exchange_weak(bound, smallest, std::memory_order_relaxed)) {
    }
  }
  const std::vector<Candidate>& found() const { return found_; }

 private:
  std::size_t k_;
  std::atomic<float>& bound_;
  std::vector<Candidate> found_;
};

// Neurons by falling norm of their samples, those of norm zero left out, and their samples in that order.
struct Ranked {
  std::vector<std::uint32_t> neuron;
  std::vector<double> norm;
  Buffer<float> samples;

  Ranked(const Buffer<float>& values, std::size_t width, std::span<const std::uint32_t> which) {
    std::vector<std::pair<double, std::uint32_t>> ranked;
    for (const std::uint32_t n : which) {
      const double squares = sum_of_squares({values.data() + n * width, width});
      if (squares > 0) ranked.emplace_back(-std::sqrt(squares), n);
    }
    std::sort(ranked.begin(), ranked.end());
    samples = Buffer<float>(ranked.size() * width);
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      neuron.push_back(ranked[i].second);
      norm.push_back(-ranked[i].first);
      std::memcpy(samples.data() + i * width, values.data() + ranked[i].second * width,
                  width * sizeof(float));
    }
  }
};

// Of networks for small tables: oneDNN takes 30 ms to load, as long as all of their products without it.
bool is_small(const Ranked& y, const Ranked& x, std::size_t width) {
  constexpr std::size_t kMost = std::size_t{1} << 22;
  return y.neuron.size() * x.neuron.size() * width <= kMost;
}

// As multiply(), every row and column.
void multiply_small(const Ranked& y, const Ranked& x, std::size_t width, std::size_t row, std::size_t rows,
                    std::size_t column, std::size_t columns, float* gradient) {
  std::vector<Offset> begin(rows + 1);
  for (std::size_t r = 0; r <= rows; ++r) begin[r] = static_cast<Offset>(r * columns);
  std::vector<Index> all(rows * columns);
  for (std::size_t e = 0; e < all.size(); ++e) all[e] = static_cast<Index>(e % columns);
  sddmm({static_cast<Index>(rows), static_cast<Index>(columns), begin, all, {}},
        std::span(y.samples).subspan(row * width, rows * width),
        std::span(x.samples).subspan(column * width, columns * width), width, {gradient, rows * columns});
}

// Every step-th row of y from `row` on against every step-th of x from `column` on.
void multiply(const Ranked& y, const Ranked& x, std::size_t width, std::size_t step, std::size_t row,
              std::size_t rows, std::size_t column, std::size_t columns, float* gradient) {
  if (step == 1 && is_small(y, x, width)) {
    multiply_small(y, x, width, row, rows, column, columns, gradient);
    return;
  }
  const long stride = step * width;
  gemm(rows, columns, width, {y.samples.data() + row * width, stride, false},
       {x.samples.data() + column * width, stride, true}, 0, gradient, columns);
}

// A bound that about twice `count` gradients exceed, from a sample of them: without it, most of the time goes
// into candidates that are found before the bound has risen, and soon dropped.
float likely_bound(const Ranked& y, const Ranked& x, std::size_t width, std::size_t count) {
  if (is_small(y, x, width)) return 0;
  const double all = static_cast<double>(y.neuron.size()) * x.neuron.size();
  const std::size_t step = std::max(4.0, std::ceil(std::sqrt(all / (1 << 18))));
  const std::size_t rows = (y.neuron.size() + step - 1) / step, columns = (x.neuron.size() + step - 1) / step;
  const std::size_t rank = count / (step * step) * 2 + 16;
  if (rank >= rows * columns) return 0;
  std::vector<float> sample(rows * columns);
  multiply(y, x, width, step, 0, rows, 0, columns, sample.data());
  for (float& value : sample) value = -std::fabs(value);
  std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(rank), sample.end());
  return -sample[rank];
}

// Blocks of the dense gradient, computed, looked at and forgotten. Their shapes, and with them their bits,
// follow from the data and `least` alone.
class Blocks {
 public:
  static constexpr std::size_t kRows = 64, kColumns = 1024;

  Blocks(const Ranked& y, const Ranked& x, std::size_t width, const Pattern& taken, float least)
      : y_(y), x_(x), width_(width), taken_(taken), least_(least), gradient_(kRows * kColumns) {}

  // Rows of y from `row` on, largest norms first, against as many of x as can matter.
  void search(std::size_t row, Largest& largest) {
    const std::size_t rows = std::min(kRows, y_.neuron.size() - row);
    constexpr double kRounding = 1 + 1e-4;  // of a dot product against the product of norms
    const auto end = std::partition_point(x_.norm.begin(), x_.norm.end(), [&](double norm) {
      return y_.norm[row] * norm * kRounding >= least_;
    });
    const std::size_t all = end - x_.norm.begin();
    for (std::size_t column = 0; column < all; column += kColumns) {
      const std::size_t columns = std::min(kColumns, all - column);
      multiply(y_, x_, width_, 1, row, rows, column, columns, gradient_.data());
      places_.resize(rows * columns + kFindPadding);
      const std::size_t found =
          find_large({gradient_.data(), rows * columns}, largest.bound(), places_.data());
      for (std::size_t i = 0; i < found; ++i) {
        const float gradient = gradient_[places_[i]];
        const std::uint32_t at_row = y_.neuron[row + places_[i] / columns];
        const std::uint32_t at_column = x_.neuron[column + places_[i] % columns];
        if (largest.worth(gradient) && !holds(taken_, at_row, at_column))
          largest.add({gradient, at_row, at_column});
      }
    }
  }

 private:
  const Ranked& y_;
  const Ranked& x_;
  std::size_t width_;
  const Pattern& taken_;
  float least_;
  Buffer<float> gradient_;
  std::vector<std::uint32_t> places_;
};

// A value of a sparse row, sorted by feature.
struct Occurrence {
  Index feature;
  std::uint32_t sample;
  float value;
};

std::vector<Occurrence> occurrences(const Record& samples, const DataRows& data) {
  std::vector<Occurrence> all;
  const auto value_of = [&](Offset i) {
    const InputScaling* const scaling = samples.scaling;
    if (scaling == nullptr || scaling->none()) return data.value[i];
    return (data.value[i] - scaling->mean_of(data.column[i])) * scaling->scale_of(data.column[i]);
  };
  for (std::size_t b = 0; b < samples.rows.size(); ++b) {
    if (samples.rows[b] < 0) continue;
    const std::size_t row = samples.rows[b];
    for (Offset i = data.row_begin[row]; i < data.row_begin[row + 1]; ++i)
      all.push_back({data.column[i], static_cast<std::uint32_t>(b), value_of(i)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Occurrence& a, const Occurrence& b) { return a.feature < b.feature; });
  return all;
}

std::vector<std::uint32_t> everyone(Index neurons) {
  std::vector<std::uint32_t> all(neurons);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

}  // namespace

std::vector<Candidate> largest_gradients(const TrainLayer& layer, const Record::LayerRecord& record,
                                         const Record& samples, const DataRows& data, const Pattern& taken,
                                         std::size_t count, std::span<const std::uint32_t> outputs) {
  if (count == 0) return {};
  std::atomic<float> bound = 0;
  std::vector<Candidate> found;
  std::mutex merging;
  const std::vector<std::uint32_t> all =
      outputs.empty() ? everyone(layer.outputs) : std::vector<std::uint32_t>();
  const auto which = outputs.empty() ? std::span<const std::uint32_t>(all) : outputs;
  const std::size_t width = samples.width;
  // Each worker takes the next piece of work and keeps its own largest.
  const auto search = [&](std::size_t pieces, const auto& make_worker) {
    std::atomic<std::size_t> next = 0;
    parallel_workers([&](int) {
      Largest largest(count, bound);
      auto worker = make_worker();
      for (std::size_t i = next++; i < pieces; i = next++) worker(i, largest);
      largest.keep_largest();
      const std::lock_guard lock(merging);
      found.insert(found.end(), largest.found().begin(), largest.found().end());
    });
  };
  if (record.x.empty()) {  // sparse rows
    const std::vector<Occurrence> seen = occurrences(samples, data);
    std::vector<std::size_t> begin;  // of each feature that occurs
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (i == 0 || seen[i].feature != seen[i - 1].feature) begin.push_back(i);
    begin.push_back(seen.size());
    const auto search_feature = [&](std::size_t f, Largest& largest) {
      const std::uint32_t feature = seen[begin[f]].feature;
      for (const std::uint32_t o : which) {
        float sum = 0;
        for (std::size_t i = begin[f]; i < begin[f + 1]; ++i)
          sum += seen[i].value * record.delta[o * width + seen[i].sample];
        if (largest.worth(sum) && !holds(taken, feature, o)) largest.add({sum, feature, o});
      }
    };
    search(begin.size() - 1, [&] { return search_feature; });
  } else {
    Ranked y(record.delta, width, which);
    Ranked x(record.x, width, everyone(layer.inputs));
    if (layer.by_input) std::swap(x, y);  // y: the rows of the pattern
    const auto search_all = [&](float least) {
      bound = least;
      search((y.neuron.size() + Blocks::kRows - 1) / Blocks::kRows, [&] {
        return [blocks = Blocks(y, x, width, taken, least)](std::size_t i, Largest& largest) mutable {
          blocks.search(i * Blocks::kRows, largest);
        };
      });
    };
    const float least = likely_bound(y, x, width, count);
    search_all(least);
    if (found.size() < count && least > 0) {  // it was too high: once more without
      found.clear();
      search_all(0);
    }
  }
  keep_largest(found, count);
  return found;
}

void keep_largest(std::vector<Candidate>& found, std::size_t count) {
  if (count >= found.size()) return;
  std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(), larger);
  found.resize(count);
}

std::vector<double> RecordedGrowth::costs(std::size_t l) const {
  std::vector<double> cost(layers_[l].outputs, 0.0);
  const std::size_t width = record_.width;
  for (std::size_t o = 0; o < cost.size(); ++o)
    for (std::size_t b = 0; b < width; ++b) cost[o] += std::fabs(record_.layers[l].delta[o * width + b]);
  return cost;
}

std::vector<std::uint32_t> costliest_neurons(std::span<const double> costs, std::size_t k) {
  std::vector<std::pair<double, std::uint32_t>> cost;
  for (std::uint32_t o = 0; o < costs.size(); ++o) cost.emplace_back(-costs[o], o);
  k = std::min(k, cost.size());
  if (k == 0) return {};
  std::nth_element(cost.begin(), cost.begin() + static_cast<std::ptrdiff_t>(k) - 1, cost.end());
  std::vector<std::uint32_t> neurons;
  for (std::size_t i = 0; i < k; ++i) neurons.push_back(cost[i].second);
  std::sort(neurons.begin(), neurons.end());
  return neurons;
}

void choose_at_random(const Pattern& taken, std::size_t count, Random& random,
                      std::vector<Candidate>& chosen) {
  const std::uint64_t rows = taken.rows;
  const std::uint64_t cols = taken.cols;
  std::unordered_set<std::uint64_t> used;
  for (const Candidate& c : chosen) used.insert(c.row * cols + c.column);
  const std::uint64_t free = rows * cols - taken.nnz() - chosen.size();
  const std::size_t wanted = chosen.size() + (std::min<std::uint64_t>(count, free));
  if (2 * free < rows * cols || 2 * wanted > free) {  // crowded: list what is free, shuffle
    std::vector<std::uint64_t> places;
    for (std::uint32_t r = 0; r < rows; ++r)
      for (std::uint32_t c = 0; c < cols; ++c)
        if (!holds(taken, r, c) && !used.contains(r * cols + c)) places.push_back(r * cols + c);
    for (std::size_t i = 0; chosen.size() < wanted; ++i) {
      std::swap(places[i], places[i + random.below(places.size() - i)]);
      chosen.push_back(
          {0, static_cast<std::uint32_t>(places[i] / cols), static_cast<std::uint32_t>(places[i] % cols)});
    }
    return;
  }
  while (chosen.size() < wanted) {
    const std::uint64_t place = random.below(rows * cols);
    const auto row = static_cast<std::uint32_t>(place / cols);
    const auto column = static_cast<std::uint32_t>(place % cols);
    if (!holds(taken, row, column) && used.insert(place).second) chosen.push_back({0, row, column});
  }
}

}  // namespace filigree::internal
