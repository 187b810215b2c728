// SPDX-License-Identifier: Apache-2.0
// The products of sparse.h as a peer computes them.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "filigree/bench.h"
#include "filigree/sparse.h"

namespace filigree::internal {

enum class Product { spmv, spmm, spmm_transposed, sddmm, spgemm };
inline constexpr std::array<std::string_view, 5> kProductNames = {"spmv", "spmm", "spmm-transposed", "sddmm",
                                                                  "spgemm"};

struct ProductInputs {
  CsrView a;                 // square
  std::span<const float> x;  // a.cols × batch, neuron-major; spmv takes the first a.cols values
  std::size_t batch = 0;
};

// Holds the matrix and the dense inputs in its own formats; run() is what is timed.
class ProductPeer {
 public:
  virtual ~ProductPeer() = default;
  virtual bool has(Product product) const = 0;
  virtual void run(Product product) = 0;
  // Of the last run: the dense result row by row, or the values of the sparse one.
  virtual std::vector<float> result(Product product) = 0;
};

std::unique_ptr<ProductPeer> make_eigen_products(const ProductInputs& inputs);
std::unique_ptr<ProductPeer> make_graphblas_products(const ProductInputs& inputs);  // on one thread

// Each product on one core, interleaved with the peers and with copying as many bytes as it moves at least.
std::vector<ProductRow> bench_products(const CsrMatrix& matrix, int repeat, const Observer& observer);

}  // namespace filigree::internal
