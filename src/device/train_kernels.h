// SPDX-License-Identifier: Apache-2.0
// The operations of training on a device, one launch each. Activations and gradients are neuron-major over
// the whole batch: x[neuron * stride + sample]. stride is a multiple of kThreads;
// samples from the batch's size on to there hold zeros in deltas and any numbers elsewhere.
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

struct DeviceLoss {
  Loss loss = Loss::cross_entropy;
  unsigned classes = 0;
  float smoothing = 0, scale = 1;
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
  // y = W x + bias for `samples` samples; a null bias is zero. The way forward with connections by output,
  // the way back with those by input.
  static void multiply(const DevicePattern& w, const float* value, const float* bias, DeviceEpilogue epilogue,
                       const float* gate, const float* x, float* y, unsigned samples, std::size_t stride,
                       cudaStream_t stream);

  // gradient[e] += the sum over the samples of a[row] b[column], for each connection e = (row, column).
  static void add_gradients(const DevicePattern& w, const float* a, const float* b, unsigned samples,
                            std::size_t stride, float* gradient, cudaStream_t stream);

  // sum[r] += the sum over the samples of a[r], for each of `rows` rows.
  static void add_row_sums(const float* a, unsigned rows, unsigned samples, std::size_t stride, float* sum,
                           cudaStream_t stream);

  // Losses and what the way back starts with, as train/loss.h says: delta becomes the gradient of `scale`
  // times the loss at the sums of the last layer, zero for samples from `samples` on to stride. loss[b] is
  // the loss of sample b, correct[b] whether its largest output, the first of equals, is that of its label.
  static void start_back(const DeviceLoss& loss, const float* y, const unsigned* label, unsigned samples,
                         std::size_t stride, float* delta, float* sample_loss, unsigned* correct,
                         cudaStream_t stream);

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

  // x[feature * stride + b] = what row row[b] has there, scaled; zero for b from `samples` on to stride.
  // Sparse rows go where x is zero before.
  static void load_rows(const DeviceRows& data, unsigned features, const int* row, unsigned samples, float* x,
                        std::size_t stride, cudaStream_t stream);
};
extern template struct TrainKernels<32>;
extern template struct TrainKernels<128>;

}  // namespace filigree::internal
