// SPDX-License-Identifier: Apache-2.0
// SpGEMM after Gustavson: count the entries of each row of C, then fill the rows in place.
#include "kernels/spgemm.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <stdexcept>
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

// Which columns of the present row of C were met, and their sums so far.
struct RowSums {
  explicit RowSums(Index cols) : met_in_row(cols, -1), sum(cols) {}
  std::vector<Index> met_in_row;  // the last row of C that has the column
  std::vector<float> sum;
};

Offset count_row(const CsrView& a, const CsrView& b, Index i, std::vector<Index>& met_in_row) {
  Offset count = 0;
  for (const Index k : a.row_columns(i)) {
    for (const Index j : b.row_columns(k)) {
      count += met_in_row[j] != i;
      met_in_row[j] = i;
    }
  }
  return count;
}

void fill_row(const CsrView& a, const CsrView& b, Index i, RowSums& sums, CsrMatrix& c) {
  const auto first = c.column.begin() + c.row_begin[i];
  auto end = first;
  for (Offset e = a.row_begin[i]; e < a.row_begin[i + 1]; ++e) {
    const Index k = a.column[e];
    const float weight = a.value[e];
    for (Offset f = b.row_begin[k]; f < b.row_begin[k + 1]; ++f) {
      const Index j = b.column[f];
      if (sums.met_in_row[j] != i) {
        sums.met_in_row[j] = i;
        sums.sum[j] = 0;
        *end++ = j;
      }
      sums.sum[j] += weight * b.value[f];
    }
  }
  std::sort(first, end);
  std::transform(first, end, c.value.begin() + c.row_begin[i], [&](Index j) { return sums.sum[j]; });
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
      a.rows, [&] { return std::vector<Index>(b.cols, -1); },
      [&](Index i, std::vector<Index>& met_in_row) { c.row_begin[i + 1] = count_row(a, b, i, met_in_row); });
  std::partial_sum(c.row_begin.begin(), c.row_begin.end(), c.row_begin.begin());

  c.column.resize(c.row_begin.back());
  c.value.resize(c.row_begin.back());
  for_each_row(
      a.rows, [&] { return RowSums(b.cols); }, [&](Index i, RowSums& sums) { fill_row(a, b, i, sums, c); });
  return c;
}

}  // namespace filigree
