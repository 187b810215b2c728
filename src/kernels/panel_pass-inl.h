// SPDX-License-Identifier: Apache-2.0
// SIMD bodies of the products of training, compiled once per target by panel_pass.cpp.
#if defined(FILIGREE_KERNELS_PANEL_PASS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_PANEL_PASS_INL_H_
#undef FILIGREE_KERNELS_PANEL_PASS_INL_H_
#else
#define FILIGREE_KERNELS_PANEL_PASS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/panel_pass.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {  // helpers of several kernels may share a name
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;
// Some vectors of a neuron's samples. Several rows are under way at once, so that eight or more chains of
// additions hide their latency.
template <std::size_t kVectors>
struct Strip {
  Vec v[kVectors];

  static HWY_INLINE Strip set(Vec x) {
    Strip s;
    for (Vec& v : s.v) v = x;
    return s;
  }
  HWY_INLINE void add_product(Tag d, Vec factor, const float* HWY_RESTRICT x) {
    for (std::size_t i = 0; i < kVectors; ++i)
      v[i] = hn::MulAdd(factor, hn::Load(d, x + i * hn::Lanes(d)), v[i]);
  }
};

// A row of connections and its sum so far.
template <std::size_t kRows, std::size_t kVectors>
struct Row {
  const std::uint16_t* HWY_RESTRICT column;
  const float* HWY_RESTRICT value;
  Strip<kVectors> sum;

  HWY_INLINE void connect(Tag d, const float* HWY_RESTRICT x, std::size_t e) {
    sum.add_product(d, hn::Set(d, value[e]), x + std::size_t{column[e]} * kRows);
  }
  // Four columns in one load: the load ports are what the loop waits for.
  HWY_INLINE void connect_four(Tag d, const float* HWY_RESTRICT x, std::size_t e) {
    std::uint64_t columns;
    std::memcpy(&columns, column + e, sizeof(columns));
    for (std::size_t i = 0; i < 4; ++i)
      sum.add_product(d, hn::Set(d, value[e + i]), x + (columns >> (16 * i) & 0xffff) * kRows);
  }
};

// One strip of a panel through a layer.
template <std::size_t kRows, std::size_t kVectors>
struct StripPass {
  const Pattern& w;
  const float* HWY_RESTRICT value;
  const float* HWY_RESTRICT bias;  // or null
  const float* HWY_RESTRICT gate;  // or null
  bool relu;
  const float* HWY_RESTRICT x;
  float* HWY_RESTRICT y;

  HWY_INLINE void finish(Tag d, const Strip<kVectors>& sum, std::size_t row) const {
    const Vec zero = hn::Zero(d);
    for (std::size_t i = 0; i < kVectors; ++i) {
      const std::size_t at = row * kRows + i * hn::Lanes(d);
      Vec out = sum.v[i];
      if (relu) out = hn::IfThenElse(hn::Lt(out, zero), zero, out);  // a NaN stays one
      if (gate != nullptr) out = hn::IfThenElseZero(hn::Gt(hn::Load(d, gate + at), zero), out);
      hn::Store(out, d, y + at);
    }
  }

  // kCount rows of one length.
  template <std::size_t kCount>
  HWY_INLINE void multiply(Tag d, const std::uint32_t* HWY_RESTRICT rows, std::size_t length) const {
    Row<kRows, kVectors> row[kCount];
    for (std::size_t k = 0; k < kCount; ++k) {
      const std::size_t begin = w.row_begin[rows[k]];
      const Vec start = bias == nullptr ? hn::Zero(d) : hn::Set(d, bias[rows[k]]);
      row[k] = {w.column.data() + begin, value + begin, Strip<kVectors>::set(start)};
    }
    std::size_t e = 0;
    for (; e + 4 <= length; e += 4)
      for (std::size_t k = 0; k < kCount; ++k) row[k].connect_four(d, x, e);
    for (; e < length; ++e)
      for (std::size_t k = 0; k < kCount; ++k) row[k].connect(d, x, e);
    for (std::size_t k = 0; k < kCount; ++k) finish(d, row[k].sum, rows[k]);
  }
};

