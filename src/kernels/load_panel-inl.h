// SIMD bodies of load_panel, compiled once per target by load_panel.cpp.
#if defined(FILIGREE_KERNELS_LOAD_PANEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_LOAD_PANEL_INL_H_
#undef FILIGREE_KERNELS_LOAD_PANEL_INL_H_
#else
#define FILIGREE_KERNELS_LOAD_PANEL_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/load_panel.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// The mean and the scale of each feature, whether there is one, one each or none.
struct Steps {
  const float* mean;
  const float* scale;
  std::size_t mean_step, scale_step;

  explicit Steps(const Affine& affine)
      : mean(affine.mean.empty() ? &kZero : affine.mean.data()),
        scale(affine.scale.empty() ? &kOne : affine.scale.data()),
        mean_step(affine.mean.size() > 1 ? 1 : 0),
        scale_step(affine.scale.size() > 1 ? 1 : 0) {}
  template <class D>
  HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> v, std::size_t feature) const {
    return hn::Mul(hn::Sub(v, hn::Set(d, mean[feature * mean_step])),
                   hn::Set(d, scale[feature * scale_step]));
  }
  HWY_INLINE float apply(float v, std::size_t feature) const {
    const float shifted = v - mean[feature * mean_step];
    return shifted * scale[feature * scale_step];
  }

 private:
  static constexpr float kZero = 0, kOne = 1;
};

constexpr std::size_t kBlock = 16;  // rows and features of a block

// Value by value, where there are too few features for a block.
template <typename T>
void load_plainly(const T* const* row, std::size_t rows, std::size_t features, const Steps& steps,
                  std::size_t stride, float* HWY_RESTRICT x) {
  for (std::size_t n = 0; n < features; ++n)
    for (std::size_t b = 0; b < rows; ++b) x[n * stride + b] = steps.apply(static_cast<float>(row[b][n]), n);
}

#if HWY_TARGET != HWY_SCALAR

// Rows drawn at random are too short for the hardware's prefetcher to catch on: each row's cache lines are
// asked for kAhead bytes early, the first ones at once.
template <typename T>
HWY_INLINE void fetch_ahead(const T* const* row, std::size_t feature, std::size_t features) {
  constexpr std::size_t kLine = 64 / sizeof(T), kAhead = 3 * kLine;
  if (feature % kLine != 0) return;
  for (std::size_t first = feature == 0 ? kLine : kAhead; first <= kAhead; first += kLine)
    if (feature + first < features)
      for (std::size_t i = 0; i < kBlock; ++i) hwy::Prefetch(row[i] + feature + first);
}

// 16 rows × 16 features of bytes. Interleaving vector i with vector i + 8 moves the top bit of a byte's row
// number to the bottom of its address; four times that exchanges rows and columns.
HWY_INLINE void load_block(const std::uint8_t* const* row, std::size_t feature, const Steps& steps,
                           std::size_t stride, float* HWY_RESTRICT x) {
  const hn::FixedTag<std::uint8_t, kBlock> d8;
  using Bytes = hn::Vec<decltype(d8)>;
  Bytes a[kBlock], b[kBlock];
  const auto interleave = [&](const Bytes* HWY_RESTRICT from, Bytes* HWY_RESTRICT to) HWY_ATTR {
    HWY_UNROLL(8)
    for (std::size_t i = 0; i < kBlock / 2; ++i) {
      to[2 * i] = hn::InterleaveLower(d8, from[i], from[i + kBlock / 2]);
      to[2 * i + 1] = hn::InterleaveUpper(d8, from[i], from[i + kBlock / 2]);
    }
  };
  HWY_UNROLL(16)
  for (std::size_t i = 0; i < kBlock; ++i) a[i] = hn::LoadU(d8, row[i] + feature);
  interleave(a, b);
  interleave(b, a);
  interleave(a, b);
  interleave(b, a);
  // Through memory, because widening takes its bytes from there on every target at no extra cost.
  HWY_ALIGN std::uint8_t bytes[kBlock * kBlock];
  HWY_UNROLL(16)
  for (std::size_t i = 0; i < kBlock; ++i) hn::Store(a[i], d8, bytes + i * kBlock);
  const hn::CappedTag<float, kBlock> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> d_narrow;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < kBlock; ++i) {
    float* HWY_RESTRICT to = x + (feature + i) * stride;
    for (std::size_t lane = 0; lane < kBlock; lane += lanes) {
      const auto wide = hn::PromoteTo(di, hn::LoadU(d_narrow, bytes + i * kBlock + lane));
      hn::Store(steps.apply(d, hn::ConvertTo(d, wide), feature + i), d, to + lane);
    }
  }
}

