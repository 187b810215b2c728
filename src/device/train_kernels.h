// SPDX-License-Identifier: Apache-2.0
// The operations of training on a device, one launch each.
#pragma once

#include <cstdint>

#include "device/connection_walk.h"
#include "filigree/activation.h"
#include "filigree/options.h"
#include "kernels/descent.h"

namespace filigree::internal {

// What happens to each sum before it is stored: nothing; what is below zero becomes zero; zero where the
// gate, a panel like y, is not above zero.
enum class DeviceEpilogue { none, relu, gate };

// y = W x + bias: forward with connections by output, backward with those by input.
struct DeviceProduct {
  DevicePattern w = {};
  const float* value = nullptr;
  const float* bias = nullptr;  // null: zero
  DeviceEpilogue epilogue = DeviceEpilogue::none;
  const float* gate = nullptr;
};

// The samples of a batch. Activations and gradients are neuron-major over all of them:
// x[neuron * stride + sample]. stride is a multiple of kThreads; from `count` on to there deltas hold zeros,
// others any numbers.
struct DeviceSamples {
  unsigned count = 0;
  std::size_t stride = 0;
};

// Where the loss and the score of each sample go (see train/loss.h), and the gradient at the sums of the last
// layer.
struct DeviceLossResult {
  float* delta = nullptr;
  float* loss = nullptr;
  float* score = nullptr;
};

struct DeviceLoss {
  Loss loss = Loss::cross_entropy;
  unsigned outputs = 0;
  float smoothing = 0, scale = 1;
  bool values = fits(loss, Task::values);
};

// A class for each sample, or target[output * stride + sample]; weight is null where all are 1.
struct DeviceTargets {
  const unsigned* label = nullptr;
  const float *target = nullptr, *weight = nullptr;
};

// What drops out is what drop_out() drops on panels of `panel` samples: samples 32 g … 32 g + 31 are those
// from lane[g] on of a panel with key[g].
struct DevicePanels {
  const std::uint32_t* key = nullptr;
  const std::uint32_t* lane = nullptr;
  unsigned panel = 32;
};

// Rows of a data set in device memory, see TrainingRows; bytes, floats, or sparse.
struct DeviceRows {
  const std::uint8_t* bytes = nullptr;
  const float* floats = nullptr;
  const long long* row_begin = nullptr;
  const int* column = nullptr;
  const float* value = nullptr;
  const float *mean = nullptr, *scale = nullptr;
  unsigned mean_step = 0, scale_step = 0;  // 1: one for each feature
};

inline constexpr unsigned kSquareParts = 128;

// By the threads of a block, 32 or 128.
template <unsigned kThreads>
struct TrainKernels {
  static void multiply(const DeviceProduct& product, DeviceSamples samples, const float* x, float* y,
                       cudaStream_t stream);

  // gradient[e] += the sum over the samples of a[row] b[column], for each connection e = (row, column).
  static void add_gradients(const DevicePattern& w, DeviceSamples samples, const float* a, const float* b,
                            float* gradient, cudaStream_t stream);

  // sum[r] += the sum over the samples of a[r], for each of `rows` rows.
  static void add_row_sums(const float* a, unsigned rows, DeviceSamples samples, float* sum,
                           cudaStream_t stream);

  // Losses and what the backward pass starts with, as train/loss.h says: the gradient of `loss.scale` times
  // the loss.
  static void start_back(const DeviceLoss& loss, DeviceSamples samples, const float* y,
                         const DeviceTargets& targets, const DeviceLossResult& result, cudaStream_t stream);

  // One step of an optimizer on `count` weights, as filigree::descend() does it (its bits, unless the
  // compiler fuses products and sums); `first` and `second` as there.
  static void descend(const DescentRates& rates, std::size_t count, float* value, const float* gradient,
                      float* first, float* second, cudaStream_t stream);

  static void drop_out(const DevicePanels& panels, double rate, float* x, unsigned neurons,
                       std::size_t stride, cudaStream_t stream);

  // x = activation(x), of `count` numbers; delta *= the derivative, told by the output, which is factor · y,
  // or by the sum where that is not null.
  static void activate(const ActivationFunction& activation, float* x, std::size_t count,
                       cudaStream_t stream);
  static void multiply_by_derivative(const ActivationFunction& activation, const float* y, float factor,
                                     const float* sum, float* delta, std::size_t count, cudaStream_t stream);

  // to[i] = from[order[i]]: values of connections in another order.
  static void gather(const float* from, const unsigned* order, float* to, std::size_t count,
                     cudaStream_t stream);

  // partial[w] = the sum of squares of warp w's share, for kSquareParts warps.
  static void sum_squares(const float* values, std::size_t count, double* partial, cudaStream_t stream);

  // x[feature * stride + b] = what row row[b] has there, scaled; zero for b from `samples.count` on to
  // stride. Sparse rows go where x is zero before.
  static void load_rows(const DeviceRows& data, unsigned features, DeviceSamples samples, const int* row,
                        float* x, cudaStream_t stream);
};
extern template struct TrainKernels<32>;
extern template struct TrainKernels<128>;

}  // namespace filigree::internal