template <std::size_t kRows, std::size_t kVectors, std::size_t kTogether>
HWY_INLINE void multiply_strips(const Pattern& w, const float* HWY_RESTRICT value,
                                const float* HWY_RESTRICT bias, const PanelEpilogue& epilogue,
                                const float* HWY_RESTRICT x, float* HWY_RESTRICT y) {
  const Tag d;
  for (std::size_t strip = 0; strip < kRows; strip += kVectors * hn::Lanes(d)) {
    const float* gate = epilogue.gate == nullptr ? nullptr : epilogue.gate + strip;
    const StripPass<kRows, kVectors> pass{w, value, bias, gate, epilogue.relu, x + strip, y + strip};
    const std::uint32_t* HWY_RESTRICT rows = w.order.data();
    for (const Pattern::Run& run : w.runs) {
      std::uint32_t left = run.rows;
      for (; left >= kTogether; left -= kTogether, rows += kTogether)
        pass.template multiply<kTogether>(d, rows, run.length);
      for (; left > 0; --left, ++rows) pass.template multiply<1>(d, rows, run.length);
    }
  }
}

void MultiplyPanel(const Pattern& w, const float* HWY_RESTRICT value, const float* HWY_RESTRICT bias,
                   const PanelEpilogue& epilogue, const float* HWY_RESTRICT x, float* HWY_RESTRICT y,
                   std::size_t panel_rows) {
  if (panel_rows == kWidePanelRows)
    multiply_strips<kWidePanelRows, 4, 2>(w, value, bias, epilogue, x, y);
  else
    multiply_strips<kPanelRows, 2, 4>(w, value, bias, epilogue, x, y);
}

// The products of two neurons' samples, added up to one vector; what remains is the sum of its lanes.
template <std::size_t kRows>
HWY_INLINE Vec products(Tag d, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b) {
  const std::size_t lanes = hn::Lanes(d);
  Vec sum = hn::Mul(hn::Load(d, a), hn::Load(d, b));
  for (std::size_t i = lanes; i < kRows; i += lanes)
    sum = hn::MulAdd(hn::Load(d, a + i), hn::Load(d, b + i), sum);
  return sum;
}

#undef FILIGREE_SHARED_SUMS
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && !HWY_HAVE_SCALABLE
#define FILIGREE_SHARED_SUMS 1

// Sums of lanes for as many vectors as a vector has lanes, in steps. Sharing the additions takes 3 operations
// a vector, a sum of lanes by itself 6 to 8.

// In each block of four lanes, lane i holds a part of the sum of the i-th argument.
HWY_INLINE Vec sums_of_four(Tag d, Vec a, Vec b, Vec c, Vec e) {
  const hn::Repartition<double, Tag> d64;
  const Vec ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const Vec ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto ab64 = hn::BitCast(d64, ab);
  const auto ce64 = hn::BitCast(d64, ce);
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, ab64, ce64)),
                 hn::BitCast(d, hn::InterleaveUpper(d64, ab64, ce64)));
}

// Adds to `to` the sums of as many vectors as fit; four() gives those of the next four.
template <typename Four>
HWY_INLINE void add_sums(Tag d, const Four& four, float* HWY_RESTRICT to) {
  constexpr std::size_t kLanes = hn::MaxLanes(Tag());
  if constexpr (kLanes == 4) {
    hn::StoreU(hn::Add(hn::LoadU(d, to), four()), d, to);
  } else if constexpr (kLanes == 8) {
    const Vec p = four();
    const Vec q = four();
    const Vec sums = hn::Add(hn::ConcatLowerLower(d, q, p), hn::ConcatUpperUpper(d, q, p));
    hn::StoreU(hn::Add(hn::LoadU(d, to), sums), d, to);
  } else {
    const Vec p = four();
    const Vec q = four();
    const Vec r = four();
    const Vec s = four();
    const Vec pr = hn::Add(hn::ConcatLowerLower(d, r, p), hn::ConcatUpperUpper(d, r, p));  // p p r r
    const Vec qs = hn::Add(hn::ConcatLowerLower(d, s, q), hn::ConcatUpperUpper(d, s, q));  // q q s s
    const Vec even = hn::OddEvenBlocks(qs, pr);                                            // p q r s
    const Vec odd = hn::SwapAdjacentBlocks(hn::OddEvenBlocks(pr, qs));                     // p q r s
    hn::StoreU(hn::Add(hn::LoadU(d, to), hn::Add(even, odd)), d, to);
  }
}
#endif

