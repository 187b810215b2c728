// SPDX-License-Identifier: Apache-2.0
#include "device/library_products.h"

namespace filigree::internal {

namespace {

constexpr auto kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr float kOne = 1, kZero = 0;

// One of cuSPARSE's descriptions, owned.
template <typename T, auto kDestroy>
class Description {
 public:
  Description() = default;
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description() { kDestroy(described_); }
  operator T() const { return described_; }
  T* address() { return &described_; }

 private:
  T described_ = nullptr;
};

class Csr : public Description<cusparseSpMatDescr_t, cusparseDestroySpMat> {
 public:
  Csr(int rows, int cols, int nnz, int* begin, int* column, float* value) {
    check_cusparse(cusparseCreateCsr(address(), rows, cols, nnz, begin, column, value, CUSPARSE_INDEX_32I,
                                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
                   "describing a matrix");
  }
  explicit Csr(const DeviceCsr& m) : Csr(m.rows, m.cols, m.nnz, m.begin, m.column, m.value) {}
};

class Dense : public Description<cusparseDnMatDescr_t, cusparseDestroyDnMat> {
 public:
  Dense(int rows, unsigned cols, std::size_t stride, float* value) {
    check_cusparse(cusparseCreateDnMat(address(), rows, cols, stride, value, CUDA_R_32F, CUSPARSE_ORDER_ROW),
                   "describing a matrix");
  }
};

class ProductPlan : public Description<cusparseSpGEMMDescr_t, cusparseSpGEMM_destroyDescr> {
 public:
  ProductPlan() { check_cusparse(cusparseSpGEMM_createDescr(address()), "planning a product"); }
};

}  // namespace

void check_cusparse(cusparseStatus_t status, const char* what) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw Error(std::string("cuSPARSE: ") + what + " failed: " + cusparseGetErrorString(status));
}

CusparseHandle::CusparseHandle(cudaStream_t stream) {
  check_cusparse(cusparseCreate(&handle_), "starting");
  check_cusparse(cusparseSetStream(handle_, stream), "choosing a stream");
}

void SparseTimesDense::operator()(const DeviceCsr& w, const float* x, float* y, unsigned columns,
                                  std::size_t stride) {
  const Csr a(w);
  const Dense b(w.cols, columns, stride, const_cast<float*>(x)), c(w.rows, columns, stride, y);
  std::size_t bytes = 0;
  check_cusparse(cusparseSpMM_bufferSize(handle_, kAsIs, kAsIs, &kOne, a, b, &kZero, c, CUDA_R_32F,
                                         CUSPARSE_SPMM_CSR_ALG2, &bytes),
                 "asking for a buffer's size");
  buffer_.make_room(bytes + 1);
  check_cusparse(cusparseSpMM(handle_, kAsIs, kAsIs, &kOne, a, b, &kZero, c, CUDA_R_32F,
                              CUSPARSE_SPMM_CSR_ALG2, buffer_.data()),
                 "multiplying");
}

void SparseTimesSparse::operator()(const DeviceCsr& left, const DeviceCsr& right, Result& result) {
  if (!keep_buffers_) {
    result = {};
    for (DeviceArray<std::byte>& buffer : buffers_) buffer = {};
  }
  result.begin.make_room(static_cast<std::size_t>(left.rows) + 1);
  const Csr a(left), b(right), c(left.rows, right.cols, 0, result.begin.data(), nullptr, nullptr);
  const ProductPlan plan;
  std::size_t bytes = 0;
  const auto estimate = [&](void* buffer) {
    check_cusparse(cusparseSpGEMM_workEstimation(handle_, kAsIs, kAsIs, &kOne, a, b, &kZero, c, CUDA_R_32F,
                                                 CUSPARSE_SPGEMM_DEFAULT, plan, &bytes, buffer),
                   "estimating the work");
  };
  const auto compute = [&](void* buffer) {
    check_cusparse(cusparseSpGEMM_compute(handle_, kAsIs, kAsIs, &kOne, a, b, &kZero, c, CUDA_R_32F,
                                          CUSPARSE_SPGEMM_DEFAULT, plan, &bytes, buffer),
                   "multiplying");
  };
  estimate(nullptr);
  buffers_[0].make_room(bytes + 1);
  estimate(buffers_[0].data());
  compute(nullptr);
  buffers_[1].make_room(bytes + 1);
  compute(buffers_[1].data());
  std::int64_t rows = 0, cols = 0, nnz = 0;
  check_cusparse(cusparseSpMatGetSize(c, &rows, &cols, &nnz), "asking for a size");
  result.column.make_room(static_cast<std::size_t>(nnz) + 1);
  result.value.make_room(static_cast<std::size_t>(nnz) + 1);
  result.nnz = nnz;
  check_cusparse(cusparseCsrSetPointers(c, result.begin.data(), result.column.data(), result.value.data()),
                 "describing a matrix");
  check_cusparse(cusparseSpGEMM_copy(handle_, kAsIs, kAsIs, &kOne, a, b, &kZero, c, CUDA_R_32F,
                                     CUSPARSE_SPGEMM_DEFAULT, plan),
                 "copying a product");
  check_cuda(cudaStreamSynchronize(stream_), "multiplying");  // before the descriptions go
}

}  // namespace filigree::internal
