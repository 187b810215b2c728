// The operations of training on a device, one launch each. Activations and gradients are neuron-major over
// the whole batch: x[neuron * stride + sample]. stride is a multiple of kDeviceThreads * kRowsPerThread;
// samples from the batch's size on to there hold zeros in deltas and any numbers elsewhere.
#pragma once

#include <cstdint>

#include "device/connection_walk.h"
#include "filigree/options.h"
#include "kernels/descent.h"

namespace filigree {

inline constexpr unsigned kDeviceThreads = 128;

// What happens to each sum before it is stored: nothing; what is below zero becomes zero; zero where the
// gate, a panel like y, is not above zero.
enum class DeviceEpilogue { none, relu, gate };

// y = W x + bias for `samples` samples; a null bias is zero. The way forward with connections by output, the
// way back with those by input.
void multiply(const DevicePattern& w, const float* value, const float* bias, DeviceEpilogue epilogue,
              const float* gate, const float* x, float* y, unsigned samples, std::size_t stride,
              cudaStream_t stream);

// gradient[e] += the sum over the samples of a[row] b[column], for each connection e = (row, column).
void add_gradients(const DevicePattern& w, const float* a, const float* b, unsigned samples,
                   std::size_t stride, float* gradient, cudaStream_t stream);

// sum[r] += the sum over the samples of a[r], for each of `rows` rows.
void add_row_sums(const float* a, unsigned rows, unsigned samples, std::size_t stride, float* sum,
                  cudaStream_t stream);

// Losses and what the way back starts with, as train/loss.h says: delta becomes the gradient of `scale` times
// the loss at the sums of the last layer, zero for samples from `samples` on to stride. loss[b] is the loss
// of sample b, correct[b] whether its largest output, the first of equals, is that of its label.
struct DeviceLoss {
  Loss loss = Loss::cross_entropy;
  unsigned classes = 0;
  float smoothing = 0, scale = 1;
};
void start_back(const DeviceLoss& loss, const float* y, const unsigned* label, unsigned samples,
                std::size_t stride, float* delta, float* sample_loss, unsigned* correct, cudaStream_t stream);

// One step of an optimizer on `count` weights, as descend() does it (its bits, unless the compiler fuses
// products and sums); `first` and `second` as there.
void descend(Optimizer optimizer, const DescentRates& rates, std::size_t count, float* value,
             const float* gradient, float* first, float* second, cudaStream_t stream);

// The bits of drop_out(). count is a multiple of 32.
void drop_out(std::uint32_t key, double rate, float* x, std::size_t count, cudaStream_t stream);

}  // namespace filigree
