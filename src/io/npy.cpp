// SPDX-License-Identifier: Apache-2.0
// Reading and writing npy files: magic, version, a Python dictionary as text, then the values.
#include "io/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/message_text.h"
#include "io/row_store.h"

namespace filigree::internal {
namespace {

static_assert(std::endian::native == std::endian::little, "values are taken as they lie in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = std::size_t{1} << 16;
constexpr std::size_t kMaxDims = 8;

enum class Element { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64 };

struct Header {
  std::vector<std::uint64_t> shape;
  bool fortran_order = false;
  Element element = Element::u8;
};

// Walks over the header's text: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  bool take(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) spoilt();
  }
  std::string_view quoted() {
    skip_spaces();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) spoilt();
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) spoilt();
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::uint64_t number() {
    skip_spaces();
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (status != std::errc()) spoilt();
    rest_.remove_prefix(end - rest_.data());
    return value;
  }
  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }
  [[noreturn]] void spoilt() const {
    fail("{}: the npy header makes no sense at {}", name_, in_quotes(rest_));
  }

 private:
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(" \n\t"))); }
  std::string_view rest_;
  const std::string& name_;
};

Element parse_element(std::string_view descr, const std::string& name) {
  constexpr std::pair<std::string_view, Element> kKnown[] = {
      {"|u1", Element::u8},  {"u1", Element::u8},   {"|b1", Element::u8},  {"|i1", Element::i8},
      {"<u2", Element::u16}, {"<i2", Element::i16}, {"<u4", Element::u32}, {"<i4", Element::i32},
      {"<u8", Element::u64}, {"<i8", Element::i64}, {"<f4", Element::f32}, {"<f8", Element::f64}};
  for (const auto& [known, element] : kKnown)
    if (descr == known) return element;
  fail(
      "{}: elements of type {}, but only booleans, integers, float32 (<f4) and float64 (<f8) in this "
      "machine's byte "
      "order are read",
      name, in_quotes(descr));
}

std::vector<std::uint64_t> parse_shape(HeaderText& text, const std::string& name) {
  std::vector<std::uint64_t> shape;
  text.expect("(");
  while (!text.take(")")) {
    shape.push_back(text.number());
    if (shape.size() > kMaxDims) fail("{}: more than {} dimensions", name, kMaxDims);
    if (!text.take(",")) {
      text.expect(")");
      break;
    }
  }
  return shape;
}

Header parse_header(std::string_view bytes, const std::string& name) {
  HeaderText text(bytes, name);
  Header header;
  bool descr = false, order = false, shape = false;
  text.expect("{");
  while (!text.take("}")) {
    const std::string_view key = text.quoted();
    text.expect(":");
    if (key == "descr" && !descr) {
      header.element = parse_element(text.quoted(), name);
      descr = true;
    } else if (key == "fortran_order" && !order) {
      header.fortran_order = text.take("True");
      if (!header.fortran_order) text.expect("False");
      order = true;
    } else if (key == "shape" && !shape) {
      header.shape = parse_shape(text, name);
      shape = true;
    } else {
      fail("{}: the npy header says {} unexpectedly", name, in_quotes(key));
    }
    if (!text.take(",")) {
      text.expect("}");
      break;
    }
  }
  if (!text.at_end()) text.spoilt();
  if (!descr || !order || !shape)
    fail("{}: the npy header lacks {}", name, !descr ? "descr" : !order ? "fortran_order" : "shape");
  return header;
}

Header read_header(Source& source) {
  std::array<char, 8> start = {};
  const std::size_t got = source.read(std::as_writable_bytes(std::span(start)));
  if (got < start.size() || std::string_view(start.data(), kMagic.size()) != kMagic)
    fail("{}: not an npy file", source.name());
  const auto major = static_cast<unsigned char>(start[6]), minor = static_cast<unsigned char>(start[7]);
  if (major < 1 || major > 3 || minor != 0)
    fail("{}: npy version {}.{}, but 1.0 to 3.0 are read", source.name(), major, minor);
  std::array<unsigned char, 4> length_bytes = {};
  source.read_exactly(std::as_writable_bytes(std::span(length_bytes).first(major == 1 ? 2 : 4)),
                      "the length of the header");
  const std::size_t length = length_bytes[0] | std::size_t{length_bytes[1]} << 8 |
                             std::size_t{length_bytes[2]} << 16 | std::size_t{length_bytes[3]} << 24;
  if (length > kMaxHeader) fail("{}: an npy header of {} bytes", source.name(), length);
  std::string text(length, '\0');
  source.read_exactly(std::as_writable_bytes(std::span(text)), "the header");
  return parse_header(text, source.name());
}

