// SPDX-License-Identifier: Apache-2.0
// Eigen's sparse matrices as a peer.
#include <Eigen/SparseCore>
#include <algorithm>

#include "peers.h"

namespace filigree::internal {

namespace {

using Sparse = Eigen::SparseMatrix<float, Eigen::RowMajor, std::int32_t>;

class EigenPeer final : public ChallengePeer {
 public:
  EigenPeer(const LayerSource& network, const InputRows& inputs) : y0_(inputs.rows, inputs.cols) {
    std::vector<Eigen::Triplet<float>> entries;
    entries.reserve(inputs.nnz());
    for (Index r = 0; r < inputs.rows; ++r) {
      std::size_t at = inputs.row_begin[r];
      for (const std::uint16_t c : inputs.row_columns(r)) {
        entries.emplace_back(r, c, inputs.binary() ? 1.0f : inputs.value[at]);
        ++at;
      }
    }
    y0_.setFromTriplets(entries.begin(), entries.end());
    for (Index l = 0; l < network.layers(); ++l) {
      const LayerPointer kept = network.layer(l);
      const Layer& layer = *kept;
      std::vector<Eigen::Triplet<float>> weights;
      for (Index j = 0; j < layer.outputs(); ++j) {
        const auto columns = layer.weights.view().row_columns(j);
        const auto values = layer.weights.view().row_values(j);
        for (std::size_t e = 0; e < columns.size(); ++e) weights.emplace_back(columns[e], j, values[e]);
      }
      Sparse& w = weights_.emplace_back(layer.inputs(), layer.outputs());
      w.setFromTriplets(weights.begin(), weights.end());
      bias_.push_back(layer.bias.front());
      cap_ = layer.activation.cap;
    }
  }

  std::vector<Index> run() override {
    Sparse y = y0_;
    for (std::size_t l = 0; l < weights_.size(); ++l) {
      Sparse z = y * weights_[l];
      float* values = z.valuePtr();
      for (Eigen::Index e = 0; e < z.nonZeros(); ++e)
        values[e] = std::min(std::max(values[e] + bias_[l], 0.0f), cap_);
      z.prune(0.0f);
      y.swap(z);
    }
    std::vector<Index> live;
    for (Eigen::Index r = 0; r < y.rows(); ++r)
      if (Sparse::InnerIterator(y, r)) live.push_back(r);
    return live;
  }

 private:
  Sparse y0_;
  std::vector<Sparse> weights_;
  std::vector<float> bias_;
  float cap_ = 0;
};

class EigenProducts final : public ProductPeer {
 public:
  explicit EigenProducts(const ProductInputs& inputs) : a_(inputs.a.rows, inputs.a.cols) {
    std::vector<Eigen::Triplet<float>> entries;
    for (Index r = 0; r < inputs.a.rows; ++r) {
      const auto columns = inputs.a.row_columns(r);
      const auto values = inputs.a.row_values(r);
      for (std::size_t e = 0; e < columns.size(); ++e) entries.emplace_back(r, columns[e], values[e]);
    }
    a_.setFromTriplets(entries.begin(), entries.end());
    const Eigen::Index width = inputs.batch;
    x_ = Eigen::Map<const Dense>(inputs.x.data(), inputs.a.cols, width);
    one_ = Eigen::Map<const Eigen::VectorXf>(inputs.x.data(), inputs.a.cols);
    y_.resize(inputs.a.rows, width);
  }

  bool has(Product product) const override { return product != Product::sddmm; }

  void run(Product product) override {
    switch (product) {
      case Product::spmv:
        one_y_.noalias() = a_ * one_;
        return;
      case Product::spmm:
        y_.noalias() = a_ * x_;
        return;
      case Product::spmm_transposed:
        y_.noalias() = a_.transpose() * x_;
        return;
      case Product::sddmm:
        return;
      case Product::spgemm:
        c_ = a_ * a_;
        return;
    }
  }

  std::vector<float> result(Product product) override {
    if (product == Product::spmv) return {one_y_.data(), one_y_.data() + one_y_.size()};
    if (product == Product::spgemm) return {c_.valuePtr(), c_.valuePtr() + c_.nonZeros()};
    return {y_.data(), y_.data() + y_.size()};
  }

 private:
  using Dense = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Sparse a_, c_;
  Dense x_, y_;
  Eigen::VectorXf one_, one_y_;
};

}  // namespace

std::unique_ptr<ProductPeer> make_eigen_products(const ProductInputs& inputs) {
  return std::make_unique<EigenProducts>(inputs);
}

std::unique_ptr<ChallengePeer> make_eigen_peer(const LayerSource& network, const InputRows& inputs) {
  return std::make_unique<EigenPeer>(network, inputs);
}

}  // namespace filigree::internal
