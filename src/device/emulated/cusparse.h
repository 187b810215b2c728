// SPDX-License-Identifier: Apache-2.0
// What we use of cuSPARSE, emulated: in the place of its own header where the host's compiler compiles.
// Products are plain loops that run when their stream does; what the library leaves to its caller (buffers of
// the size it asked for, pointers that are set before they are used) is checked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "device/cuda.h"

// NOLINTBEGIN: these are cuSPARSE's names.
enum cusparseStatus_t { CUSPARSE_STATUS_SUCCESS = 0, CUSPARSE_STATUS_INVALID_VALUE = 3 };
enum cusparseOperation_t { CUSPARSE_OPERATION_NON_TRANSPOSE = 0 };
enum cusparseIndexType_t { CUSPARSE_INDEX_32I = 2 };
enum cusparseIndexBase_t { CUSPARSE_INDEX_BASE_ZERO = 0 };
enum cusparseOrder_t { CUSPARSE_ORDER_ROW = 2 };
enum cusparseSpMMAlg_t { CUSPARSE_SPMM_CSR_ALG2 = 6 };
enum cusparseSpGEMMAlg_t { CUSPARSE_SPGEMM_DEFAULT = 0 };
enum cudaDataType { CUDA_R_32F = 0 };

namespace filigree::internal::emulated {
struct SparseHandle {
  cudaStream_t stream = nullptr;
};
struct SparseMatrix {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  int *begin = nullptr, *column = nullptr;
  float* value = nullptr;
};
struct DenseMatrix {
  std::int64_t rows = 0, cols = 0, stride = 0;
  float* value = nullptr;
};
struct Product {
  void* buffers[2] = {};
  std::vector<std::map<int, float>> rows;
};
inline constexpr std::size_t kBufferBytes = 1000;
}  // namespace filigree::internal::emulated

using cusparseHandle_t = filigree::internal::emulated::SparseHandle*;
using cusparseSpMatDescr_t = filigree::internal::emulated::SparseMatrix*;
using cusparseDnMatDescr_t = filigree::internal::emulated::DenseMatrix*;
using cusparseSpGEMMDescr_t = filigree::internal::emulated::Product*;

