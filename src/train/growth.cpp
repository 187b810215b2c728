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
#include "kernels/descent.h"
#include "kernels/panel_pass.h"

namespace filigree {

bool larger(const Candidate& a, const Candidate& b) {
  // The bits of a positive float are in the order of its value.
  const std::uint32_t left = std::bit_cast<std::uint32_t>(a.gradient) & 0x7fffffffu;
  const std::uint32_t right = std::bit_cast<std::uint32_t>(b.gradient) & 0x7fffffffu;
  if (left != right) return left > right;
  return a.row != b.row ? a.row < b.row : a.column < b.column;
}

namespace {

bool holds(const Pattern& pattern, std::uint32_t row, std::uint32_t column) {
  const auto columns = pattern.row_columns(static_cast<Index>(row));
  return std::binary_search(columns.begin(), columns.end(), static_cast<std::uint16_t>(column));
}

// The k largest candidates so far, of one thread. What one thread knows to be too small is so for all.
class Largest {
 public:
  Largest(std::size_t k, std::atomic<float>& bound) : k_(k), bound_(bound) {}

  bool worth(float gradient) const {
    return gradient != 0 && std::fabs(gradient) >= bound_.load(std::memory_order_relaxed);
  }
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
  Buffer<float> samples;  // four vectors more than neurons, zero

  Ranked(const Buffer<float>& values, std::size_t width, std::span<const std::uint32_t> which) {
    std::vector<std::pair<double, std::uint32_t>> ranked;
    for (const std::uint32_t n : which) {
      const double squares = sum_of_squares({values.data() + n * width, width});
      if (squares > 0) ranked.emplace_back(-std::sqrt(squares), n);
    }
    std::sort(ranked.begin(), ranked.end());
    samples = Buffer<float>((ranked.size() + 4) * width);
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      neuron.push_back(ranked[i].second);
      norm.push_back(-ranked[i].first);
      std::memcpy(samples.data() + i * width, values.data() + ranked[i].second * width,
                  width * sizeof(float));
    }
    std::memset(samples.data() + ranked.size() * width, 0, 4 * width * sizeof(float));
  }
};

// Rows of y, four at a time and largest norms first, against as many of x as can matter.
void search_rows(const Ranked& y, const Ranked& x, std::size_t width, const Pattern& taken, std::size_t i,
                 const std::atomic<float>& bound, Largest& largest) {
  constexpr double kRounding = 1 + 1e-4;  // of a dot product against the product of norms
  float dot[16];
  for (std::size_t j = 0; j < x.neuron.size(); j += 4) {
    if (y.norm[i] * x.norm[j] * kRounding < bound.load(std::memory_order_relaxed)) break;
    // Most blocks hold nothing of worth: one comparison for all sixteen.
    if (!largest.worth(dots_4x4(y.samples.data() + i * width, x.samples.data() + j * width, width, dot)))
      continue;
    for (std::size_t d = 0; d < 16; ++d) {
      if (!largest.worth(dot[d])) continue;
      const std::size_t row = i + d / 4, column = j + d % 4;
      if (row >= y.neuron.size() || column >= x.neuron.size()) continue;
      if (!holds(taken, y.neuron[row], x.neuron[column]))
        largest.add({dot[d], y.neuron[row], x.neuron[column]});
    }
  }
}

// A bound that about twice `count` gradients exceed, from every 16th block: without it, most
// of the time goes into candidates that are found before the bound has risen, and soon dropped.
float likely_bound(const Ranked& y, const Ranked& x, std::size_t width, std::size_t count) {
  constexpr std::size_t kEvery = 16;
  std::vector<float> sample;
  float dot[16];
  for (std::size_t i = 0; i < y.neuron.size(); i += 4) {
    for (std::size_t j = (kEvery - i / 4 % kEvery) % kEvery * 4; j < x.neuron.size(); j += 4 * kEvery) {
      dots_4x4(y.samples.data() + i * width, x.samples.data() + j * width, width, dot);
      for (const float value : dot) sample.push_back(-std::fabs(value));
    }
  }
  const std::size_t rank = count / kEvery * 2 + 16;
  if (rank >= sample.size()) return 0;
  std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(rank), sample.end());
  return -sample[rank];
}

// A value of a sparse row, sorted by feature.
struct Occurrence {
  Index feature;
  std::uint32_t sample;
  float value;
};

