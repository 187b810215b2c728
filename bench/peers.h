// SPDX-License-Identifier: Apache-2.0
// What filigree is measured against.
#pragma once

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "network/layer_source.h"
#include "products.h"
#include "sparse/input_rows.h"

namespace filigree::internal {

// A peer holds the network and the inputs in its own format; run() goes from there to the categories.
class ChallengePeer {
 public:
  virtual ~ChallengePeer() = default;
  virtual std::vector<Index> run() = 0;
};

// SuiteSparse:GraphBLAS, four calls per layer: multiply, add the bias, keep the positive, cap.
std::unique_ptr<ChallengePeer> make_graphblas_peer(const LayerSource& network, const InputRows& inputs,
                                                   int threads);

// Eigen's sparse matrices: product, then bias and cap over the entries, pruned. Eigen runs it on one thread.
std::unique_ptr<ChallengePeer> make_eigen_peer(const LayerSource& network, const InputRows& inputs);

// What filigree-peers.so offers: null for those whose libraries were not there to build with.
struct Peers {
  decltype(&make_graphblas_peer) graphblas = nullptr;
  decltype(&make_eigen_peer) eigen = nullptr;
  decltype(&make_graphblas_products) graphblas_products = nullptr;
  decltype(&make_eigen_products) eigen_products = nullptr;
};

// Dense float products n×n×n, as a yardstick.
class DenseGemm {
 public:
  DenseGemm(Index n, int threads);  // warms up
  double fma_rate();                // multiply-adds per second of one more multiplication

 private:
  Index n_;
  int threads_;
  Buffer<float> a_, b_, c_;
};

}  // namespace filigree::internal
