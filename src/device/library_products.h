// SPDX-License-Identifier: Apache-2.0
// Products by cuSPARSE, the baselines of Wang et al.
#pragma once

#include <cusparse.h>

#include "device/device_memory.h"

namespace filigree::internal {

void check_cusparse(cusparseStatus_t status, const char* what);

// A matrix in device memory: CSR, as cuSPARSE takes it.
struct DeviceCsr {
  int rows = 0, cols = 0, nnz = 0;
  int *begin = nullptr, *column = nullptr;
  float* value = nullptr;
};

class CusparseHandle {
 public:
  explicit CusparseHandle(cudaStream_t stream);
  CusparseHandle(const CusparseHandle&) = delete;
  CusparseHandle& operator=(const CusparseHandle&) = delete;
  ~CusparseHandle() { cusparseDestroy(handle_); }
  operator cusparseHandle_t() const { return handle_; }

 private:
  cusparseHandle_t handle_ = nullptr;
};

// y = W x, sparse times dense: x and y have `columns` columns, neuron-major at a distance of `stride`.
class SparseTimesDense {
 public:
  explicit SparseTimesDense(cudaStream_t stream) : handle_(stream) {}
  void operator()(const DeviceCsr& w, const float* x, float* y, unsigned columns, std::size_t stride);

 private:
  CusparseHandle handle_;
  DeviceArray<std::byte> buffer_;
};

// C = A B, sparse times sparse.
class SparseTimesSparse {
 public:
  // Buffers are kept from call to call, or allocated for each.
  SparseTimesSparse(cudaStream_t stream, bool keep_buffers)
      : stream_(stream), handle_(stream), keep_buffers_(keep_buffers) {}

  struct Result {
    DeviceArray<int> begin, column;
    DeviceArray<float> value;
    int nnz = 0;
  };
  // Waits. `result` keeps its memory from call to call if buffers do.
  void operator()(const DeviceCsr& a, const DeviceCsr& b, Result& result);

 private:
  cudaStream_t stream_;
  CusparseHandle handle_;
  bool keep_buffers_;
  DeviceArray<std::byte> buffers_[2];
};

}  // namespace filigree::internal