// Walks over the connections; the row of each follows from row_begin.
template <std::size_t kRows>
struct Walk {
  const Pattern& w;
  std::size_t entry, row;

  // The places of the next connection's row and column in their panels.
  HWY_INLINE void next(std::size_t& y, std::size_t& x) {
    while (entry >= w.row_begin[row + 1]) ++row;
    y = row * kRows;
    x = std::size_t{w.column[entry++]} * kRows;
  }
};

// Sixteen connections at a time, whatever their rows: best for short rows. A stored row for each connection,
// or products that pass through memory, are slower by a fifth to a third.
template <std::size_t kRows>
HWY_INLINE void add_gradients(const Pattern& w, const float* HWY_RESTRICT y, const float* HWY_RESTRICT x,
                              float* HWY_RESTRICT gradient) {
  const Tag d;
  Walk<kRows> walk{w, 0, 0};
  const std::size_t entries = w.column.size();
  const auto next = [&]() HWY_ATTR {
    std::size_t at_y, at_x;
    walk.next(at_y, at_x);
    return products<kRows>(d, y + at_y, x + at_x);
  };
#ifdef FILIGREE_SHARED_SUMS
  constexpr std::size_t kLanes = hn::MaxLanes(Tag());
  for (; walk.entry + kLanes <= entries;) {
    float* HWY_RESTRICT to = gradient + walk.entry;
    const auto four = [&]() HWY_ATTR {
      const Vec a = next();
      const Vec b = next();
      const Vec c = next();
      const Vec e = next();
      return sums_of_four(d, a, b, c, e);
    };
    add_sums(d, four, to);
  }
#endif
  while (walk.entry < entries) {
    float* HWY_RESTRICT to = gradient + walk.entry;
    *to += hn::GetLane(hn::SumOfLanes(d, next()));
  }
}

