#include "device/layer_kernel.h"

namespace filigree {

namespace {

// A block takes kThreads * kRowsPerThread rows through kOutputsPerBlock outputs. Their connections lie one
// after the other; kThreads of them at a time are staged in shared memory, each loaded by one thread, and
// then every thread walks over all of them with its own rows. Control flow is the same for all threads.
//
// Per connection and row: one load of 4 bytes (neighbouring threads read neighbouring rows, 128 bytes a warp;
// 32 outputs of a RadiX-Net share their inputs, so most come from the first cache) and one addition. The
// connection itself, 6 bytes, is loaded once for kThreads * kRowsPerThread rows.
template <unsigned kThreads, bool kUniform>
__global__ void __launch_bounds__(kThreads) layer_kernel(DeviceLayer layer, const float* x, float* y,
                                                         unsigned rows, std::size_t stride, unsigned* live) {
  FILIGREE_SHARED(unsigned, begin, kOutputsPerBlock + 1);
  FILIGREE_SHARED(unsigned, input, kThreads);
  FILIGREE_SHARED(float, value, kThreads);

  const unsigned first = blockIdx.y * kOutputsPerBlock;
  const unsigned left = layer.outputs - first;
  const unsigned outputs = left < kOutputsPerBlock ? left : kOutputsPerBlock;
  for (unsigned o = threadIdx.x; o <= outputs; o += kThreads) begin[o] = layer.begin[first + o];
  __syncthreads();

  const std::size_t own = std::size_t{blockIdx.x} * kThreads * kRowsPerThread + threadIdx.x;
  float sum[kRowsPerThread] = {};
  bool lives[kRowsPerThread] = {};
  unsigned output = 0;

  // Everything before connection `e` has been added: outputs that end there are done.
  const auto finish_until = [&](unsigned e) {
    for (; output < outputs && begin[output + 1] <= e; ++output) {
      const float bias = layer.bias[first + output];
      float* to = y + (first + output) * stride + own;
      for (unsigned r = 0; r < kRowsPerThread; ++r) {
        float z = (kUniform ? layer.uniform * sum[r] : sum[r]) + bias;
        z = z > 0 ? z : 0.0f;
        z = z < layer.cap ? z : layer.cap;
        to[r * kThreads] = z;
        lives[r] = lives[r] || z > 0;
        sum[r] = 0;
      }
    }
  };

  const unsigned end = begin[outputs];
  for (unsigned staged = begin[0]; staged < end; staged += kThreads) {
    const unsigned count = end - staged < kThreads ? end - staged : kThreads;
    if (threadIdx.x < count) {
      input[threadIdx.x] = layer.input[staged + threadIdx.x];
      if (!kUniform) value[threadIdx.x] = layer.value[staged + threadIdx.x];
    }
    __syncthreads();
    for (unsigned c = 0; c < count; ++c) {
      finish_until(staged + c);
      const float* from = x + input[c] * stride + own;
      for (unsigned r = 0; r < kRowsPerThread; ++r)
        sum[r] += kUniform ? from[r * kThreads] : value[c] * from[r * kThreads];
    }
    __syncthreads();  // before the next connections take their place
  }
  finish_until(end);

  for (unsigned r = 0; r < kRowsPerThread; ++r)
    if (lives[r] && own + r * kThreads < rows) atomicMax(live + own + r * kThreads, 1u);
}

}  // namespace

template <unsigned kThreads>
void run_layer(const DeviceLayer& layer, const float* x, float* y, unsigned rows, std::size_t stride,
               unsigned* live, cudaStream_t stream) {
  if (rows == 0 || layer.outputs == 0) return;
  const unsigned together = kThreads * kRowsPerThread;
  const dim3 grid((rows + together - 1) / together,
                  (layer.outputs + kOutputsPerBlock - 1) / kOutputsPerBlock);
  const auto kernel = layer.value == nullptr ? layer_kernel<kThreads, true> : layer_kernel<kThreads, false>;
  launch({grid, dim3(kThreads), stream}, kernel, layer, x, y, rows, stride, live);
}

template void run_layer<32>(const DeviceLayer&, const float*, float*, unsigned, std::size_t, unsigned*,
                            cudaStream_t);
template void run_layer<128>(const DeviceLayer&, const float*, float*, unsigned, std::size_t, unsigned*,
                             cudaStream_t);

}  // namespace filigree
