// SPDX-License-Identifier: Apache-2.0
// SuiteSparse:GraphBLAS as a peer.
// The header declares C functions without saying so; what it includes must come before.
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <complex>
extern "C" {
#include <GraphBLAS.h>
}

#include <span>

#include "base/error.h"
#include "peers.h"

namespace filigree::internal {

namespace {

void check(GrB_Info info, const char* what) {
  if (info != GrB_SUCCESS) fail("GraphBLAS: {} failed with {}", what, static_cast<int>(info));
}

void start(int threads) {
  static const GrB_Info started = GrB_init(GrB_NONBLOCKING);
  check(started, "GrB_init");
  check(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads), "setting threads");
}

GrB_Matrix build(GrB_Index rows, GrB_Index cols, std::span<const GrB_Index> row,
                 std::span<const GrB_Index> column, std::span<const float> value) {
  GrB_Matrix matrix = nullptr;
  check(GrB_Matrix_new(&matrix, GrB_FP32, rows, cols), "a matrix");
  check(GrB_Matrix_build_FP32(matrix, row.data(), column.data(), value.data(), row.size(), GrB_PLUS_FP32),
        "building");
  check(GrB_Matrix_wait(matrix, GrB_MATERIALIZE), "waiting");
  return matrix;
}

class GraphBlasPeer final : public ChallengePeer {
 public:
  GraphBlasPeer(const LayerSource& network, const InputRows& inputs, int threads)
      : inputs_(static_cast<GrB_Index>(inputs.rows)), neurons_(static_cast<GrB_Index>(inputs.cols)) {
    start(threads);
    y0_ = make_inputs(inputs);
    for (Index l = 0; l < network.layers(); ++l) {
      const LayerPointer kept = network.layer(l);
      const Layer& layer = *kept;
      weights_.push_back(make_weights(layer));
      bias_.push_back(layer.bias.front());
      cap_ = layer.activation.cap;
    }
  }
  ~GraphBlasPeer() override {
    GrB_Matrix_free(&y0_);
    for (GrB_Matrix& w : weights_) GrB_Matrix_free(&w);
  }
  GraphBlasPeer(const GraphBlasPeer&) = delete;
  GraphBlasPeer& operator=(const GraphBlasPeer&) = delete;

  std::vector<Index> run() override {
    GrB_Matrix y = nullptr;
    check(GrB_Matrix_dup(&y, y0_), "copying the inputs");
    for (std::size_t l = 0; l < weights_.size(); ++l) {
      check(GrB_mxm(y, nullptr, nullptr, GrB_PLUS_TIMES_SEMIRING_FP32, y, weights_[l], nullptr), "mxm");
      check(GrB_Matrix_apply_BinaryOp2nd_FP32(y, nullptr, nullptr, GrB_PLUS_FP32, y, bias_[l], nullptr),
            "adding the bias");
      check(GrB_Matrix_select_FP32(y, nullptr, nullptr, GrB_VALUEGT_FP32, y, 0.0f, nullptr),
            "keeping the positive");
      check(GrB_Matrix_apply_BinaryOp2nd_FP32(y, nullptr, nullptr, GrB_MIN_FP32, y, cap_, nullptr),
            "capping");
    }
    check(GrB_Matrix_wait(y, GrB_MATERIALIZE), "waiting");
    GrB_Vector any = nullptr;
    check(GrB_Vector_new(&any, GrB_FP32, inputs_), "a vector");
    check(GrB_Matrix_reduce_Monoid(any, nullptr, nullptr, GrB_MAX_MONOID_FP32, y, nullptr), "reducing");
    GrB_Index count = 0;
    check(GrB_Vector_nvals(&count, any), "counting");
    std::vector<GrB_Index> rows(count);
    std::vector<float> values(count);
    check(GrB_Vector_extractTuples_FP32(rows.data(), values.data(), &count, any), "extracting");
    GrB_Vector_free(&any);
    GrB_Matrix_free(&y);
    return {rows.begin(), rows.end()};
  }

 private:
  GrB_Matrix make_inputs(const InputRows& inputs) const {
    const std::size_t entries = inputs.nnz();
    std::vector<GrB_Index> row(entries), column(entries);
    std::vector<float> value(entries, 1.0f);
    std::size_t at = 0;
    for (Index r = 0; r < inputs.rows; ++r)
      for (const std::uint16_t c : inputs.row_columns(r)) {
        if (!inputs.binary()) value[at] = inputs.value[at];
        row[at] = r;
        column[at++] = c;
      }
    return build(inputs_, neurons_, row, column, value);
  }

  static GrB_Matrix make_weights(const Layer& layer) {
    const std::size_t entries = layer.weights.nnz();
    std::vector<GrB_Index> row(entries), column(entries);
    for (Index j = 0; j < layer.outputs(); ++j)
      for (std::size_t e = layer.weights.row_begin[j];
           e < static_cast<std::size_t>(layer.weights.row_begin[j + 1]); ++e) {
        row[e] = layer.weights.column[e];  // Y·W: W is inputs × outputs
        column[e] = j;
      }
    return build(layer.inputs(), layer.outputs(), row, column, layer.weights.value);
  }

