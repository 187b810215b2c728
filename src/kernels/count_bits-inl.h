// SPDX-License-Identifier: Apache-2.0
// SIMD body of count_bits, compiled once per target by count_bits.cpp.
#if defined(FILIGREE_KERNELS_COUNT_BITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_COUNT_BITS_INL_H_
#undef FILIGREE_KERNELS_COUNT_BITS_INL_H_
#else
#define FILIGREE_KERNELS_COUNT_BITS_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/count_bits.h"
#include "kernels/packed.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Five bit planes hold up to 31 ones per row: adding columns is a few logical operations on 32 rows at once.
// Planes become floats once per 31 columns.
struct Planes {
  std::uint32_t one = 0, two = 0, four = 0, eight = 0, sixteen = 0;

  // Adds a and b to a plane; returns what is carried to the next.
  static HWY_INLINE std::uint32_t add(std::uint32_t& plane, std::uint32_t a, std::uint32_t b) {
    const std::uint32_t both = plane ^ a;
    const std::uint32_t carry = (plane & a) | (both & b);
    plane = both ^ b;
    return carry;
  }
  static HWY_INLINE std::uint32_t add(std::uint32_t& plane, std::uint32_t a) {
    const std::uint32_t carry = plane & a;
    plane ^= a;
    return carry;
  }
  HWY_INLINE void add_fours(std::uint32_t carry) { sixteen ^= add(eight, add(four, carry)); }
  HWY_INLINE void add_one_column(std::uint32_t a) { add_fours(add(two, add(one, a))); }
  HWY_INLINE void add_four_columns(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t e) {
    const std::uint32_t twos = add(one, a, b);
    add_fours(add(two, twos, add(one, c, e)));
  }
};

void CountBits(const std::uint32_t* HWY_RESTRICT bits, const InputGroups& groups, float* HWY_RESTRICT x) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t inputs = groups.begin.size() - 1;
  const std::uint16_t* HWY_RESTRICT column = groups.column.data();
  for (std::size_t n = 0; n < inputs; ++n) {
    float* HWY_RESTRICT out = x + n * kPanelRows;
    std::uint32_t i = groups.begin[n];
    const std::uint32_t end = groups.begin[n + 1];
    bool first = true;
    do {
      Planes planes;
      const std::uint32_t stop = end - i > 31 ? i + 31 : end;
      for (; i + 4 <= stop; i += 4)
        planes.add_four_columns(bits[column[i]], bits[column[i + 1]], bits[column[i + 2]],
                                bits[column[i + 3]]);
      for (; i < stop; ++i) planes.add_one_column(bits[column[i]]);
      for (std::size_t r = 0; r < kPanelRows; r += lanes) {
        // Bit r + lane of each plane, as 0 or the plane's weight.
        const auto place = hn::Shl(hn::Set(du, std::uint32_t{1} << r), hn::Iota(du, 0));
        const auto plane = [&](std::uint32_t plane_bits, std::uint32_t weight) {
          return hn::IfThenElseZero(hn::TestBit(hn::Set(du, plane_bits), place), hn::Set(du, weight));
        };
        const auto low = hn::Or(plane(planes.one, 1), plane(planes.two, 2));
        const auto high = hn::Or(plane(planes.four, 4), plane(planes.eight, 8));
        const auto count = hn::Or(hn::Or(low, high), plane(planes.sixteen, 16));
        auto value = hn::ConvertTo(d, hn::BitCast(di, count));
        if (!first) value = hn::Add(value, hn::Load(d, out + r));
        hn::Store(value, d, out + r);
      }
      first = false;
    } while (i < end);
  }
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FILIGREE_KERNELS_COUNT_BITS_INL_H_
