// SPDX-License-Identifier: Apache-2.0
// SIMD bodies of the panel kernel, compiled once per target by spmm.cpp.
#if defined(FILIGREE_KERNELS_SPMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_SPMM_INL_H_
#undef FILIGREE_KERNELS_SPMM_INL_H_
#else
#define FILIGREE_KERNELS_SPMM_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/spmm.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {  // helpers of several kernels may share a name
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;

// min(max(v, 0), cap), but a NaN stays one.
HWY_INLINE Vec capped_relu(Vec v, Vec zero, Vec cap) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // their Min and Max prefer numbers
  v = hn::IfThenElse(hn::Lt(v, zero), zero, v);
  return hn::IfThenElse(hn::Gt(v, cap), cap, v);
#else  // x86 returns the second operand if either is NaN, others return NaN
  return hn::Min(cap, hn::Max(zero, v));
#endif
}

// x86 before AVX-512 has 16 vector registers; sums of eight outputs would fill them.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr bool kFewRegisters = true;
#else
constexpr bool kFewRegisters = false;
#endif

// Two vectors of a panel's row: one strip. With four outputs under way that is eight independent chains of
// additions, which covers the latency of two units (4 cycles each), in 8 of the 16 registers AVX2 has.
template <int kVectors>
struct Strip {
  Vec v0, v1;

  static HWY_INLINE Strip set(Tag d, float x) { return {hn::Set(d, x), hn::Set(d, x)}; }
  static HWY_INLINE Strip load(Tag d, const float* HWY_RESTRICT p) {
    return {hn::Load(d, p), hn::Load(d, p + hn::Lanes(d))};
  }
  HWY_INLINE void store(Tag d, float* HWY_RESTRICT p) const {
    hn::Store(v0, d, p);
    hn::Store(v1, d, p + hn::Lanes(d));
  }
  HWY_INLINE void add(Strip in) {
    v0 = hn::Add(v0, in.v0);
    v1 = hn::Add(v1, in.v1);
  }
  HWY_INLINE void add(Vec weight, Strip in) {
    v0 = hn::MulAdd(weight, in.v0, v0);
    v1 = hn::MulAdd(weight, in.v1, v1);
  }
};

// One vector: half of a panel, where vectors are as long as that.
template <>
struct Strip<1> {
  Vec v0;

  static HWY_INLINE Strip set(Tag d, float x) { return {hn::Set(d, x)}; }
  static HWY_INLINE Strip load(Tag d, const float* HWY_RESTRICT p) { return {hn::Load(d, p)}; }
  HWY_INLINE void store(Tag d, float* HWY_RESTRICT p) const { hn::Store(v0, d, p); }
  HWY_INLINE void add(Strip in) { v0 = hn::Add(v0, in.v0); }
  HWY_INLINE void add(Vec weight, Strip in) { v0 = hn::MulAdd(weight, in.v0, v0); }
};

// Everything a tile's inner loops need, so that they are called with few arguments.
template <bool kUniform, bool kRelu, int kVectors>
struct TileLoop {
  using Rows = Strip<kVectors>;

  const float* HWY_RESTRICT bias;  // may be null
  Vec scale, cap, zero;            // scale holds the common value of a uniform matrix as well
  const float* HWY_RESTRICT x;     // at the tile's first input and the strip's first row
  float* HWY_RESTRICT y;           // at the strip's first row
  const std::uint32_t* output;     // the next run's
  const std::uint16_t* input;
  const float* value;
  bool first, last;  // tile of the matrix
  Rows highest, lowest, odd;

  static HWY_INLINE std::size_t place(std::size_t neuron) { return neuron * kPanelRows; }

  // One connection: entry v of the values, the input's rows in `in`.
  HWY_INLINE void connect(Tag d, Rows& sum, Rows in, std::size_t v) const {
    if constexpr (kUniform)
      sum.add(in);
    else
      sum.add(hn::Set(d, value[v]), in);
  }
  HWY_INLINE Rows rows_at(Tag d, std::size_t neuron) const { return Rows::load(d, x + place(neuron)); }

  HWY_INLINE Rows begin(Tag d, std::size_t output_neuron) const {
    return first ? Rows::set(d, 0.0f) : Rows::load(d, y + place(output_neuron));
  }