std::size_t product(std::span<const std::uint64_t> shape, std::size_t element, const std::string& name) {
  std::size_t elements = 1;
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && elements > std::numeric_limits<std::size_t>::max() / 2 / element / extent)
      fail("{}: shape {} holds more elements than any memory", name, joined(shape, "x"));
    elements *= extent;
  }
  return elements;
}

void check_at_end(Source& source, std::size_t count, std::span<const std::uint64_t> shape) {
  std::byte extra = {};
  if (source.read({&extra, 1}) != 0)
    fail("{}: bytes follow the last of {} elements ({})", source.name(), count, joined(shape, "x"));
}

// Element number `at` as what it is stored as; Error where that cannot hold it. Wide floats are rounded.
template <typename To, typename From>
To exact_value(From value, std::size_t at, const std::string& name) {
  const To stored = static_cast<To>(value);
  if constexpr (std::is_floating_point_v<From>) {
    if (!std::isfinite(stored))
      fail("{}: element {} is {}{}", name, at, value,
           std::isfinite(value) ? ", which no float32 can hold" : "");
  } else if constexpr (!std::is_same_v<To, From>) {
    // Compared as double: both sides are exact there, or beyond 2^53 the float is not.
    if (static_cast<double>(stored) != static_cast<double>(value))
      fail("{}: element {} is {}, which no float32 can hold", name, at, value);
  }
  return stored;
}

// Grown as the values arrive: a header that promises too much costs an error, not the memory.
template <typename T>
std::vector<T> read_values(Source& source, std::size_t count, std::span<const std::uint64_t> shape) {
  std::vector<T> values;
  constexpr std::size_t kFirstStep = std::size_t{1} << 18;
  while (values.size() < count) {
    const std::size_t before = values.size();
    values.resize(before + std::min(count - before, std::max(before, kFirstStep)));
    const auto room = std::as_writable_bytes(std::span(values).subspan(before));
    const std::size_t got = source.read(room);
    if (got < room.size())
      fail("{}: ends after {} of {} elements ({})", source.name(), before + got / sizeof(T), count,
           joined(shape, "x"));
  }
  check_at_end(source, count, shape);
  return values;
}

template <typename T>
void check_finite(std::span<const T> values, const std::string& name) {
  const auto odd = std::ranges::find_if(values, [](T v) { return !std::isfinite(static_cast<float>(v)); });
  if (odd != values.end())
    fail("{}: element {} is {}{}", name, odd - values.begin(), *odd,
         std::isfinite(*odd) ? ", which no float32 can hold" : "");
}

// From first dimension fastest to last dimension fastest.
template <typename T>
std::vector<T> in_c_order(const std::vector<T>& from, std::span<const std::uint64_t> shape) {
  std::vector<T> to(from.size());
  std::array<std::uint64_t, kMaxDims> index{};  // of the element that comes next in `from`
  std::array<std::size_t, kMaxDims> step;       // in `to`, per dimension
  step.fill(1);
  for (std::size_t d = shape.size(); d-- > 1;) step[d - 1] = step[d] * shape[d];
  std::size_t at = 0;
  for (const T& value : from) {
    to[at] = value;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      at += step[d];
      if (++index[d] < shape[d]) break;
      at -= step[d] * shape[d];
      index[d] = 0;
    }
  }
  return to;
}

template <typename T>
std::vector<T> read_elements(Source& source, const Header& header) {
  const std::size_t count = product(header.shape, sizeof(T), source.name());
  std::vector<T> values = read_values<T>(source, count, header.shape);
  if constexpr (std::is_floating_point_v<T>) check_finite(std::span<const T>(values), source.name());
  return header.fortran_order ? in_c_order(values, header.shape) : values;
}

template <typename T>
std::vector<float> read_integers(Source& source, const Header& header) {
  const std::vector<T> whole = read_elements<T>(source, header);
  std::vector<float> floats(whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) floats[i] = exact_value<float>(whole[i], i, source.name());
  return floats;
}

NpyArray read_values_of(Source& source, const Header& header);

// Calls use(T{}) for the type of the elements.
template <typename Use>
void with_type(Element element, const Use& use) {
  switch (element) {
    case Element::u8:
      return use(std::uint8_t{});
    case Element::i8:
      return use(std::int8_t{});
    case Element::u16:
      return use(std::uint16_t{});
    case Element::i16:
      return use(std::int16_t{});
    case Element::u32:
      return use(std::uint32_t{});
    case Element::i32:
      return use(std::int32_t{});
    case Element::u64:
      return use(std::uint64_t{});
    case Element::i64:
      return use(std::int64_t{});
    case Element::f32:
      return use(float{});
    case Element::f64:
      return use(double{});
  }
}