std::vector<Occurrence> occurrences(const Record& samples, const DataRows& data) {
  std::vector<Occurrence> all;
  for (std::size_t b = 0; b < samples.rows.size(); ++b) {
    if (samples.rows[b] < 0) continue;
    const auto row = static_cast<std::size_t>(samples.rows[b]);
    for (auto i = static_cast<std::size_t>(data.row_begin[row]);
         i < static_cast<std::size_t>(data.row_begin[row + 1]); ++i)
      all.push_back({data.column[i], static_cast<std::uint32_t>(b), data.value[i]});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Occurrence& a, const Occurrence& b) { return a.feature < b.feature; });
  return all;
}

std::vector<std::uint32_t> everyone(Index neurons) {
  std::vector<std::uint32_t> all(static_cast<std::size_t>(neurons));
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
  // Each worker takes the next piece of work and keeps its own largest.
  const auto search = [&](std::size_t pieces, const auto& piece) {
    std::atomic<std::size_t> next = 0;
    parallel_workers([&](int) {
      Largest largest(count, bound);
      for (std::size_t i = next++; i < pieces; i = next++) piece(i, largest);
      largest.keep_largest();
      const std::lock_guard lock(merging);
      found.insert(found.end(), largest.found().begin(), largest.found().end());
    });
  };
  const std::vector<std::uint32_t> all =
      outputs.empty() ? everyone(layer.outputs) : std::vector<std::uint32_t>();
  const auto which = outputs.empty() ? std::span<const std::uint32_t>(all) : outputs;
  const std::size_t width = samples.width;
  if (record.x.empty()) {  // sparse rows
    const std::vector<Occurrence> seen = occurrences(samples, data);
    std::vector<std::size_t> begin;  // of each feature that occurs
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (i == 0 || seen[i].feature != seen[i - 1].feature) begin.push_back(i);
    begin.push_back(seen.size());
    search(begin.size() - 1, [&](std::size_t f, Largest& largest) {
      const auto feature = static_cast<std::uint32_t>(seen[begin[f]].feature);
      for (const std::uint32_t o : which) {
        float sum = 0;
        for (std::size_t i = begin[f]; i < begin[f + 1]; ++i)
          sum += seen[i].value * record.delta[o * width + seen[i].sample];
        if (largest.worth(sum) && !holds(taken, feature, o)) largest.add({sum, feature, o});
      }
    });
  } else {
    const std::vector<std::uint32_t> inputs = everyone(layer.inputs);
    Ranked y(record.delta, width, which);
    Ranked x(record.x, width, inputs);
    if (layer.by_input) std::swap(x, y);  // y: the rows of the pattern
    const auto search_all = [&] {
      search((y.neuron.size() + 3) / 4, [&](std::size_t i, Largest& largest) {
        search_rows(y, x, width, taken, 4 * i, bound, largest);
      });
    };
    bound = likely_bound(y, x, width, count);
    search_all();
    if (found.size() < count && bound > 0) {  // it was too high: once more without
      found.clear();
      bound = 0;
      search_all();
    }
  }
  const std::size_t kept = std::min(count, found.size());
  if (kept < found.size())
    std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), larger);
  found.resize(kept);
  return found;
}

std::vector<std::uint32_t> costliest_neurons(const TrainLayer& layer, const Record::LayerRecord& record,
                                             std::size_t width, std::size_t k) {
  std::vector<std::pair<double, std::uint32_t>> cost;
  for (std::uint32_t o = 0; o < static_cast<std::uint32_t>(layer.outputs); ++o) {
    double sum = 0;
    for (std::size_t b = 0; b < width; ++b) sum += std::fabs(record.delta[o * width + b]);
    cost.emplace_back(-sum, o);
  }
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
  const auto rows = static_cast<std::uint64_t>(taken.rows);
  const auto cols = static_cast<std::uint64_t>(taken.cols);
  std::unordered_set<std::uint64_t> used;
  for (const Candidate& c : chosen) used.insert(c.row * cols + c.column);
  const std::uint64_t free = rows * cols - taken.nnz() - chosen.size();
  const std::size_t wanted = chosen.size() + static_cast<std::size_t>(std::min<std::uint64_t>(count, free));
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

}  // namespace filigree
