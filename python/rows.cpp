// SPDX-License-Identifier: Apache-2.0
// Rows of NumPy and SciPy, where they lie.
#include "arrays.h"

namespace filigree::python {

namespace {

// Strides are never negative: the wrappers copy such arrays.
template <typename T>
Rows rows_of(const Matrix<T>& x) {
  const std::size_t rows = x.shape(0), columns = x.shape(1);
  const auto row = static_cast<std::size_t>(x.stride(0)), column = static_cast<std::size_t>(x.stride(1));
  const std::size_t size = rows == 0 || columns == 0 ? 0 : (rows - 1) * row + (columns - 1) * column + 1;
  return {std::span<const T>(x.data(), size), rows, index_of(columns, "columns"), {row, column}};
}

// A CSR matrix in SciPy's arrays.
struct Csr {
  Vector<Offset> row_begin;
  Vector<Index> column;
  Vector<float> value;
  Index columns;
  Rows rows() const { return {span_of(row_begin), span_of(column), span_of(value), columns}; }
};

}  // namespace

void bind_rows(nb::module_& m) {
  // What numpy or SciPy hold, as rows: a float, double or byte matrix, or the three arrays of a CSR matrix.
  nb::class_<PyRows>(m, "Rows")
      .def(nb::new_([](const Matrix<float>& x) {
        return new PyRows{rows_of(x), {nb::cast(x)}};
      }))
      .def(nb::new_([](const Matrix<double>& x) {
        return new PyRows{rows_of(x), {nb::cast(x)}};
      }))
      .def(nb::new_([](const Matrix<std::uint8_t>& x) {
        return new PyRows{rows_of(x), {nb::cast(x)}};
      }))
      .def(nb::new_([](const Vector<Offset>& begin, const Vector<Index>& column, const Vector<float>& value,
                       Index columns) {
        return new PyRows{Csr{begin, column, value, columns}.rows(),
                          {nb::cast(begin), nb::cast(column), nb::cast(value)}};
      }))
      .def_prop_ro("rows", [](const PyRows& r) { return r.rows.rows(); })
      .def_prop_ro("columns", [](const PyRows& r) { return r.rows.columns(); });
}

}  // namespace filigree::python
