// SPDX-License-Identifier: Apache-2.0
// The products of sparse.h on one core, next to Eigen, GraphBLAS and the copying of the same bytes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/buffer.h"
#include "base/error.h"
#include "base/median.h"
#include "base/plugin.h"
#include "base/random.h"
#include "base/system.h"
#include "filigree/session.h"
#include "peers.h"
#include "products.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kBatch = 32;

class OwnProducts {
 public:
  explicit OwnProducts(const ProductInputs& inputs)
      : inputs_(inputs), columns_(to_csc(inputs.a)), y_(inputs.x.size()), value_(inputs.a.nnz()) {}

  void run(Product product) {
    const CsrView& a = inputs_.a;
    switch (product) {
      case Product::spmv:
        return spmv(a, inputs_.x.first(a.cols), std::span(y_).first(a.rows));
      case Product::spmm:
        return spmm(a, inputs_.x, inputs_.batch, y_);
      case Product::spmm_transposed:
        return spmm_transposed(columns_.view(), inputs_.x, inputs_.batch, y_);
      case Product::sddmm:
        return sddmm(a, inputs_.x, inputs_.x, inputs_.batch, value_);
      case Product::spgemm:
        product_ = spgemm(a, a);
        return;
    }
  }

  std::span<const float> result(Product product) const {
    switch (product) {
      case Product::spmv:
        return std::span(y_).first(inputs_.a.rows);
      case Product::spmm:
      case Product::spmm_transposed:
        return y_;
      case Product::sddmm:
        return value_;
      case Product::spgemm:
        return product_.value;
    }
    return {};
  }

  // Of what must be read and written once at least.
  std::size_t bytes(Product product) const {
    const auto matrix = [](const auto& m, bool values) {
      return (m.rows + 1) * sizeof(Offset) + m.nnz() * (sizeof(Index) + (values ? sizeof(float) : 0));
    };
    const std::size_t dense = inputs_.x.size() * sizeof(float);
    switch (product) {
      case Product::spmv:
        return matrix(inputs_.a, true) + 2 * dense / inputs_.batch;
      case Product::spmm:
      case Product::spmm_transposed:
        return matrix(inputs_.a, true) + 2 * dense;
      case Product::sddmm:
        return matrix(inputs_.a, true) + 2 * dense;
      case Product::spgemm:
        return 2 * matrix(inputs_.a, true) + matrix(product_, true);
    }
    return 0;
  }

 private:
  ProductInputs inputs_;
  CscMatrix columns_;
  std::vector<float> y_, value_;
  CsrMatrix product_;
};

// The best of a few runs within a round, which together take a few milliseconds at least.
double time_runs(const std::function<void()>& run) {
  double best = INFINITY, total = 0;
  for (int i = 0; i < 3 || (total < 2e-3 && i < 100); ++i) {
    const double start = seconds_now();
    run();
    const double seconds = seconds_now() - start;
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

// Products add the same terms in another order: n terms differ by n rounding errors of their magnitude at
// most.
void compare(std::string_view peer, Product product, std::span<const float> ours,
             std::span<const float> theirs, double longest) {
  const std::string_view name = kProductNames[static_cast<std::size_t>(product)];
  if (ours.size() != theirs.size())
    fail("{} of {} has {} values, ours {}", name, peer, theirs.size(), ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i)  // every term is positive: sums are their own magnitude
    if (!(std::abs(double(ours[i]) - theirs[i]) <= 2 * longest * 0x1p-24 * ours[i]))
      fail("{} of {}: value {} is {}, ours {}", name, peer, i, theirs[i], ours[i]);
}

}  // namespace

std::vector<ProductRow> bench_products(const CsrMatrix& matrix, int repeat, const Observer& observer) {
  const Session one_core({.threads = 1});
  const Session::Use use(one_core);
  Random random(11);
  CsrMatrix a = matrix;
  for (float& v : a.value) v = 0.5f + random.uniform();
  std::vector<float> x(kBatch * a.cols);
  for (float& v : x) v = 0.5f + random.uniform();
  const ProductInputs inputs{a.view(), x, kBatch};

  const auto* const built = static_cast<const Peers*>(load_plugin("peers"));
  const Peers peers = built == nullptr ? Peers{} : *built;
  const auto eigen = peers.eigen_products ? peers.eigen_products(inputs) : nullptr;
  const auto graphblas = peers.graphblas_products ? peers.graphblas_products(inputs) : nullptr;

  OwnProducts own(inputs);
  std::vector<ProductRow> rows;
  for (const Product product :
       {Product::spmv, Product::spmm, Product::spmm_transposed, Product::sddmm, Product::spgemm}) {
    observer.check_stop();
    own.run(product);
    const std::size_t bytes = own.bytes(product);
    Buffer<std::byte> from(bytes / 2), to(bytes / 2);
    std::ranges::fill(from, std::byte{1});
    std::vector<double> seconds, to_copy, to_eigen, to_graphblas;
    for (int r = 0; r <= repeat; ++r) {
      const double ours = time_runs([&] { own.run(product); });
      const double copy = time_runs([&] { std::memcpy(to.data(), from.data(), from.size()); });
      const auto time_peer = [&](const char* name, ProductPeer* peer, std::vector<double>& ratios) {
        if (peer == nullptr || !peer->has(product)) return;
        const double theirs = time_runs([&] { peer->run(product); });
        if (r > 0) ratios.push_back(theirs / ours);
        if (r == 0) compare(name, product, own.result(product), peer->result(product), a.cols + kBatch);
      };
      time_peer("Eigen", eigen.get(), to_eigen);
      time_peer("GraphBLAS", graphblas.get(), to_graphblas);
      if (r == 0) continue;  // warms up
      seconds.push_back(ours);
      to_copy.push_back(ours / copy);
    }
    const auto median_or_none = [](std::vector<double>& values) {
      return values.empty() ? 0 : median(values);
    };
    rows.push_back({std::string(kProductNames[static_cast<std::size_t>(product)]), a.rows, a.nnz(),
                    median(seconds), median(to_copy), median_or_none(to_eigen),
                    median_or_none(to_graphblas)});
  }
  return rows;
}

}  // namespace filigree::internal