inline const char* cusparseGetErrorString(cusparseStatus_t status) {
  return status == CUSPARSE_STATUS_SUCCESS ? "no error" : "invalid value";
}
inline cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) {
  *handle = new filigree::internal::emulated::SparseHandle;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  delete handle;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* matrix, std::int64_t rows, std::int64_t cols,
                                          std::int64_t nnz, void* begin, void* column, void* value,
                                          cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t,
                                          cudaDataType) {
  *matrix = new filigree::internal::emulated::SparseMatrix{
      rows, cols, nnz, static_cast<int*>(begin), static_cast<int*>(column), static_cast<float*>(value)};
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseDestroySpMat(cusparseSpMatDescr_t matrix) {
  delete matrix;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t matrix, void* begin, void* column,
                                               void* value) {
  matrix->begin = static_cast<int*>(begin);
  matrix->column = static_cast<int*>(column);
  matrix->value = static_cast<float*>(value);
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSpMatGetSize(cusparseSpMatDescr_t matrix, std::int64_t* rows,
                                             std::int64_t* cols, std::int64_t* nnz) {
  *rows = matrix->rows;
  *cols = matrix->cols;
  *nnz = matrix->nnz;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* matrix, std::int64_t rows,
                                            std::int64_t cols, std::int64_t stride, void* value, cudaDataType,
                                            cusparseOrder_t) {
  *matrix = new filigree::internal::emulated::DenseMatrix{rows, cols, stride, static_cast<float*>(value)};
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseDestroyDnMat(cusparseDnMatDescr_t matrix) {
  delete matrix;
  return CUSPARSE_STATUS_SUCCESS;
}

inline cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                                const void*, cusparseSpMatDescr_t, cusparseDnMatDescr_t,
                                                const void*, cusparseDnMatDescr_t, cudaDataType,
                                                cusparseSpMMAlg_t, std::size_t* bytes) {
  *bytes = filigree::internal::emulated::kBufferBytes;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t,
                                     const void* alpha, cusparseSpMatDescr_t a, cusparseDnMatDescr_t b,
                                     const void* beta, cusparseDnMatDescr_t c, cudaDataType,
                                     cusparseSpMMAlg_t, void* buffer) {
  if (buffer == nullptr || a->cols != b->rows || a->rows != c->rows || b->cols != c->cols ||
      *static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0)
    return CUSPARSE_STATUS_INVALID_VALUE;
  filigree::internal::emulated::enqueue(handle->stream, [w = *a, x = *b, y = *c, buffer] {
    static_cast<char*>(buffer)[filigree::internal::emulated::kBufferBytes - 1] =
        1;  // it is as long as was said
    for (std::int64_t r = 0; r < w.rows; ++r)
      for (std::int64_t s = 0; s < x.cols; ++s) {
        float sum = 0;
        for (int e = w.begin[r]; e < w.begin[r + 1]; ++e)
          sum += w.value[e] * x.value[w.column[e] * x.stride + s];
        y.value[r * y.stride + s] = sum;
      }
  });
  return CUSPARSE_STATUS_SUCCESS;
}

inline cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* product) {
  *product = new filigree::internal::emulated::Product;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t product) {
  delete product;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t, cusparseOperation_t,
                                                      cusparseOperation_t, const void*,
                                                      cusparseSpMatDescr_t a, cusparseSpMatDescr_t b,
                                                      const void*, cusparseSpMatDescr_t c, cudaDataType,
                                                      cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t product,
                                                      std::size_t* bytes, void* buffer) {
  if (a->cols != b->rows || c->rows != a->rows || c->cols != b->cols) return CUSPARSE_STATUS_INVALID_VALUE;
  *bytes = filigree::internal::emulated::kBufferBytes;
  product->buffers[0] = buffer;
  return CUSPARSE_STATUS_SUCCESS;
}
// Waits, as the library does: it has to know how many entries there are.
inline cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t,
                                               cusparseOperation_t, const void*, cusparseSpMatDescr_t a,
                                               cusparseSpMatDescr_t b, const void*, cusparseSpMatDescr_t c,
                                               cudaDataType, cusparseSpGEMMAlg_t,
                                               cusparseSpGEMMDescr_t product, std::size_t* bytes,
                                               void* buffer) {
  if (product->buffers[0] == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *bytes = filigree::internal::emulated::kBufferBytes;
  product->buffers[1] = buffer;
  if (buffer == nullptr) return CUSPARSE_STATUS_SUCCESS;
  cudaStreamSynchronize(handle->stream);
  for (void* each : product->buffers)
    static_cast<char*>(each)[filigree::internal::emulated::kBufferBytes - 1] =
        1;  // they are as long as was said
  product->rows.assign(a->rows, {});
  c->nnz = 0;
  for (std::int64_t r = 0; r < a->rows; ++r) {
    auto& row = product->rows[static_cast<std::size_t>(r)];
    for (int e = a->begin[r]; e < a->begin[r + 1]; ++e)
      for (int f = b->begin[a->column[e]]; f < b->begin[a->column[e] + 1]; ++f)
        row[b->column[f]] += a->value[e] * b->value[f];
    c->nnz += static_cast<std::int64_t>(row.size());
  }
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t,
                                            const void*, cusparseSpMatDescr_t, cusparseSpMatDescr_t,
                                            const void*, cusparseSpMatDescr_t c, cudaDataType,
                                            cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t product) {
  if (product->buffers[1] == nullptr || c->begin == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  filigree::internal::emulated::enqueue(handle->stream, [to = *c, rows = product->rows] {
    int at = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      to.begin[r] = at;
      for (const auto& [column, value] : rows[r]) {
        to.column[at] = column;
        to.value[at++] = value;
      }
    }
    to.begin[rows.size()] = at;
  });
  return CUSPARSE_STATUS_SUCCESS;
}
// NOLINTEND
