// SPDX-License-Identifier: Apache-2.0
#include "device/train_kernels.h"

#include <cmath>
#include <limits>

#include "device/activate.h"

namespace filigree::internal {

namespace {

constexpr unsigned kWarp = 32;

template <unsigned kThreads, DeviceEpilogue kEpilogue>
__global__ void __launch_bounds__(kThreads)
    multiply_kernel(DeviceProduct product, const float* x, float* y, std::size_t stride) {
  using Shape = FewSamples<kThreads>;
  const std::size_t own = first_sample<Shape>();
  walk_connections<Shape, false>(product.w, product.value, x, stride, [&](unsigned row, const float* sum) {
    const float start = product.bias == nullptr ? 0.0f : product.bias[row];
    const std::size_t at = row * stride + own;
    for (unsigned r = 0; r < Shape::kRows; ++r) {
      float z = sum[r] + start;
      if (kEpilogue == DeviceEpilogue::relu) z = z < 0 ? 0.0f : z;
      if (kEpilogue == DeviceEpilogue::gate) z = product.gate[at + r * kThreads] > 0 ? z : 0.0f;
      y[at + r * kThreads] = z;
    }
  });
}

// The sum of a number of each lane, in lane 0.
template <typename T>
__device__ __forceinline__ T sum_of_warp(T value) {
  for (unsigned by = kWarp / 2; by > 0; by /= 2) value += __shfl_down_sync(kFullWarp, value, by);
  return value;
}

// A block for each row, eight lanes for each connection in turn, which share the samples out: 32 bytes at a
// time are what memory gives at least, and three shuffles add four connections up. The row's own samples come
// from the first cache after the first connection: 4 bytes a connection and sample from beyond it.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    gradient_kernel(DevicePattern w, const float* a, const float* b, unsigned samples, std::size_t stride,
                    float* gradient) {
  constexpr unsigned kLanes = 8, kTogether = kThreads / kLanes;
  const unsigned lane = threadIdx.x % kLanes, place = threadIdx.x / kLanes;
  for (unsigned row = blockIdx.x; row < w.rows; row += gridDim.x) {
    const float* own = a + row * stride;
    const unsigned end = w.begin[row + 1];
    for (unsigned first = w.begin[row]; first < end; first += kTogether) {  // the same for all threads
      const unsigned e = first + place;
      float sum = 0;
      if (e < end) {
        const float* other = b + w.column[e] * stride;
        for (unsigned s = lane; s < samples; s += kLanes) sum += own[s] * other[s];
      }
      for (unsigned by = kLanes / 2; by > 0; by /= 2) sum += __shfl_down_sync(kFullWarp, sum, by);
      if (lane == 0 && e < end) gradient[e] += sum;
    }
  }
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    row_sum_kernel(const float* a, unsigned rows, unsigned samples, std::size_t stride, float* sums) {
  const unsigned lane = threadIdx.x % kWarp;
  for (unsigned row = blockIdx.x * (kThreads / kWarp) + threadIdx.x / kWarp; row < rows;
       row += gridDim.x * (kThreads / kWarp)) {
    float sum = 0;
    for (unsigned s = lane; s < samples; s += kWarp) sum += a[row * stride + s];
    sum = sum_of_warp(sum);
    if (lane == 0) sums[row] += sum;
  }
}

// The loss of one output, and its slope by what went into the last activation.
struct OutputLoss {
  float loss = 0, slope = 0;
};

__device__ OutputLoss output_loss(Loss loss, float out, float target, float log_sum) {
  const float error = out - target;
  switch (loss) {  // one way for all threads of a launch
    case Loss::cross_entropy:
      return {target * (log_sum - out), std::exp(out - log_sum) - target};
    case Loss::mse:
      return {0.5f * error * error, error * out * (1 - out)};
    case Loss::binary_cross_entropy: {
      const float softplus = (out > 0 ? out : 0.0f) + std::log1p(std::exp(-std::fabs(out)));
      return {softplus - target * out, 1 / (1 + std::exp(-out)) - target};
    }
    case Loss::squared:
      return {0.5f * error * error, error};
    case Loss::absolute:
      return {std::fabs(error), error > 0 ? 1.0f : error < 0 ? -1.0f : 0.0f};
    case Loss::huber: {
      const float size = std::fabs(error);
      return size <= 1 ? OutputLoss{0.5f * error * error, error}
                       : OutputLoss{size - 0.5f, error > 0 ? 1.0f : -1.0f};
    }
  }
  return {};
}

// A thread for each sample: neighbouring threads read neighbouring samples of an output.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads) loss_kernel(DeviceLoss how, DeviceSamples samples, const float* y,
                                                        DeviceTargets targets, DeviceLossResult result) {
  const std::size_t b = std::size_t{blockIdx.x} * kThreads + threadIdx.x, stride = samples.stride;
  float* const delta = result.delta;
  if (b >= stride) return;
  if (b >= samples.count) {
    for (unsigned c = 0; c < how.outputs; ++c) delta[c * stride + b] = 0;
    return;
  }
  const bool classes = targets.label != nullptr, values = how.values;
  const unsigned own = classes ? targets.label[b] : 0;
  const float width = static_cast<float>(how.outputs);
  unsigned best = 0;
  float highest = y[b];
  for (unsigned c = 1; c < how.outputs; ++c) {
    const float each = y[c * stride + b];
    if (each > highest) {
      highest = each;
      best = c;
    }
  }
  float log_sum = 0;
  if (how.loss == Loss::cross_entropy) {
    float sum = 0;
    for (unsigned c = 0; c < how.outputs; ++c) sum += std::exp(y[c * stride + b] - highest);
    log_sum = highest + std::log(sum);
  }
  const float weight = (targets.weight == nullptr ? 1.0f : targets.weight[b]) * (values ? 1 / width : 1.0f);
  float loss = 0, score = 0;
  for (unsigned c = 0; c < how.outputs; ++c) {
    const float out = y[c * stride + b];
    const float given = classes ? (c == own ? 1.0f : 0.0f) : targets.target[c * stride + b];
    const float spread = classes ? how.smoothing / width : how.smoothing / 2;
    const float target = values ? given : spread + (1 - how.smoothing) * given;
    const OutputLoss each = output_loss(how.loss, out, target, log_sum);
    loss += each.loss;
    delta[c * stride + b] = how.scale * weight * each.slope;
    score += values ? 1 - (out - given) * (out - given) : (out > 0) == (given > 0.5f) ? 1.0f : 0.0f;
  }
  result.loss[b] = weight * loss;
  result.score[b] = classes ? (best == own ? 1.0f : 0.0f) : score / width;
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    descend_kernel(DescentRates r, std::size_t count, float* value, const float* gradients, float* first,
                   float* second) {
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * kThreads) {
    float w = value[i];
    const float alone = r.scale * gradients[i], decayed = alone + r.decay * w;
    switch (r.optimizer) {  // one way for all threads of a launch
      case Optimizer::sgd:
        w -= r.lr * decayed;
        break;
      case Optimizer::nesterov: {
        const float m = r.momentum * first[i] + decayed;
        first[i] = m;
        w -= r.lr * (decayed + r.momentum * m);
        break;
      }
      case Optimizer::adam:
      case Optimizer::adamw: {
        const bool decoupled = r.optimizer == Optimizer::adamw;
        const float gradient = decoupled ? alone : decayed;
        const float m = r.beta1 * first[i] + (1 - r.beta1) * gradient;
        const float v = r.beta2 * second[i] + (1 - r.beta2) * (gradient * gradient);
        first[i] = m;
        second[i] = v;
        if (decoupled) w -= r.lr * r.decay * w;
        w -= r.lr * (m * r.correct1) / (std::sqrt(v * r.correct2) + r.epsilon);
        break;
      }
      case Optimizer::lion: {
        const float mean = r.beta1 * first[i] + (1 - r.beta1) * alone;
        first[i] = r.beta2 * first[i] + (1 - r.beta2) * alone;
        const float sign = mean > 0 ? 1.0f : mean < 0 ? -1.0f : 0.0f;
        w -= r.lr * (sign + r.decay * w);
        break;
      }
    }
    value[i] = w;
  }
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    drop_out_kernel(DevicePanels panels, std::uint32_t threshold, float scale, float* x, std::size_t stride,
                    std::size_t count) {
  for (std::size_t at = std::size_t{blockIdx.x} * kThreads + threadIdx.x; at < count;
       at += std::size_t{gridDim.x} * kThreads) {
    const std::size_t neuron = at / stride, sample = at % stride;
    const std::size_t i = neuron * panels.panel + panels.lane[sample / 32] + sample % 32;  // in its panel
    std::uint32_t number = static_cast<std::uint32_t>(i / 32 * 16 + i % 16) ^ panels.key[sample / 32];
    number = (number ^ number >> 16) * 0x7feb352du;
    number = (number ^ number >> 15) * 0x846ca68bu;
    number ^= number >> 16;
    const std::uint32_t half = i % 32 < 16 ? number & 0xffff : number >> 16;
    x[at] = half < threshold ? 0.0f : x[at] * scale;
  }
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    activate_kernel(ActivationFunction activation, float* x, std::size_t count) {
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * kThreads)
    x[i] = device_activation(activation, x[i]);
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    derivative_kernel(ActivationFunction activation, const float* all_y, float factor, const float* sum,
                      float* delta, std::size_t count) {
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * kThreads) {
    const float y = factor * all_y[i];
    delta[i] *= device_derivative(activation, y, sum != nullptr ? sum[i] : y);
  }
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(const float* from, const unsigned* order, float* to, std::size_t count) {
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * kThreads)
    to[i] = from[order[i]];
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    square_kernel(const float* values, std::size_t count, double* partial) {
  double sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * kThreads)
    sum += double{values[i]} * double{values[i]};
  sum = sum_of_warp(sum);
  if (threadIdx.x % kWarp == 0) partial[(blockIdx.x * kThreads + threadIdx.x) / kWarp] = sum;
}

// A block takes 32 features of 32 samples through shared memory: read along rows, written along samples.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads) load_kernel(DeviceRows data, unsigned features, const int* row,
                                                        unsigned samples, float* x, std::size_t stride) {
  FILIGREE_SHARED(float, held, kWarp*(kWarp + 1));
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const unsigned first_feature = blockIdx.y * kWarp, first_sample = blockIdx.x * kWarp;
  for (unsigned b = warp; b < kWarp; b += (kThreads / kWarp)) {
    const unsigned feature = first_feature + lane;
    float value = 0;
    if (feature < features && first_sample + b < samples) {
      const std::size_t at = static_cast<std::size_t>(row[first_sample + b]) * features + feature;
      value = data.bytes != nullptr ? static_cast<float>(data.bytes[at]) : data.floats[at];
      if (data.mean != nullptr) value -= data.mean[feature * data.mean_step];
      if (data.scale != nullptr) value *= data.scale[feature * data.scale_step];
    }
    held[lane * (kWarp + 1) + b] = value;
  }
  __syncthreads();
  for (unsigned f = warp; f < kWarp && first_feature + f < features; f += (kThreads / kWarp))
    x[(first_feature + f) * stride + first_sample + lane] = held[f * (kWarp + 1) + lane];
}

// A thread for each sample of sparse rows.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    load_sparse_kernel(DeviceRows data, const int* row, unsigned samples, float* x, std::size_t stride) {
  const unsigned b = blockIdx.x * kThreads + threadIdx.x;
  if (b >= samples) return;
  for (long long e = data.row_begin[row[b]]; e < data.row_begin[row[b] + 1]; ++e) {
    const std::size_t feature = static_cast<std::size_t>(data.column[e]);
    const float mean = data.mean == nullptr ? 0.0f : data.mean[feature * data.mean_step];
    const float scale = data.scale == nullptr ? 1.0f : data.scale[feature * data.scale_step];
    x[feature * stride + b] = (data.value[e] - mean) * scale;
  }
}