  HWY_INLINE Vec finish(Vec sum, Vec shift, Vec& high, Vec& low, Vec& strange) const {
    // Multiply and add apart: a fused step would round differently from the plain order.
    Vec v = hn::Add(hn::Mul(sum, scale), shift);
    high = hn::Max(high, v);
    low = hn::Min(low, v);
    strange = hn::MulAdd(v, zero, strange);  // becomes NaN with the first NaN or infinity, and stays so
    return kRelu ? capped_relu(v, zero, cap) : v;
  }

  HWY_INLINE void end(Tag d, Rows sum, std::size_t output_neuron) {
    if (last) {
      const Vec shift = bias == nullptr ? zero : hn::Set(d, bias[output_neuron]);
      sum.v0 = finish(sum.v0, shift, highest.v0, lowest.v0, odd.v0);
      if constexpr (kVectors == 2) sum.v1 = finish(sum.v1, shift, highest.v1, lowest.v1, odd.v1);
    }
    sum.store(d, y + place(output_neuron));
  }

  HWY_INLINE void advance(std::size_t outputs, std::size_t inputs, std::size_t values) {
    output += outputs;
    input += inputs;
    if constexpr (!kUniform) value += values;
  }

  // Four outputs at once, each with its own inputs.
  HWY_INLINE void own_group(Tag d, std::size_t n) {
    static_assert(kPackedGroup == 4);
    Rows a = begin(d, output[0]), b = begin(d, output[1]), c = begin(d, output[2]), e = begin(d, output[3]);
    for (std::size_t i = 0; i < n; ++i) {
      // The four 16-bit inputs in one load: the load ports are what this loop waits for.
      const std::size_t v = 4 * i;
      std::uint64_t inputs;
      std::memcpy(&inputs, input + v, sizeof(inputs));
      connect(d, a, rows_at(d, inputs & 0xffff), v);
      connect(d, b, rows_at(d, inputs >> 16 & 0xffff), v + 1);
      connect(d, c, rows_at(d, inputs >> 32 & 0xffff), v + 2);
      connect(d, e, rows_at(d, inputs >> 48), v + 3);
    }
    end(d, a, output[0]);
    end(d, b, output[1]);
    end(d, c, output[2]);
    end(d, e, output[3]);
    advance(4, 4 * n, 4 * n);
  }

  // Sums of kCount outputs that share their inputs. Not an array: GCC 12 would leave it on the stack.
  struct NoSums {};
  template <std::size_t kCount>
  struct Sums {
    Rows first;
    std::conditional_t<(kCount > 1), Sums<(kCount > 1 ? kCount - 1 : 1)>, NoSums> rest;

    HWY_INLINE void begin(Tag d, const TileLoop& loop, const std::uint32_t* at) {
      first = loop.begin(d, *at);
      if constexpr (kCount > 1) rest.begin(d, loop, at + 1);
    }
    HWY_INLINE void connect(Tag d, const TileLoop& loop, Rows in, std::size_t v) {
      loop.connect(d, first, in, v);
      if constexpr (kCount > 1) rest.connect(d, loop, in, v + 1);
    }
    HWY_INLINE void store(Tag d, const TileLoop& loop, const std::uint32_t* at) const {
      first.store(d, loop.y + place(*at));
      if constexpr (kCount > 1) rest.store(d, loop, at + 1);
    }
  };

  // Sums of outputs [from, from + kCount) of a group of kGroup that share their inputs, which are loaded
  // once. A function of its own: among the epilogue's registers GCC 12 keeps an input on the stack, and the
  // loop takes a third longer.
  template <std::size_t kGroup, std::size_t kCount>
  HWY_NOINLINE static void shared_sums(const TileLoop& loop, std::size_t n, std::size_t from) {
    const Tag d;
    const std::uint16_t* HWY_RESTRICT input = loop.input;
    const std::uint32_t* HWY_RESTRICT at = loop.output + from;
    Sums<kCount> sums;
    sums.begin(d, loop, at);
    for (std::size_t i = 0; i < n; ++i) sums.connect(d, loop, loop.rows_at(d, input[i]), kGroup * i + from);
    sums.store(d, loop, at);
  }
  template <std::size_t kGroup>
  HWY_INLINE void shared_group(Tag d, std::size_t n) {
    if constexpr (kFewRegisters && kGroup > kPackedGroup) {
      constexpr std::size_t kRest = kGroup % kPackedGroup;
      for (std::size_t from = 0; from + kPackedGroup <= kGroup; from += kPackedGroup)
        shared_sums<kGroup, kPackedGroup>(*this, n, from);
      if constexpr (kRest > 0) shared_sums<kGroup, kRest>(*this, n, kGroup - kRest);
    } else {
      shared_sums<kGroup, kGroup>(*this, n, 0);
    }
    if (last)
      for (std::size_t k = 0; k < kGroup; ++k) end(d, Rows::load(d, y + place(output[k])), output[k]);
    advance(kGroup, n, kGroup * n);
  }
  template <std::size_t kGroup>
  HWY_INLINE void shared_run(Tag d, PackedMatrix::Run run) {
    for (std::size_t left = run.outputs; left > 0; left -= kGroup) shared_group<kGroup>(d, run.connections);
  }

