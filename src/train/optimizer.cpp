#include "train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/parallel.h"

namespace filigree {

namespace {

// Parameters in blocks that threads share; sums over blocks are added up in their order, so that the number
// of threads changes nothing.
constexpr std::size_t kBlock = 8192;

struct Parameters {
  std::span<float> value, gradient, first, second;  // gradient: all slices, one after the other
  double decay = 0;
};

struct Block {
  Parameters* parameters;
  std::size_t begin, end;
};

struct Work {
  std::vector<Parameters> parameters;
  std::vector<Block> blocks;

  explicit Work(std::vector<TrainLayer>& layers, double decay) {
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
    const std::size_t grain = blocks.size() <= 2 * parameters.size() ? blocks.size() : 1;
    parallel_for(blocks.size(), grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) body(i, blocks[i]);
    });
  }
};

double combine(const Block& block) {
  Parameters& p = *block.parameters;
  const std::size_t slices = p.gradient.size() / p.value.size();
  float* sum = p.gradient.data();
  for (std::size_t s = 1; s < slices; ++s) {
    const float* other = sum + s * p.value.size();
    for (std::size_t i = block.begin; i < block.end; ++i) sum[i] += other[i];
  }
  double squares[4] = {};  // four chains, to be vectorized
  std::size_t i = block.begin;
  for (; i + 4 <= block.end; i += 4)
    for (std::size_t k = 0; k < 4; ++k) squares[k] += double{sum[i + k]} * sum[i + k];
  for (; i < block.end; ++i) squares[0] += double{sum[i]} * sum[i];
  return (squares[0] + squares[1]) + (squares[2] + squares[3]);
}

struct Rates {
  float lr, scale, momentum, beta1, beta2, epsilon, correct1, correct2;
};

void update_block(Optimizer optimizer, const Rates& r, const Block& block) {
  const Parameters& p = *block.parameters;
  float* __restrict w = p.value.data();
  const float* __restrict g = p.gradient.data();
  float* __restrict m = p.first.data();
  float* __restrict v = p.second.data();
  const auto decay = static_cast<float>(p.decay);
  switch (optimizer) {
    case Optimizer::sgd:
      for (std::size_t i = block.begin; i < block.end; ++i) w[i] -= r.lr * (r.scale * g[i] + decay * w[i]);
      break;
    case Optimizer::nesterov:
      for (std::size_t i = block.begin; i < block.end; ++i) {
        const float gradient = r.scale * g[i] + decay * w[i];
        m[i] = r.momentum * m[i] + gradient;
        w[i] -= r.lr * (gradient + r.momentum * m[i]);
      }
      break;
    case Optimizer::adam:
    case Optimizer::adamw: {
      const bool decoupled = optimizer == Optimizer::adamw;
      for (std::size_t i = block.begin; i < block.end; ++i) {
        const float gradient = r.scale * g[i] + (decoupled ? 0.0f : decay * w[i]);
        m[i] = r.beta1 * m[i] + (1 - r.beta1) * gradient;
        v[i] = r.beta2 * v[i] + (1 - r.beta2) * gradient * gradient;
        const float shrunk = decoupled ? w[i] - r.lr * decay * w[i] : w[i];
        w[i] = shrunk - r.lr * (m[i] * r.correct1) / (std::sqrt(v[i] * r.correct2) + r.epsilon);
      }
      break;
    }
  }
  const std::size_t slices = p.gradient.size() / p.value.size();
  for (std::size_t s = 0; s < slices; ++s)
    std::fill(p.gradient.begin() + static_cast<std::ptrdiff_t>(s * p.value.size() + block.begin),
              p.gradient.begin() + static_cast<std::ptrdiff_t>(s * p.value.size() + block.end), 0.0f);
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

void update(std::vector<TrainLayer>& layers, const TrainOptions& options, double lr, double scale,
            std::int64_t step) {
  Work work(layers, options.weight_decay);
  const auto steps = static_cast<double>(step);
  Rates rates{};
  rates.lr = static_cast<float>(lr);
  rates.scale = static_cast<float>(scale);
  rates.momentum = static_cast<float>(options.momentum);
  rates.beta1 = static_cast<float>(options.beta1);
  rates.beta2 = static_cast<float>(options.beta2);
  rates.epsilon = static_cast<float>(options.epsilon);
  rates.correct1 = static_cast<float>(1 / (1 - std::pow(options.beta1, steps)));
  rates.correct2 = static_cast<float>(1 / (1 - std::pow(options.beta2, steps)));
  work.for_each_block(
      [&](std::size_t, const Block& block) { update_block(options.optimizer, rates, block); });
  std::size_t connections = 0;
  for (const TrainLayer& layer : layers) connections += layer.transposed.nnz();
  parallel_for(layers.size(), connections > kBlock ? 1 : layers.size(),
               [&](std::size_t first, std::size_t last) {
                 for (std::size_t l = first; l < last; ++l) refresh_transposed(layers[l]);
               });
}

}  // namespace filigree
