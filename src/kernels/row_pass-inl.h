// SPDX-License-Identifier: Apache-2.0
// SIMD bodies of row_pass, compiled once per target by row_pass.cpp.
#if defined(FILIGREE_KERNELS_ROW_PASS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_ROW_PASS_INL_H_
#undef FILIGREE_KERNELS_ROW_PASS_INL_H_
#else
#define FILIGREE_KERNELS_ROW_PASS_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/row_pass.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using RowTag = hn::CappedTag<float, 16>;

// As hn::MulAdd does it on this target: fused or not.
HWY_INLINE float multiply_add(float a, float b, float c) {
#if HWY_NATIVE_FMA
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// Connections of an input from which skipping pays: a shorter list costs less than guessing wrongly where it
// is skipped.
constexpr std::size_t kWorthSkipping = 5;

// The inputs that have weights and are not zero, ascending. Without branches: which they are is hard to
// guess.
std::size_t find_active(const RowMatrix& w, const float* HWY_RESTRICT x, bool skip,
                        std::uint32_t* HWY_RESTRICT active) {
  std::size_t count = 0;
  const auto inputs = static_cast<std::uint32_t>(w.cols);
  for (std::uint32_t i = 0; i < inputs; ++i) {
    active[count] = i;
    const bool has_weights = w.stride > 0 ? w.begin[i] != RowMatrix::kNone : w.begin[i] != w.begin[i + 1];
    count += static_cast<std::size_t>(has_weights & (!skip | !(x[i] == 0)));
  }
  return count;
}

// Sums of four vectors of outputs from `at` on, then of one.
HWY_INLINE void full_block(const RowMatrix& w, const float* HWY_RESTRICT x,
                           const std::uint32_t* HWY_RESTRICT active, std::size_t count, std::size_t at,
                           float* HWY_RESTRICT y) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  for (std::size_t k = 0; k < count; ++k) {
    const float* HWY_RESTRICT from = w.value.data() + w.begin[active[k]] + at;
    const auto v = hn::Set(d, x[active[k]]);
    a = hn::MulAdd(hn::Load(d, from), v, a);
    b = hn::MulAdd(hn::Load(d, from + lanes), v, b);
    c = hn::MulAdd(hn::Load(d, from + 2 * lanes), v, c);
    e = hn::MulAdd(hn::Load(d, from + 3 * lanes), v, e);
  }
  hn::Store(a, d, y + at);
  hn::Store(b, d, y + at + lanes);
  hn::Store(c, d, y + at + 2 * lanes);
  hn::Store(e, d, y + at + 3 * lanes);
}
HWY_INLINE void full_vector(const RowMatrix& w, const float* HWY_RESTRICT x,
                            const std::uint32_t* HWY_RESTRICT active, std::size_t count, std::size_t at,
                            float* HWY_RESTRICT y) {
  const RowTag d;
  auto sum = hn::Zero(d);
  for (std::size_t k = 0; k < count; ++k)
    sum = hn::MulAdd(hn::Load(d, w.value.data() + w.begin[active[k]] + at), hn::Set(d, x[active[k]]), sum);
  hn::Store(sum, d, y + at);
}

void RowPass(const RowMatrix& w, const Epilogue& epilogue, const float* HWY_RESTRICT x, float* HWY_RESTRICT y,
             std::uint32_t* HWY_RESTRICT active, bool skip) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d), padded = w.padded_rows();
  const auto zero = hn::Zero(d);
  const bool worth = w.stride > 0 || w.value.size() >= kWorthSkipping * static_cast<std::size_t>(w.cols);
  const std::size_t count = find_active(w, x, skip && worth, active);
  if (w.stride > 0) {
    std::size_t at = 0;
    for (; at + 4 * lanes <= padded; at += 4 * lanes) full_block(w, x, active, count, at, y);
    for (; at < padded; at += lanes) full_vector(w, x, active, count, at, y);
  } else {
    for (std::size_t o = 0; o < padded; o += lanes) hn::Store(zero, d, y + o);
    const std::uint16_t* HWY_RESTRICT output = w.output.data();
    const float* HWY_RESTRICT value = w.value.data();
    for (std::size_t k = 0; k < count; ++k) {
      const float v = x[active[k]];
      const std::uint32_t end = w.begin[active[k] + 1];
      for (std::uint32_t e = w.begin[active[k]]; e < end; ++e)
        y[output[e]] = multiply_add(value[e], v, y[output[e]]);
    }
  }
  const auto scale = hn::Set(d, epilogue.scale), cap = hn::Set(d, epilogue.activation.cap);
  const bool relu = epilogue.activation.is(Activation::relu);
  const auto outputs = static_cast<std::size_t>(w.rows);
  std::size_t o = 0;
  for (; o + lanes <= outputs; o += lanes) {
    const auto bias = epilogue.bias.empty() ? zero : hn::LoadU(d, epilogue.bias.data() + o);
    auto v = hn::Add(hn::Mul(hn::Load(d, y + o), scale), bias);
    if (relu) {
      v = hn::IfThenElse(hn::Lt(v, zero), zero, v);
      v = hn::IfThenElse(hn::Gt(v, cap), cap, v);
    }
    hn::Store(v, d, y + o);
  }
  for (; o < outputs; ++o) {
    const float scaled = y[o] * epilogue.scale;
    const float v = scaled + (epilogue.bias.empty() ? 0.0f : epilogue.bias[o]);
    y[o] = !relu ? v : v < 0 ? 0.0f : v > epilogue.activation.cap ? epilogue.activation.cap : v;
  }
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FILIGREE_KERNELS_ROW_PASS_INL_H_
