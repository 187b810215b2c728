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
      if (Sparse::InnerIterator(y, r)) live.push_back(static_cast<Index>(r));
    return live;
  }

 private:
  Sparse y0_;
  std::vector<Sparse> weights_;
  std::vector<float> bias_;
  float cap_ = 0;
};

}  // namespace

std::unique_ptr<ChallengePeer> make_eigen_peer(const LayerSource& network, const InputRows& inputs) {
  return std::make_unique<EigenPeer>(network, inputs);
}

}  // namespace filigree::internal
