// SPDX-License-Identifier: Apache-2.0
// The products of a sparse layer, for PyTorch.
#include <algorithm>

#include "arrays.h"
#include "calls.h"
#include "filigree/sparse.h"

namespace filigree::python {

namespace {

CsrView csr_view(const Vector<Offset>& row_begin, const Vector<Index>& column, std::span<const float> value,
                 std::size_t columns) {
  CsrView view{index_of(row_begin.size() == 0 ? 0 : row_begin.size() - 1, "rows"),
               index_of(columns, "columns"), span_of(row_begin), span_of(column), value};
  // A position outside would be read: one walk over the pattern is a hundredth of the product's work.
  const auto ascends = [](auto a, auto b) { return a > b; };
  const bool sound = row_begin.size() > 0 && view.row_begin.front() == 0 &&
                     view.row_begin.back() == static_cast<Offset>(column.size()) &&
                     std::ranges::adjacent_find(view.row_begin, ascends) == view.row_begin.end() &&
                     std::ranges::all_of(view.column, [&](Index c) { return c >= 0 && c < view.cols; }) &&
                     (value.empty() || value.size() == column.size());
  if (!sound) throw std::invalid_argument("the pattern of a sparse layer is damaged");
  return view;
}

}  // namespace

void bind_products(nb::module_& m) {
  m.def("transpose", [](const Panel<const float>& from, const Panel<float>& to) {
    if (to.shape(0) != from.shape(1) || to.shape(1) != from.shape(0))
      throw std::invalid_argument("a transposed array has as many rows as the other has columns");
    const Unlocked unlocked;
    transpose({from.data(), from.size()}, from.shape(0), from.shape(1), {to.data(), to.size()});
  });
  // The three products of a sparse layer; x, y, a and b hold the samples of a neuron together.
  m.def("spmm", [](const Vector<Offset>& row_begin, const Vector<Index>& column, const Vector<float>& value,
                   const Panel<const float>& x, const Panel<float>& y) {
    const CsrView matrix = csr_view(row_begin, column, span_of(value), x.shape(0));
    const Unlocked unlocked;
    spmm(matrix, {x.data(), x.size()}, x.shape(1), {y.data(), y.size()});
  });
  m.def("spmm_transposed",
        [](const Vector<Offset>& column_begin, const Vector<Index>& row, const Vector<float>& value,
           const Panel<const float>& x, const Panel<float>& y) {
          const CsrView columns = csr_view(column_begin, row, span_of(value), x.shape(0));
          const CscView matrix{columns.cols, columns.rows, columns.row_begin, columns.column, columns.value};
          const Unlocked unlocked;
          spmm_transposed(matrix, {x.data(), x.size()}, x.shape(1), {y.data(), y.size()});
        });
  m.def("sddmm", [](const Vector<Offset>& row_begin, const Vector<Index>& column, const Panel<const float>& a,
                    const Panel<const float>& b,
                    const nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>& value) {
    const CsrView matrix = csr_view(row_begin, column, {}, b.shape(0));
    if (a.shape(0) + 1 != row_begin.size() || a.shape(1) != b.shape(1))
      throw std::invalid_argument("the panels do not fit the pattern");
    const Unlocked unlocked;
    sddmm(matrix, {a.data(), a.size()}, {b.data(), b.size()}, a.shape(1), {value.data(), value.size()});
  });
}

}  // namespace filigree::python
