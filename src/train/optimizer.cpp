// SPDX-License-Identifier: Apache-2.0
#include "train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/parallel.h"
#include "kernels/descent.h"

namespace filigree::internal {

namespace {

// Parameters in blocks that threads share; sums over blocks are added up in their order, so that the number
// of threads changes nothing.
constexpr std::size_t kBlock = 4096;

struct Parameters {
  std::span<float> value, gradient, first, second;  // gradient: all slices, one after the other
  float decay = 0;
};

struct Block {
  Parameters* parameters;
  std::size_t begin, end;
};

struct Work {
  std::vector<Parameters> parameters;
  std::vector<Block> blocks;

  explicit Work(std::vector<TrainLayer>& layers, float decay) {
    parameters.reserve(2 * layers.size());
    for (TrainLayer& layer : layers) {
      parameters.push_back({layer.value, layer.gradient, layer.first, layer.second, decay});
      parameters.push_back({layer.bias, layer.bias_gradient, layer.bias_first, layer.bias_second, 0});
    }
    for (Parameters& p : parameters)
      for (std::size_t begin = 0; begin < p.value.size(); begin += kBlock)
        blocks.push_back({&p, begin, std::min(begin + kBlock, p.value.size())});
  }

  // Small networks are done before another thread is awake.
  template <typename Body>
  void for_each_block(const Body& body) {
    std::size_t all = 0;
    for (const Parameters& p : parameters) all += p.value.size();
    const std::size_t grain = all < 4 * kBlock ? blocks.size() : 1;
    parallel_for(blocks.size(), grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) body(i, blocks[i]);
    });
  }
};

double combine(const Block& block) {
  const Parameters& p = *block.parameters;
  const std::size_t all = p.value.size(), count = block.end - block.begin;
  const std::span<float> sum = p.gradient.subspan(block.begin, count);
  for (std::size_t s = 1; s < p.gradient.size() / all; ++s)
    add_to(sum, p.gradient.subspan(s * all + block.begin, count));
  return sum_of_squares(sum);
}

void update_block(DescentRates rates, const Block& block) {
  const Parameters& p = *block.parameters;
  const std::size_t all = p.value.size(), count = block.end - block.begin;
  const auto part = [&](std::span<float> values) {
    return values.empty() ? values : values.subspan(block.begin, count);
  };
  rates.decay = p.decay;
  descend(rates, {part(p.value), part(p.gradient), part(p.first), part(p.second)});
  for (std::size_t s = 0; s < p.gradient.size() / all; ++s)
    std::ranges::fill(p.gradient.subspan(s * all + block.begin, count), 0.0f);
}

}  // namespace

double combine_gradients(std::vector<TrainLayer>& layers) {
  Work work(layers, 0);
  std::vector<double> squares(work.blocks.size());
  work.for_each_block([&](std::size_t i, const Block& block) { squares[i] = combine(block); });
  double sum = 0;
  for (const double s : squares) sum += s;
  return std::sqrt(sum);
}

DescentRates descent_rates(const TrainOptions& options, double lr, double scale, std::int64_t step) {
  const double steps = step;
  DescentRates rates;
  rates.optimizer = options.learning.optimizer;
  rates.lr = lr;
  rates.decay = options.learning.weight_decay;
  rates.scale = scale;
  rates.momentum = options.learning.momentum;
  rates.beta1 = options.learning.beta1;
  rates.beta2 = options.learning.beta2;
  rates.epsilon = options.learning.epsilon;
  rates.correct1 = 1 / (1 - std::pow(options.learning.beta1, steps));
  rates.correct2 = 1 / (1 - std::pow(options.learning.beta2, steps));
  return rates;
}

void update(std::vector<TrainLayer>& layers, const DescentRates& rates) {
  Work work(layers, rates.decay);
  work.for_each_block([&](std::size_t, const Block& block) { update_block(rates, block); });
  std::size_t connections = 0;
  for (const TrainLayer& layer : layers) connections += layer.transposed.nnz();
  parallel_for(layers.size(), connections > kBlock ? 1 : layers.size(),
               [&](std::size_t first, std::size_t last) {
                 for (std::size_t l = first; l < last; ++l) refresh_transposed(layers[l]);
               });
}

}  // namespace filigree::internal
