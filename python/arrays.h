// SPDX-License-Identifier: Apache-2.0
// Arrays of NumPy and SciPy as the library's views, and words as its enumerations.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "filigree/filigree.h"

namespace filigree::python {

namespace nb = nanobind;

template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Panel = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::span<const T> span_of(const Vector<T>& values) {
  return {values.data(), values.size()};
}

template <typename T>
std::vector<T> copied(const Vector<T>& values) {
  return {values.data(), values.data() + values.size()};
}

inline Index index_of(std::size_t count, const char* what) {
  if (count > static_cast<std::size_t>(std::numeric_limits<Index>::max()))
    throw std::invalid_argument(std::to_string(count) + " " + what + " are more than an int32 counts");
  return static_cast<Index>(count);
}

template <typename Words>
std::string listed(const Words& words) {
  std::string list;
  for (const std::string_view each : words) list += (list.empty() ? "" : ", ") + std::string(each);
  return list;
}

template <typename T>
T word_called(const std::string& text, const char* what) {
  if (const std::optional<T> value = from_word<T>(text)) return *value;
  throw std::invalid_argument("'" + text + "' is no " + what + "; there are " + listed(Words<T>::kWords));
}

inline std::span<const std::byte> bytes_of(const nb::bytes& bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size()};
}
inline nb::bytes to_python(const std::vector<std::byte>& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

// Any kind of rows, with what keeps their memory.
struct PyRows {
  Rows rows;
  std::vector<nb::object> kept;
};

// What each file binds.
void bind_rows(nb::module_& m);
void bind_networks(nb::module_& m);
void bind_products(nb::module_& m);
void bind_training(nb::module_& m);
void bind_recipes(nb::module_& m);

nb::dict report_dict(const EpochReport& report);

}  // namespace filigree::python
