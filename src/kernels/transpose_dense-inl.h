// SPDX-License-Identifier: Apache-2.0
// SIMD bodies of transpose, compiled once per target by transpose_dense.cpp.
#if defined(FILIGREE_KERNELS_TRANSPOSE_DENSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_TRANSPOSE_DENSE_INL_H_
#undef FILIGREE_KERNELS_TRANSPOSE_DENSE_INL_H_
#else
#define FILIGREE_KERNELS_TRANSPOSE_DENSE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Columns [begin, end), four by four values in registers of 128 bits.
void TransposeColumns(const float* HWY_RESTRICT from, std::size_t rows, std::size_t columns,
                      std::size_t begin, std::size_t end, float* HWY_RESTRICT to) {
#if HWY_TARGET == HWY_SCALAR
  const std::size_t whole_rows = 0, whole = begin;
#else
  const hn::FixedTag<float, 4> d;
  const std::size_t whole_rows = rows / 4 * 4, whole = begin + (end - begin) / 4 * 4;
  for (std::size_t r = 0; r < whole_rows; r += 4)
    for (std::size_t c = begin; c < whole; c += 4) {
      const float* const source = from + r * columns + c;
      float* const target = to + c * rows + r;
      const auto v0 = hn::LoadU(d, source), v1 = hn::LoadU(d, source + columns);
      const auto v2 = hn::LoadU(d, source + 2 * columns), v3 = hn::LoadU(d, source + 3 * columns);
      const auto low02 = hn::InterleaveLower(d, v0, v2), low13 = hn::InterleaveLower(d, v1, v3);
      const auto high02 = hn::InterleaveUpper(d, v0, v2), high13 = hn::InterleaveUpper(d, v1, v3);
      hn::StoreU(hn::InterleaveLower(d, low02, low13), d, target);
      hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, target + rows);
      hn::StoreU(hn::InterleaveLower(d, high02, high13), d, target + 2 * rows);
      hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, target + 3 * rows);
    }
#endif
  for (std::size_t c = begin; c < end; ++c)
    for (std::size_t r = c < whole ? whole_rows : 0; r < rows; ++r) to[c * rows + r] = from[r * columns + c];
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