// 16 rows × 16 features of floats, in 4 × 4 blocks: wider ones cross 128-bit lanes, and the memory these rows
// come from is slower than this either way.
HWY_INLINE void load_block(const float* const* row, std::size_t feature, const Steps& steps,
                           std::size_t stride, float* HWY_RESTRICT x) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> d2;
  const auto low = [&](auto a, auto b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveLower(d2, hn::BitCast(d2, a), hn::BitCast(d2, b)));
  };
  const auto high = [&](auto a, auto b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveUpper(d2, hn::BitCast(d2, a), hn::BitCast(d2, b)));
  };
  for (std::size_t b = 0; b < kBlock; b += 4) {
    for (std::size_t n = feature; n < feature + kBlock; n += 4) {
      const auto r0 = hn::LoadU(d, row[b] + n), r1 = hn::LoadU(d, row[b + 1] + n);
      const auto r2 = hn::LoadU(d, row[b + 2] + n), r3 = hn::LoadU(d, row[b + 3] + n);
      const auto low01 = hn::InterleaveLower(d, r0, r1), low23 = hn::InterleaveLower(d, r2, r3);
      const auto high01 = hn::InterleaveUpper(d, r0, r1), high23 = hn::InterleaveUpper(d, r2, r3);
      float* HWY_RESTRICT to = x + n * stride + b;
      hn::Store(steps.apply(d, low(low01, low23), n), d, to);
      hn::Store(steps.apply(d, high(low01, low23), n + 1), d, to + stride);
      hn::Store(steps.apply(d, low(high01, high23), n + 2), d, to + 2 * stride);
      hn::Store(steps.apply(d, high(high01, high23), n + 3), d, to + 3 * stride);
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

// Blocks of features outside, rows inside: x is written in order, and of each row one or two cache lines are
// in use at a time. 32 rows of 784 bytes take 3.1 µs from cache, 4.1 µs in order from memory and 3.9 µs in
// random order (15 µs without fetch_ahead); of 784 floats 5.7, 6.7 and 7.7 µs. The 100 kB written are bound
// by L2 at about 2 µs. One core of a Xeon of family 6, model 207, AVX-512.
template <typename T>
HWY_INLINE void load(const T* HWY_RESTRICT data, std::size_t features, std::span<const Index> rows,
                     const Affine& affine, std::size_t stride, float* HWY_RESTRICT x) {
  const Steps steps(affine);
  constexpr std::size_t kStrip = 16 * kBlock;  // rows whose addresses are held at a time
  const T* row[kStrip];
  for (std::size_t strip = 0; strip < rows.size(); strip += kStrip) {
    const std::size_t count = std::min(kStrip, rows.size() - strip);
    const std::size_t blocks = (count + kBlock - 1) / kBlock;
    for (std::size_t b = 0; b < blocks * kBlock; ++b)  // the last block is filled up with the last row
      row[b] = data + static_cast<std::size_t>(rows[strip + std::min(b, count - 1)]) * features;
    float* HWY_RESTRICT to = x + strip;
#if HWY_TARGET == HWY_SCALAR
    load_plainly(row, blocks * kBlock, features, steps, stride, to);
#else
    std::size_t n = 0;
    for (; n + kBlock <= features; n += kBlock)
      for (std::size_t b = 0; b < blocks; ++b) {
        fetch_ahead(row + b * kBlock, n, features);
        load_block(row + b * kBlock, n, steps, stride, to + b * kBlock);
      }
    if (n == features) continue;
    if (features < kBlock) {
      load_plainly(row, blocks * kBlock, features, steps, stride, to);
      continue;
    }
    for (std::size_t b = 0; b < blocks; ++b)  // once more over a few features that are done
      load_block(row + b * kBlock, features - kBlock, steps, stride, to + b * kBlock);
#endif
  }
  if (rows.size() == stride) return;
  for (std::size_t n = 0; n < features; ++n)
    std::fill(x + n * stride + rows.size(), x + (n + 1) * stride, 0.0f);
}

void LoadPanelBytes(const std::uint8_t* data, std::size_t features, std::span<const Index> rows,
                    const Affine& affine, std::size_t stride, float* x) {
  load(data, features, rows, affine, stride, x);
}

void LoadPanelFloats(const float* data, std::size_t features, std::span<const Index> rows,
                     const Affine& affine, std::size_t stride, float* x) {
  load(data, features, rows, affine, stride, x);
}

}  // namespace
}  // namespace filigree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FILIGREE_KERNELS_LOAD_PANEL_INL_H_