// Blocks for `work` things of which a block does `each` at a time: no more than a device keeps busy.
unsigned blocks_for(std::size_t work, std::size_t each) {
  constexpr std::size_t kMost = 4096;
  const std::size_t wanted = (work + each - 1) / each;
  return static_cast<unsigned>(wanted < kMost ? wanted : kMost);
}

}  // namespace

template <unsigned kThreads>
void TrainKernels<kThreads>::multiply(const DeviceProduct& product, DeviceSamples samples, const float* x,
                                      float* y, cudaStream_t stream) {
  if (samples.count == 0 || product.w.rows == 0) return;
  const auto kernel = [&] {
    switch (product.epilogue) {
      case DeviceEpilogue::relu:
        return multiply_kernel<kThreads, DeviceEpilogue::relu>;
      case DeviceEpilogue::gate:
        return multiply_kernel<kThreads, DeviceEpilogue::gate>;
      case DeviceEpilogue::none:
        break;
    }
    return multiply_kernel<kThreads, DeviceEpilogue::none>;
  }();
  launch({walk_grid<FewSamples<kThreads>>(product.w, samples.count), dim3(kThreads), stream}, kernel, product,
         x, y, samples.stride);
}

template <unsigned kThreads>
void TrainKernels<kThreads>::add_gradients(const DevicePattern& w, DeviceSamples samples, const float* a,
                                           const float* b, float* gradient, cudaStream_t stream) {
  if (w.rows == 0) return;
  launch({dim3(blocks_for(w.rows, 1)), dim3(kThreads), stream}, gradient_kernel<kThreads>, w, a, b,
         samples.count, samples.stride, gradient);
}

