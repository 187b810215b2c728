// SPDX-License-Identifier: Apache-2.0
// SpGEMM after Gustavson: count the entries of each row of C, then fill the rows in place.
#include "kernels/spgemm.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/parallel.h"

namespace filigree {

using namespace internal;

namespace {

constexpr Index kRowsPerTake = 64;  // a worker's share at a time: few takes, yet even loads

// Calls on_row(row, state) for each row, with one state per worker, made by make_state.
template <typename MakeState, typename OnRow>
void for_each_row(Index rows, const MakeState& make_state, const OnRow& on_row) {
  std::atomic<Offset> next = 0;
  parallel_workers([&](int) {
    Offset first = next.fetch_add(kRowsPerTake);
    if (first >= rows) return;
    auto state = make_state();
    for (; first < rows; first = next.fetch_add(kRowsPerTake)) {
      const Offset last = std::min<Offset>(rows, first + kRowsPerTake);
      for (Offset r = first; r < last; ++r) on_row(static_cast<Index>(r), state);
    }
  });
}

// The columns of a row of C that were met: a byte each, and a byte for each 64 of them. To mark one is two
// stores that wait for nothing; what was met comes back in order without a sort, which took four fifths of
// the time.
class Met {
 public:
  explicit Met(Index cols) : met_((cols + 63) / 64 * 64), any_(met_.size() / 64) {}

  // Pointers that a loop keeps in registers: a byte that is stored might be part of anything else.
  struct Marks {
    std::uint8_t* met;
    std::uint8_t* any;
    void insert(std::size_t j) const {
      met[j] = 1;
      any[j / 64] = 1;
    }
  };
  Marks marks() { return {met_.data(), any_.data()}; }

  // Calls on_block(first column, bits) for each 64 columns of which one was met, in order, and forgets them.
  template <typename OnBlock>
  void take(const OnBlock& on_block) {
    for (std::size_t block = 0; block < any_.size(); ++block) {
      if (std::exchange(any_[block], 0) == 0) continue;
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < 8; ++i) {
        std::uint64_t eight;
        std::memcpy(&eight, &met_[64 * block + 8 * i], 8);
        bits |= (eight * 0x0102040810204080 >> 56) << (8 * i);  // the lowest bits of eight bytes, together
      }
      std::memset(&met_[64 * block], 0, 64);
      on_block(64 * block, bits);
    }
  }

 private:
  std::vector<std::uint8_t> met_, any_;
};

Offset count_row(const CsrView& a, const CsrView& b, Index i, Met& met) {
  const Met::Marks marks = met.marks();
  for (const Index k : a.row_columns(i))
    for (const Index j : b.row_columns(k)) marks.insert(j);
  Offset count = 0;
  met.take([&](std::size_t, std::uint64_t bits) { count += std::popcount(bits); });
  return count;
}

struct RowSums {
  explicit RowSums(Index cols) : met(cols), sum(cols) {}
  Met met;
  std::vector<float> sum;  // of the present row, by column; zero where none was met
};

void fill_row(const CsrView& a, const CsrView& b, Index i, RowSums& sums, CsrMatrix& c) {
  const Met::Marks marks = sums.met.marks();
  float* const sum = sums.sum.data();
  for (Offset e = a.row_begin[i]; e < a.row_begin[i + 1]; ++e) {
    const auto columns = b.row_columns(a.column[e]);
    const auto values = b.row_values(a.column[e]);
    const float weight = a.value[e];
    for (std::size_t f = 0; f < columns.size(); ++f) {
      const std::size_t j = columns[f];
      marks.insert(j);
      sum[j] += weight * values[f];
    }
  }
  Offset at = c.row_begin[i];
  sums.met.take([&](std::size_t first, std::uint64_t bits) {
    for (; bits != 0; bits &= bits - 1, ++at) {
      const std::size_t j = first + std::countr_zero(bits);
      c.column[at] = j;
      c.value[at] = std::exchange(sums.sum[j], 0.0f);
    }
  });
}

}  // namespace

CsrMatrix spgemm(const CsrView& a, const CsrView& b) {
  if (a.cols != b.rows)
    throw std::invalid_argument(fmt::format("spgemm: {} columns times {} rows", a.cols, b.rows));
  CsrMatrix c;
  c.rows = a.rows;
  c.cols = b.cols;
  c.row_begin.assign(static_cast<std::size_t>(a.rows) + 1, 0);
  for_each_row(
      a.rows, [&] { return Met(b.cols); },
      [&](Index i, Met& met) { c.row_begin[i + 1] = count_row(a, b, i, met); });
  std::partial_sum(c.row_begin.begin(), c.row_begin.end(), c.row_begin.begin());

  c.column.resize(c.row_begin.back());
  c.value.resize(c.row_begin.back());
  for_each_row(
      a.rows, [&] { return RowSums(b.cols); }, [&](Index i, RowSums& sums) { fill_row(a, b, i, sums, c); });
  return c;
}

}  // namespace filigree
