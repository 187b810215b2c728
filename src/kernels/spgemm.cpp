// SPDX-License-Identifier: Apache-2.0
// SpGEMM after Gustavson: count the entries of each row of C, then fill the rows in place.
#include "kernels/spgemm.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
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

// The columns of a row of C that were met: a bit each, and a bit for each word of those. What was met comes
// back in order without a sort, which took four fifths of the time.
class Met {
 public:
  explicit Met(Index cols) : bits_(words(cols)), word_bits_(words(bits_.size())) {}

  void insert(Index j) {
    const std::size_t word = static_cast<std::size_t>(j) / 64;
    bits_[word] |= std::uint64_t{1} << (j % 64);
    word_bits_[word / 64] |= std::uint64_t{1} << (word % 64);
  }
  // Calls on_word(first column, bits) for each word with columns in it, in order, and forgets them.
  template <typename OnWord>
  void take(const OnWord& on_word) {
    for (std::size_t s = 0; s < word_bits_.size(); ++s) {
      for (; word_bits_[s] != 0; word_bits_[s] &= word_bits_[s] - 1) {
        const std::size_t word = 64 * s + std::countr_zero(word_bits_[s]);
        on_word(64 * word, bits_[word]);
        bits_[word] = 0;
      }
    }
  }

 private:
  static std::size_t words(std::size_t bits) { return (bits + 63) / 64; }
  std::vector<std::uint64_t> bits_, word_bits_;
};

Offset count_row(const CsrView& a, const CsrView& b, Index i, Met& met) {
  for (const Index k : a.row_columns(i))
    for (const Index j : b.row_columns(k)) met.insert(j);
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
  for (Offset e = a.row_begin[i]; e < a.row_begin[i + 1]; ++e) {
    const Index k = a.column[e];
    const float weight = a.value[e];
    for (Offset f = b.row_begin[k]; f < b.row_begin[k + 1]; ++f) {
      const Index j = b.column[f];
      sums.met.insert(j);
      sums.sum[j] += weight * b.value[f];
    }
  }
  Offset at = c.row_begin[i];
  sums.met.take([&](std::size_t first, std::uint64_t bits) {
    for (; bits != 0; bits &= bits - 1, ++at) {
      const std::size_t j = first + std::countr_zero(bits);
      c.column[at] = static_cast<Index>(j);
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