template <unsigned kThreads>
void TrainKernels<kThreads>::add_row_sums(const float* a, unsigned rows, DeviceSamples samples, float* sum,
                                          cudaStream_t stream) {
  if (rows == 0) return;
  launch({dim3(blocks_for(rows, (kThreads / kWarp))), dim3(kThreads), stream}, row_sum_kernel<kThreads>, a,
         rows, samples.count, samples.stride, sum);
}

template <unsigned kThreads>
void TrainKernels<kThreads>::start_back(const DeviceLoss& loss, DeviceSamples samples, const float* y,
                                        const DeviceTargets& targets, const DeviceLossResult& result,
                                        cudaStream_t stream) {
  if (samples.stride == 0 || loss.outputs == 0) return;
  const dim3 grid(static_cast<unsigned>((samples.stride + kThreads - 1) / kThreads));
  launch({grid, dim3(kThreads), stream}, loss_kernel<kThreads>, loss, samples, y, targets, result);
}

template <unsigned kThreads>
void TrainKernels<kThreads>::descend(const DescentRates& rates, std::size_t count, float* value,
                                     const float* gradient, float* first, float* second,
                                     cudaStream_t stream) {
  if (count == 0) return;
  launch({dim3(blocks_for(count, kThreads)), dim3(kThreads), stream}, descend_kernel<kThreads>, rates, count,
         value, gradient, first, second);
}

