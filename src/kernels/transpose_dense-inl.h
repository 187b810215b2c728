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

constexpr std::size_t kSide = 16;  // values of a cache line

#if HWY_TARGET != HWY_SCALAR
// A square of 16 rows and columns by way of the stack. Where rows lie 4 KiB apart their lines drive each
// other out of L1, so each is read at once and written at once: 128 × 1024 values take 21 µs, and 35 back;
// written in parts, 24 and 86; read in parts, 44 and 24. One core of an AMD EPYC (Zen 5).
HWY_INLINE void transpose_square(const float* HWY_RESTRICT from, std::size_t from_stride,
                                 float* HWY_RESTRICT to, std::size_t to_stride) {
  const hn::CappedTag<float, kSide> wide;
  const hn::FixedTag<float, 4> d;
  const std::size_t lanes = hn::Lanes(wide);
  HWY_ALIGN float here[kSide * kSide], there[kSide * kSide];
  for (std::size_t r = 0; r < kSide; ++r)
    for (std::size_t c = 0; c < kSide; c += lanes)
      hn::Store(hn::LoadU(wide, from + r * from_stride + c), wide, here + r * kSide + c);
  for (std::size_t r = 0; r < kSide; r += 4)
    for (std::size_t c = 0; c < kSide; c += 4) {
      const float* const source = here + r * kSide + c;
      float* const target = there + c * kSide + r;
      const auto v0 = hn::Load(d, source), v1 = hn::Load(d, source + kSide);
      const auto v2 = hn::Load(d, source + 2 * kSide), v3 = hn::Load(d, source + 3 * kSide);
      const auto low02 = hn::InterleaveLower(d, v0, v2), low13 = hn::InterleaveLower(d, v1, v3);
      const auto high02 = hn::InterleaveUpper(d, v0, v2), high13 = hn::InterleaveUpper(d, v1, v3);
      hn::Store(hn::InterleaveLower(d, low02, low13), d, target);
      hn::Store(hn::InterleaveUpper(d, low02, low13), d, target + kSide);
      hn::Store(hn::InterleaveLower(d, high02, high13), d, target + 2 * kSide);
      hn::Store(hn::InterleaveUpper(d, high02, high13), d, target + 3 * kSide);
    }
  for (std::size_t c = 0; c < kSide; ++c)
    for (std::size_t r = 0; r < kSide; r += lanes)
      hn::StoreU(hn::Load(wide, there + c * kSide + r), wide, to + c * to_stride + r);
}
#endif

// Rows [begin, end): side by side, because far fewer pages are read at a time than one below the other.
void TransposeRows(const float* HWY_RESTRICT from, std::size_t rows, std::size_t columns, std::size_t begin,
                   std::size_t end, float* HWY_RESTRICT to) {
  std::size_t whole_rows = begin, whole = 0;
#if HWY_TARGET != HWY_SCALAR
  whole_rows = begin + (end - begin) / kSide * kSide;
  whole = columns / kSide * kSide;
  for (std::size_t r = begin; r < whole_rows; r += kSide)
    for (std::size_t c = 0; c < whole; c += kSide)
      transpose_square(from + r * columns + c, columns, to + c * rows + r, rows);
#endif
  for (std::size_t r = begin; r < end; ++r)
    for (std::size_t c = r < whole_rows ? whole : 0; c < columns; ++c)
      to[c * rows + r] = from[r * columns + c];
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