// Connections a row from which taking rows one by one pays: 40 % faster at 9 and more, 5 % slower at 3.
constexpr std::size_t kLongRow = 6;
#ifdef FILIGREE_SHARED_SUMS
// The sum of all blocks of four lanes.
template <class D>
HWY_INLINE hn::Vec<hn::CappedTag<float, 4>> sum_of_blocks(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The same row by row, with the row's own samples in registers.
template <std::size_t kRows>
HWY_INLINE void add_gradients_by_row(const Pattern& w, const float* HWY_RESTRICT y,
                                     const float* HWY_RESTRICT x, float* HWY_RESTRICT gradient) {
  const Tag d;
  constexpr std::size_t kLanes = hn::MaxLanes(Tag());
  constexpr std::size_t kVectors = kRows / kLanes;
  for (Index r = 0; r < w.rows; ++r) {
    Vec own[kVectors];
    for (std::size_t i = 0; i < kVectors; ++i) own[i] = hn::Load(d, y + r * kRows + i * kLanes);
    const std::size_t end = w.row_begin[r + 1];
    std::size_t e = w.row_begin[r];
    const auto connection = [&](std::size_t entry) HWY_ATTR {
      const float* HWY_RESTRICT from = x + std::size_t{w.column[entry]} * kRows;
      Vec sum = hn::Mul(own[0], hn::Load(d, from));
      for (std::size_t i = 1; i < kVectors; ++i)
        sum = hn::MulAdd(own[i], hn::Load(d, from + i * kLanes), sum);
      return sum;
    };
    const auto four = [&]() HWY_ATTR {
      e += 4;
      const Vec a = connection(e - 4);
      const Vec b = connection(e - 3);
      const Vec c = connection(e - 2);
      return sums_of_four(d, a, b, c, connection(e - 1));
    };
    while (e + kLanes <= end) add_sums(d, four, gradient + e);
    const hn::CappedTag<float, 4> d4;
    while (e + 4 <= end) {
      float* HWY_RESTRICT to = gradient + e;
      hn::StoreU(hn::Add(hn::LoadU(d4, to), sum_of_blocks(d, four())), d4, to);
    }
    for (; e < end; ++e) gradient[e] += hn::GetLane(hn::SumOfLanes(d, connection(e)));
  }
}
#endif

void GradientPanel(const Pattern& w, const float* HWY_RESTRICT y, const float* HWY_RESTRICT x,
                   float* HWY_RESTRICT gradient, std::size_t panel_rows) {
#ifdef FILIGREE_SHARED_SUMS
  if (panel_rows == kWidePanelRows && hn::MaxLanes(Tag()) >= 8 &&
      w.column.size() >= kLongRow * static_cast<std::size_t>(w.rows))
    return add_gradients_by_row<kWidePanelRows>(w, y, x, gradient);
#endif
  if (panel_rows == kWidePanelRows)
    add_gradients<kWidePanelRows>(w, y, x, gradient);
  else
    add_gradients<kPanelRows>(w, y, x, gradient);
}

#ifdef FILIGREE_SHARED_SUMS
constexpr std::uint32_t kWorthAsking = 8;  // connections

template <std::size_t kVectors>
HWY_INLINE bool all_zero(Tag d, const Vec* own) {
  Vec bits = own[0];
  for (std::size_t i = 1; i < kVectors; ++i) bits = hn::Or(bits, own[i]);
  return hn::AllTrue(d, hn::Eq(bits, hn::Zero(d)));
}

// Each vector of delta serves the sum and the gradient while it is in a register: 5 % less time than one
// after the other at 90 % sparsity, 15 % at 97 % and 20 % at 99 % (784-256-256-256-10, AVX-512). What is left
// is bound by arithmetic: eight multiply-adds and about three operations of the sums of lanes a connection.
template <std::size_t kRows>
HWY_INLINE void pass_back(const Pattern& w, const float* HWY_RESTRICT value, bool gated,
                          const float* HWY_RESTRICT x, const float* HWY_RESTRICT delta,
                          float* HWY_RESTRICT next, float* HWY_RESTRICT gradient) {
  const Tag d;
  constexpr std::size_t kLanes = hn::MaxLanes(Tag());
  constexpr std::size_t kVectors = kRows / kLanes;
  const Vec zero = hn::Zero(d);
  // The products of connections wait here until there are as many as a vector has lanes.
  HWY_ALIGN float waiting[kLanes * kLanes];
  std::size_t count = 0;
  const auto flush = [&]() HWY_ATTR {
    const float* HWY_RESTRICT from = waiting;
    const auto four = [&]() HWY_ATTR {
      const Vec a = hn::Load(d, from), b = hn::Load(d, from + kLanes);
      const Vec c = hn::Load(d, from + 2 * kLanes), e = hn::Load(d, from + 3 * kLanes);
      from += 4 * kLanes;
      return sums_of_four(d, a, b, c, e);
    };
    add_sums(d, four, gradient);
    gradient += kLanes;
    count = 0;
  };
  const std::uint16_t* HWY_RESTRICT columns = w.column.data();
  const std::uint32_t* HWY_RESTRICT row_begin = w.row_begin.data();
  const auto rows = static_cast<std::size_t>(w.rows);
  std::size_t entry = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    Vec own[kVectors], sum[kVectors];
    for (std::size_t i = 0; i < kVectors; ++i) {
      own[i] = hn::Load(d, x + r * kRows + i * kLanes);
      sum[i] = zero;
    }
    // A relu that no sample woke: nothing comes or goes through it. Asking costs a wrong guess now and then,
    // which short rows do not earn back.
    if (gated && row_begin[r + 1] - row_begin[r] >= kWorthAsking && all_zero<kVectors>(d, own)) {
      for (std::size_t i = 0; i < kVectors; ++i) hn::Store(zero, d, next + r * kRows + i * kLanes);
      for (const std::size_t end = row_begin[r + 1]; entry < end; ++entry) {
        hn::Store(zero, d, waiting + count * kLanes);
        if (++count == kLanes) flush();
      }
      continue;
    }
    for (const std::size_t end = row_begin[r + 1]; entry < end; ++entry) {
      const float* HWY_RESTRICT from = delta + std::size_t{columns[entry]} * kRows;
      const Vec weight = hn::Set(d, value[entry]);
      Vec part = hn::Load(d, from);
      sum[0] = hn::MulAdd(weight, part, sum[0]);
      Vec products = hn::Mul(own[0], part);
      for (std::size_t i = 1; i < kVectors; ++i) {
        part = hn::Load(d, from + i * kLanes);
        sum[i] = hn::MulAdd(weight, part, sum[i]);
        products = hn::MulAdd(own[i], part, products);
      }
      hn::Store(products, d, waiting + count * kLanes);
      if (++count == kLanes) flush();
    }
    for (std::size_t i = 0; i < kVectors; ++i) {
      const Vec out = gated ? hn::IfThenElseZero(hn::Gt(own[i], zero), sum[i]) : sum[i];
      hn::Store(out, d, next + r * kRows + i * kLanes);
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    gradient[i] += hn::GetLane(hn::SumOfLanes(d, hn::Load(d, waiting + i * kLanes)));
}
#endif

void BackwardPanel(const Pattern& w, const float* HWY_RESTRICT value, bool gated, const float* HWY_RESTRICT x,
                   const float* HWY_RESTRICT delta, float* HWY_RESTRICT next, float* HWY_RESTRICT gradient,
                   std::size_t panel_rows) {
#ifdef FILIGREE_SHARED_SUMS
  constexpr std::size_t kLanes = hn::MaxLanes(Tag());  // as many vectors as there are registers for
  if constexpr (kWidePanelRows / kLanes <= 4)
    if (panel_rows == kWidePanelRows)
      return pass_back<kWidePanelRows>(w, value, gated, x, delta, next, gradient);
  if constexpr (kPanelRows / kLanes <= 4)
    if (panel_rows == kPanelRows) return pass_back<kPanelRows>(w, value, gated, x, delta, next, gradient);
#endif
  MultiplyPanel(w, value, nullptr, {false, gated ? x : nullptr}, delta, next, panel_rows);
  GradientPanel(w, x, delta, gradient, panel_rows);
}

void AddRowSums(const float* HWY_RESTRICT y, std::size_t rows, float* HWY_RESTRICT sum,
                std::size_t panel_rows) {
  const Tag d;
  const auto next = [&](std::size_t row) HWY_ATTR {
    const float* HWY_RESTRICT from = y + row * panel_rows;
    Vec total = hn::Load(d, from);
    for (std::size_t i = hn::Lanes(d); i < panel_rows; i += hn::Lanes(d))
      total = hn::Add(total, hn::Load(d, from + i));
    return total;
  };
  std::size_t row = 0;
#ifdef FILIGREE_SHARED_SUMS
  constexpr std::size_t kLanes = hn::MaxLanes(Tag());
  while (row + kLanes <= rows) {
    float* HWY_RESTRICT to = sum + row;
    const auto four = [&]() HWY_ATTR {
      row += 4;
      return sums_of_four(d, next(row - 4), next(row - 3), next(row - 2), next(row - 1));
    };
    add_sums(d, four, to);
  }
#endif
  for (; row < rows; ++row) sum[row] += hn::GetLane(hn::SumOfLanes(d, next(row)));
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FILIGREE_KERNELS_PANEL_PASS_INL_H_