  GrB_Index inputs_, neurons_;
  GrB_Matrix y0_ = nullptr;
  std::vector<GrB_Matrix> weights_;
  std::vector<float> bias_;
  float cap_ = 0;
};

class GraphBlasProducts final : public ProductPeer {
 public:
  explicit GraphBlasProducts(const ProductInputs& inputs) {
    start(1);
    const GrB_Index rows = inputs.a.rows, cols = inputs.a.cols, batch = inputs.batch;
    std::vector<GrB_Index> row, column;
    for (Index r = 0; r < inputs.a.rows; ++r)
      for (const Index c : inputs.a.row_columns(r)) {
        row.push_back(r);
        column.push_back(c);
      }
    a_ = build(rows, cols, row, column, inputs.a.value);
    row.clear();
    column.clear();
    for (GrB_Index i = 0; i < cols * batch; ++i) {
      row.push_back(i / batch);
      column.push_back(i % batch);
    }
    x_ = build(cols, batch, row, column, inputs.x);  // with all entries, so it is stored as a full matrix
    std::vector<GrB_Index> index(cols);
    for (GrB_Index i = 0; i < cols; ++i) index[i] = i;
    check(GrB_Vector_new(&one_, GrB_FP32, cols), "a vector");
    check(GrB_Vector_build_FP32(one_, index.data(), inputs.x.data(), cols, GrB_PLUS_FP32), "building");
    check(GrB_Vector_wait(one_, GrB_MATERIALIZE), "waiting");
    check(GrB_Vector_new(&one_y_, GrB_FP32, rows), "a vector");
    check(GrB_Matrix_new(&y_, GrB_FP32, rows, batch), "a matrix");
    check(GrB_Matrix_new(&c_, GrB_FP32, rows, cols), "a matrix");
  }
  ~GraphBlasProducts() override {
    for (GrB_Matrix* const matrix : {&a_, &x_, &y_, &c_}) GrB_Matrix_free(matrix);
    for (GrB_Vector* const vector : {&one_, &one_y_}) GrB_Vector_free(vector);
  }
  GraphBlasProducts(const GraphBlasProducts&) = delete;
  GraphBlasProducts& operator=(const GraphBlasProducts&) = delete;

  bool has(Product) const override { return true; }

  void run(Product product) override {
    const GrB_Semiring semiring = GrB_PLUS_TIMES_SEMIRING_FP32;
    switch (product) {
      case Product::spmv:
        check(GrB_mxv(one_y_, nullptr, nullptr, semiring, a_, one_, nullptr), "mxv");
        check(GrB_Vector_wait(one_y_, GrB_MATERIALIZE), "waiting");
        return;
      case Product::spmm:
        check(GrB_mxm(y_, nullptr, nullptr, semiring, a_, x_, nullptr), "mxm");
        check(GrB_Matrix_wait(y_, GrB_MATERIALIZE), "waiting");
        return;
      case Product::spmm_transposed:
        check(GrB_mxm(y_, nullptr, nullptr, semiring, a_, x_, GrB_DESC_T0), "mxm");
        check(GrB_Matrix_wait(y_, GrB_MATERIALIZE), "waiting");
        return;
      case Product::sddmm:  // X Xᵀ where a has entries
        check(GrB_mxm(c_, a_, nullptr, semiring, x_, x_, GrB_DESC_RST1), "mxm");
        check(GrB_Matrix_wait(c_, GrB_MATERIALIZE), "waiting");
        return;
      case Product::spgemm:
        check(GrB_mxm(c_, nullptr, nullptr, semiring, a_, a_, nullptr), "mxm");
        check(GrB_Matrix_wait(c_, GrB_MATERIALIZE), "waiting");
        return;
    }
  }

  std::vector<float> result(Product product) override {
    GrB_Index count = 0;
    std::vector<float> values;
    if (product == Product::spmv) {
      check(GrB_Vector_nvals(&count, one_y_), "counting");
      values.resize(count);
      check(GrB_Vector_extractTuples_FP32(nullptr, values.data(), &count, one_y_), "extracting");
      return values;
    }
    const GrB_Matrix matrix = product == Product::sddmm || product == Product::spgemm ? c_ : y_;
    check(GrB_Matrix_nvals(&count, matrix), "counting");
    values.resize(count);
    check(GrB_Matrix_extractTuples_FP32(nullptr, nullptr, values.data(), &count, matrix), "extracting");
    return values;  // by rows: that is how the matrices are stored
  }

 private:
  GrB_Matrix a_ = nullptr, x_ = nullptr, y_ = nullptr, c_ = nullptr;
  GrB_Vector one_ = nullptr, one_y_ = nullptr;
};

}  // namespace

std::unique_ptr<ProductPeer> make_graphblas_products(const ProductInputs& inputs) {
  return std::make_unique<GraphBlasProducts>(inputs);
}

std::unique_ptr<ChallengePeer> make_graphblas_peer(const LayerSource& network, const InputRows& inputs,
                                                   int threads) {
  return std::make_unique<GraphBlasPeer>(network, inputs, threads);
}

}  // namespace filigree::internal
