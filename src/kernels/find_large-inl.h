// SPDX-License-Identifier: Apache-2.0
// SIMD body of find_large, compiled once per target by find_large.cpp.
#if defined(FILIGREE_KERNELS_FIND_LARGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_FIND_LARGE_INL_H_
#undef FILIGREE_KERNELS_FIND_LARGE_INL_H_
#else
#define FILIGREE_KERNELS_FIND_LARGE_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

std::size_t FindLarge(const float* HWY_RESTRICT values, std::size_t count, float bound,
                      std::uint32_t* HWY_RESTRICT place) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t lanes = hn::Lanes(d);
  const auto least = hn::Set(d, bound);
  std::size_t found = 0, i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto large = hn::Ge(hn::Abs(hn::LoadU(d, values + i)), least);
    if (hn::AllFalse(d, large)) continue;  // as a rule
    found += hn::CompressStore(hn::Iota(du, static_cast<std::uint32_t>(i)), hn::RebindMask(du, large), du,
                               place + found);
  }
  for (; i < count; ++i)
    if (std::fabs(values[i]) >= bound) place[found++] = i;
  return found;
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