  // The last one to three outputs of a run, stored one after the other but run side by side: a lone output
  // waits for each of its additions.
  HWY_INLINE void last_outputs(Tag d, std::size_t n, std::size_t count) {
    Rows a = begin(d, output[0]), b = a, c = a;
    if (count > 1) b = begin(d, output[1]);
    if (count > 2) c = begin(d, output[2]);
    if (count == 3) {
      for (std::size_t i = 0; i < n; ++i) {
        connect(d, a, rows_at(d, input[i]), i);
        connect(d, b, rows_at(d, input[n + i]), n + i);
        connect(d, c, rows_at(d, input[2 * n + i]), 2 * n + i);
      }
    } else if (count == 2) {
      for (std::size_t i = 0; i < n; ++i) {
        connect(d, a, rows_at(d, input[i]), i);
        connect(d, b, rows_at(d, input[n + i]), n + i);
      }
    } else {
      for (std::size_t i = 0; i < n; ++i) connect(d, a, rows_at(d, input[i]), i);
    }
    end(d, a, output[0]);
    if (count > 1) end(d, b, output[1]);
    if (count > 2) end(d, c, output[2]);
    advance(count, count * n, count * n);
  }

  HWY_INLINE void run(Tag d, PackedMatrix::Run run) {
    static_assert(kPackedGroup == 4 && kWidestGroup == 11);
    switch (run.shared) {
      case 4:
        return shared_run<4>(d, run);
      case 5:
        return shared_run<5>(d, run);
      case 6:
        return shared_run<6>(d, run);
      case 7:
        return shared_run<7>(d, run);
      case 8:
        return shared_run<8>(d, run);
      case 9:
        return shared_run<9>(d, run);
      case 10:
        return shared_run<10>(d, run);
      case 11:
        return shared_run<11>(d, run);
      default:
        break;
    }
    const std::size_t n = run.connections;
    std::size_t left = run.outputs;
    for (; left >= 4; left -= 4) own_group(d, n);
    if (left > 0) last_outputs(d, n, left);
  }
};

template <bool kUniform, bool kRelu, int kVectors>
void SpmmStrip(const PackedMatrix& w, const Epilogue& epilogue, const float* HWY_RESTRICT x,
               float* HWY_RESTRICT y, float* HWY_RESTRICT highest, float* HWY_RESTRICT lowest) {
  const Tag d;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  using Loop = TileLoop<kUniform, kRelu, kVectors>;
  using Rows = typename Loop::Rows;
  Loop loop{epilogue.bias.empty() ? nullptr : epilogue.bias.data(),
            hn::Set(d, kUniform ? epilogue.scale * w.uniform : epilogue.scale),
            hn::Set(d, epilogue.activation.cap),
            hn::Zero(d),
            x,
            y,
            w.output.data(),
            w.input.data(),
            w.value.data(),
            false,
            false,
            Rows::set(d, -kInfinity),
            Rows::set(d, kInfinity),
            Rows::set(d, 0.0f)};
  const PackedMatrix::Run* run = w.runs.data();
  for (std::size_t t = 0; t < w.tiles.size(); ++t) {
    loop.x = x + loop.place(static_cast<std::size_t>(w.tiles[t].first_input));
    loop.first = t == 0;
    loop.last = t + 1 == w.tiles.size();
    for (const auto* end = run + w.tiles[t].runs; run != end; ++run) loop.run(d, *run);
  }
  // odd is zero or NaN: adding it changes nothing or everything.
  loop.highest.add(loop.odd);
  loop.lowest.add(loop.odd);
  loop.highest.store(d, highest);
  loop.lowest.store(d, lowest);
}

