// SPDX-License-Identifier: Apache-2.0
// filigree-peers.so: peers have libraries of their own, which nobody but a benchmark is to load.
#include "base/plugin.h"
#include "peers.h"

namespace {

constexpr filigree::internal::Peers kPeers = {
#ifdef FILIGREE_HAS_GRAPHBLAS
    .graphblas = &filigree::internal::make_graphblas_peer,
#endif
#ifdef FILIGREE_HAS_EIGEN
    .eigen = &filigree::internal::make_eigen_peer,
#endif
#ifdef FILIGREE_HAS_GRAPHBLAS
    .graphblas_products = &filigree::internal::make_graphblas_products,
#endif
#ifdef FILIGREE_HAS_EIGEN
    .eigen_products = &filigree::internal::make_eigen_products,
#endif
};

}  // namespace

FILIGREE_PLUGIN(&kPeers)