// A few rows' worth of elements at a time, each as what it is stored as.
template <typename From, typename To>
Buffer<To> stream_values(Source& source, const Header& header, std::uint64_t in_memory) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  const std::size_t count = product(header.shape, sizeof(From), source.name());
  RowStore<To> store(source.name(), in_memory);
  std::vector<From> block(std::min(count, kBlock));
  std::vector<To> taken(block.size());
  for (std::size_t done = 0; done < count;) {
    const auto now = std::span(block).first(std::min(count - done, kBlock));
    const std::size_t got = source.read(std::as_writable_bytes(now));
    if (got < now.size_bytes())
      fail("{}: ends after {} of {} elements ({})", source.name(), done + got / sizeof(From), count,
           joined(header.shape, "x"));
    for (std::size_t i = 0; i < now.size(); ++i) taken[i] = exact_value<To>(now[i], done + i, source.name());
    store.append(std::span<const To>(taken).first(now.size()));
    done += now.size();
  }
  check_at_end(source, count, header.shape);
  return store.take();
}

}  // namespace

NpyRows read_npy_rows(Source source, std::uint64_t in_memory) {
  const Header header = read_header(source);
  NpyRows rows;
  rows.shape = header.shape;
  if (header.fortran_order) {
    const std::size_t bytes = product(header.shape, sizeof(double), source.name()) * sizeof(float);
    if (bytes / 4 > in_memory)
      fail_for("memory_limit",
               "{}: {} values with their first dimension fastest do not fit in memory, which they take to be "
               "turned around: write the array in C order",
               source.name(), bytes / sizeof(float));
    NpyArray array = read_values_of(source, header);
    rows.bytes = buffer_of(array.bytes);
    rows.floats = buffer_of(array.floats);
    return rows;
  }
  if (header.element == Element::u8) {
    rows.bytes = stream_values<std::uint8_t, std::uint8_t>(source, header, in_memory);
  } else {
    with_type(header.element, [&]<typename From>(From) {
      rows.floats = stream_values<From, float>(source, header, in_memory);
    });
  }
  return rows;
}

NpyArray read_npy(Source source) {
  return read_values_of(source, read_header(source));
}

namespace {

NpyArray read_values_of(Source& source, const Header& header) {
  NpyArray array;
  array.shape = header.shape;
  if (header.element == Element::u8) {
    array.bytes = read_elements<std::uint8_t>(source, header);
    return array;
  }
  with_type(header.element, [&]<typename From>(From) {
    if constexpr (std::is_same_v<From, float>) {
      array.floats = read_elements<float>(source, header);
    } else if constexpr (std::is_floating_point_v<From>) {
      const std::vector<From> wide = read_elements<From>(source, header);
      array.floats.assign(wide.begin(), wide.end());
    } else {
      array.floats = read_integers<From>(source, header);
    }
  });
  return array;
}

}  // namespace

std::vector<Offset> read_npy_integers(Source source) {
  const Header header = read_header(source);
  const auto whole = [&]<typename T>(T) {
    const std::vector<T> values = read_elements<T>(source, header);
    return std::vector<Offset>(values.begin(), values.end());
  };
  switch (header.element) {
    case Element::i32:
      return whole(std::int32_t{});
    case Element::i64:
      return whole(std::int64_t{});
    case Element::u8:
    case Element::i8:
    case Element::u16:
    case Element::i16:
    case Element::u32:
    case Element::u64:
    case Element::f32:
    case Element::f64:
      break;
  }
  fail("{}: the places of a sparse matrix are not int32 or int64", source.name());
}

void write_npy(const std::filesystem::path& path, std::span<const float> values, std::size_t columns) {
  assert(columns == 0 ? values.empty() : values.size() % columns == 0);
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
                                   columns == 0 ? 0 : values.size() / columns, columns);
  // Padded so that the values begin at a multiple of 64, after 10 bytes in front and a newline behind.
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  const std::array<char, 4> start = {1, 0, static_cast<char>(header.size() & 0xff),
                                     static_cast<char>(header.size() >> 8)};
  AtomicFile file(path);
  file.write(kMagic);
  file.write(std::string_view(start.data(), start.size()));
  file.write(header);
  file.write(std::as_bytes(values));
  file.commit();
}

}  // namespace filigree::internal