template <int kVectors>
void spmm_rows(const PackedMatrix& w, const Epilogue& epilogue, std::size_t rows, const float* HWY_RESTRICT x,
               float* HWY_RESTRICT y, PanelRange& range) {
  const bool relu = epilogue.activation.is(Activation::relu);
  const auto strip = w.value.empty()
                         ? (relu ? SpmmStrip<true, true, kVectors> : SpmmStrip<true, false, kVectors>)
                         : (relu ? SpmmStrip<false, true, kVectors> : SpmmStrip<false, false, kVectors>);
  for (std::size_t r = 0; r < rows; r += kVectors * hn::Lanes(Tag()))
    strip(w, epilogue, x + r, y + r, range.highest + r, range.lowest + r);
}

void SpmmPanel(const PackedMatrix& w, const Epilogue& epilogue, std::size_t rows, const float* HWY_RESTRICT x,
               float* HWY_RESTRICT y, PanelRange& range) {
  // A panel of no neurons may be a null pointer, to which no offset may be added.
  HWY_ALIGN float none[kPanelRows];
  if (x == nullptr) x = none;
  if (y == nullptr) y = none;
  if constexpr (2 * hn::MaxLanes(Tag()) == kPanelRows) {
    if (rows <= hn::Lanes(Tag())) return spmm_rows<1>(w, epilogue, rows, x, y, range);
  }
  spmm_rows<2>(w, epilogue, rows, x, y, range);
}

void AppendPanelRows(const float* HWY_RESTRICT from, std::size_t neurons, std::uint32_t rows,
                     float* HWY_RESTRICT to, std::size_t at) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::uint32_t lane_bits = lanes >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << lanes) - 1;
  for (std::size_t r = 0; r < kPanelRows; r += lanes) {
    const std::uint32_t bits = (rows >> r) & lane_bits;
    if (bits == 0) continue;
    const auto count = static_cast<std::size_t>(std::popcount(bits));
    const std::uint8_t mask_bytes[8] = {static_cast<std::uint8_t>(bits),
                                        static_cast<std::uint8_t>(bits >> 8)};
    const auto marked = hn::LoadMaskBits(d, mask_bytes);
    const auto written = hn::FirstN(d, count);
    for (std::size_t n = 0; n < neurons; ++n) {
      const std::size_t row = n * kPanelRows;
      hn::BlendedStore(hn::Compress(hn::Load(d, from + row + r), marked), written, d, to + row + at);
    }
    at += count;
  }
}

void AddPanelRows(const float* HWY_RESTRICT from, std::size_t neurons, std::size_t at, std::uint32_t rows,
                  const float* HWY_RESTRICT weight, float* HWY_RESTRICT to) {
  const Tag d;
  const hn::RebindToSigned<Tag> d_index;
  const std::size_t lanes = hn::Lanes(d);
  const std::uint32_t lane_bits = lanes >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << lanes) - 1;
  for (std::size_t r = 0; r < kPanelRows; r += lanes) {
    const std::uint32_t bits = (rows >> r) & lane_bits;
    if (bits == 0) continue;
    HWY_ALIGN std::int32_t place[kPanelRows] = {};  // of a marked lane: which of the appended rows it is
    HWY_ALIGN float weights[kPanelRows] = {};
    std::int32_t next = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if ((bits >> lane & 1) == 0) continue;
      weights[lane] = weight[at + static_cast<std::size_t>(next)];
      place[lane] = next++;
    }
    const std::uint8_t mask_bytes[8] = {static_cast<std::uint8_t>(bits),
                                        static_cast<std::uint8_t>(bits >> 8)};
    const auto marked = hn::LoadMaskBits(d, mask_bytes);
    const auto indices = hn::IndicesFromVec(d, hn::Load(d_index, place));
    const auto factor = hn::Load(d, weights);
    for (std::size_t n = 0; n < neurons; ++n) {
      const std::size_t row = n * kPanelRows;
      const auto own = hn::TableLookupLanes(hn::LoadU(d, from + row + at), indices);
      const auto before = hn::Load(d, to + row + r);
      hn::Store(hn::IfThenElse(marked, hn::MulAdd(factor, own, before), before), d, to + row + r);
    }
    at += static_cast<std::size_t>(next);
  }
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FILIGREE_KERNELS_SPMM_INL_H_