template <unsigned kThreads>
void TrainKernels<kThreads>::drop_out(const DevicePanels& panels, double rate, float* x, unsigned neurons,
                                      std::size_t stride, cudaStream_t stream) {
  const std::size_t count = neurons * stride;
  if (count == 0) return;
  const auto threshold = static_cast<std::uint32_t>(std::lround(rate * 65536));
  const auto scale = static_cast<float>(1 / (1 - threshold / 65536.0));
  launch({dim3(blocks_for(count, kThreads)), dim3(kThreads), stream}, drop_out_kernel<kThreads>, panels,
         threshold, scale, x, stride, count);
}

template <unsigned kThreads>
void TrainKernels<kThreads>::activate(const ActivationFunction& activation, float* x, std::size_t count,
                                      cudaStream_t stream) {
  if (count == 0 || activation.is(Activation::identity)) return;
  launch({dim3(blocks_for(count, kThreads)), dim3(kThreads), stream}, activate_kernel<kThreads>, activation,
         x, count);
}

template <unsigned kThreads>
void TrainKernels<kThreads>::multiply_by_derivative(const ActivationFunction& activation, const float* y,
                                                    float factor, const float* sum, float* delta,
                                                    std::size_t count, cudaStream_t stream) {
  if (count == 0 || activation.is(Activation::identity)) return;
  launch({dim3(blocks_for(count, kThreads)), dim3(kThreads), stream}, derivative_kernel<kThreads>, activation,
         y, factor, sum, delta, count);
}

template <unsigned kThreads>
void TrainKernels<kThreads>::gather(const float* from, const unsigned* order, float* to, std::size_t count,
                                    cudaStream_t stream) {
  if (count == 0) return;
  launch({dim3(blocks_for(count, kThreads)), dim3(kThreads), stream}, gather_kernel<kThreads>, from, order,
         to, count);
}

template <unsigned kThreads>
void TrainKernels<kThreads>::sum_squares(const float* values, std::size_t count, double* partial,
                                         cudaStream_t stream) {
  launch({dim3(kSquareParts * kWarp / kThreads), dim3(kThreads), stream}, square_kernel<kThreads>, values,
         count, partial);
}

template <unsigned kThreads>
void TrainKernels<kThreads>::load_rows(const DeviceRows& data, unsigned features, DeviceSamples samples,
                                       const int* row, float* x, cudaStream_t stream) {
  if (samples.count == 0) return;
  if (data.row_begin != nullptr) {
    launch({dim3((samples.count + kThreads - 1) / kThreads), dim3(kThreads), stream},
           load_sparse_kernel<kThreads>, data, row, samples.count, x, samples.stride);
    return;
  }
  const dim3 grid(static_cast<unsigned>(samples.stride / kWarp), (features + kWarp - 1) / kWarp);
  launch({grid, dim3(kThreads), stream}, load_kernel<kThreads>, data, features, row, samples.count, x,
         samples.stride);
}

template struct TrainKernels<32>;
template struct TrainKernels<128>;

}  // namespace filigree::internal
