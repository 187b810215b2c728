// SPDX-License-Identifier: Apache-2.0
// SIMD body of dropout, compiled once per target by dropout.cpp.
#if defined(FILIGREE_KERNELS_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_DROPOUT_INL_H_
#undef FILIGREE_KERNELS_DROPOUT_INL_H_
#else
#define FILIGREE_KERNELS_DROPOUT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// A 32-bit mixer of two multiplications whose constants are known for low bias (Wellons, hash-prospector).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V mix(D d, V x) {
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x7feb352du));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(d, 0x846ca68bu));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

void DropOut(std::uint32_t key, std::uint32_t threshold, float scale, float* HWY_RESTRICT x,
             std::size_t count) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, scale);
  const auto limit = hn::Set(du, threshold);
  for (std::size_t i = 0; i < count; i += 32) {
    for (std::size_t part = 0; part < 16; part += lanes) {
      const auto place = hn::Iota(du, static_cast<std::uint32_t>(i / 2 + part));
      const auto number = mix(du, hn::Xor(place, hn::Set(du, key)));
      const auto low = hn::And(number, hn::Set(du, 0xffffu));
      const auto high = hn::ShiftRight<16>(number);
      float* HWY_RESTRICT first = x + i + part;
      float* HWY_RESTRICT second = first + 16;
      const auto keep_first = hn::RebindMask(d, hn::Not(hn::Lt(low, limit)));
      const auto keep_second = hn::RebindMask(d, hn::Not(hn::Lt(high, limit)));
      hn::StoreU(hn::IfThenElseZero(keep_first, hn::Mul(hn::LoadU(d, first), factor)), d, first);
      hn::StoreU(hn::IfThenElseZero(keep_second, hn::Mul(hn::LoadU(d, second), factor)), d, second);
    }
  }
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
