// SPDX-License-Identifier: Apache-2.0
// SDDMM: dot products of dense rows, sampled at a sparse pattern: the weight gradient of a sparse layer.
#pragma once

#include <cstddef>
#include <span>

#include "sparse/csr.h"

namespace filigree {

// value[e] = the sum of a[r * batch + i] * b[c * batch + i] over i, for each entry e = (r, c) of the
// pattern, whose own values are not read. a holds pattern.rows * batch values, b pattern.cols * batch,
// value one per entry; batch >= 1. The same bits for any number of threads.
void sddmm(const CsrView& pattern, std::span<const float> a, std::span<const float> b, std::size_t batch,
           std::span<float> value);
void sddmm_reference(const CsrView& pattern, std::span<const float> a, std::span<const float> b,
                     std::size_t batch, std::span<float> value);

}  // namespace filigree
