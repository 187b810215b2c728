// SPDX-License-Identifier: Apache-2.0
// npz: a zip archive of npy files, stored or deflated.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "io/message_text.h"
#include "io/npy.h"

namespace filigree::internal {
namespace {

constexpr std::uint32_t kDirectoryEnd = 0x06054b50, kDirectoryEntry = 0x02014b50, kLocalEntry = 0x04034b50;
constexpr std::size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30;
constexpr std::size_t kMostComment = 65535;

struct Entry {
  std::string name;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::size_t packed = 0, size = 0, offset = 0;
};

class Archive {
 public:
  // `most`: bytes that all arrays together may unpack to.
  Archive(std::span<const std::byte> bytes, const std::string& name, std::uint64_t most)
      : bytes_(bytes), name_(name), left_(most) {
    std::size_t end = bytes.size() < kEndSize ? bytes.size() : bytes.size() - kEndSize;
    const std::size_t lowest = end > kMostComment ? end - kMostComment : 0;
    while (end > lowest && (bytes.size() < kEndSize || get<std::uint32_t>(end) != kDirectoryEnd)) --end;
    if (bytes.size() < kEndSize || get<std::uint32_t>(end) != kDirectoryEnd)
      fail("{}: not an npz archive: its directory is missing, as in a file that was cut off", name);
    const auto count = get<std::uint16_t>(end + 10);
    std::size_t at = get<std::uint32_t>(end + 16);
    for (std::uint16_t i = 0; i < count; ++i) at = add_entry(at);
  }

  const std::vector<Entry>& entries() const { return entries_; }

  std::vector<std::byte> contents(const Entry& entry) {
    if (entry.size > left_)
      fail_for("memory_limit", "{}: {} unpacks to {} bytes, and {} are left of the memory limit", name_,
               in_quotes(entry.name), entry.size, left_);
    left_ -= entry.size;
    if (get<std::uint32_t>(entry.offset) != kLocalEntry) spoilt(entry);
    const std::size_t begin = entry.offset + kLocalSize + get<std::uint16_t>(entry.offset + 26) +
                              get<std::uint16_t>(entry.offset + 28);
    if (begin > bytes_.size() || entry.packed > bytes_.size() - begin) spoilt(entry);
    const auto packed = bytes_.subspan(begin, entry.packed);
    std::vector<std::byte> out;
    if (entry.method == 0) {
      out.assign(packed.begin(), packed.end());
    } else if (entry.method == 8) {
      out = inflated(packed, entry);
    } else {
      fail("{}: {} is compressed by method {}, but only stored and deflated arrays are read", name_,
           in_quotes(entry.name), entry.method);
    }
    const auto crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size());
    if (out.size() != entry.size || crc != entry.crc) spoilt(entry);
    return out;
  }

 private:
  template <typename T>
  T get(std::size_t at) const {
    T value{};
    if (at > bytes_.size() || bytes_.size() - at < sizeof value)
      fail("{}: an npz archive that was cut off", name_);
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  [[noreturn]] void spoilt(const Entry& entry) const {
    fail("{}: {} in the archive is damaged", name_, in_quotes(entry.name));
  }

  std::size_t add_entry(std::size_t at) {
    if (get<std::uint32_t>(at) != kDirectoryEntry)
      fail("{}: the directory of the npz archive is damaged", name_);
    Entry entry;
    entry.method = get<std::uint16_t>(at + 10);
    entry.crc = get<std::uint32_t>(at + 16);
    entry.packed = get<std::uint32_t>(at + 20);
    entry.size = get<std::uint32_t>(at + 24);
    entry.offset = get<std::uint32_t>(at + 42);
    if (entry.packed == 0xffffffff || entry.size == 0xffffffff || entry.offset == 0xffffffff)
      fail("{}: an npz archive of 4 GB or more; store the array as .npy", name_);
    const std::size_t length = get<std::uint16_t>(at + 28);
    if (at + kEntrySize > bytes_.size() || length > bytes_.size() - at - kEntrySize)
      fail("{}: an npz archive that was cut off", name_);
    entry.name.assign(reinterpret_cast<const char*>(bytes_.data()) + at + kEntrySize, length);
    entries_.push_back(entry);
    return at + kEntrySize + length + get<std::uint16_t>(at + 30) + get<std::uint16_t>(at + 32);
  }

  // Grown as bytes come out: a directory that promises too much costs an error, not the memory.
  std::vector<std::byte> inflated(std::span<const std::byte> packed, const Entry& entry) const {
    z_stream stream = {};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    std::vector<std::byte> out;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream.avail_in = packed.size();
    int status = Z_OK;
    while (status == Z_OK && out.size() <= entry.size) {
      const std::size_t before = out.size();
      try {
        out.resize(before + std::max<std::size_t>(before, std::size_t{1} << 16));
      } catch (...) {
        inflateEnd(&stream);
        throw;
      }
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream.avail_out = out.size() - before;
      status = inflate(&stream, Z_NO_FLUSH);
      out.resize(out.size() - stream.avail_out);
    }
    inflateEnd(&stream);
    if (status != Z_STREAM_END) spoilt(entry);
    return out;
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::uint64_t left_;
  std::vector<Entry> entries_;
};

bool is_target(std::string_view key) {
  constexpr std::array<std::string_view, 7> kKeys = {"y",      "Y",       "label", "labels",
                                                     "target", "targets", "arr_1"};
  return std::ranges::find(kKeys, key) != kKeys.end();
}

// The arrays of an archive by their names.
class Arrays {
 public:
  explicit Arrays(Source& source)
      : name_(source.name()),
        limit_(source.limit()),
        bytes_(read_all(source)),
        archive_(bytes_.view(), name_, limit_) {
    for (const Entry& entry : archive_.entries())
      if (entry.name.ends_with(".npy")) entry_.emplace(entry.name.substr(0, entry.name.size() - 4), &entry);
  }

  bool has(const char* key) const { return entry_.contains(key); }
  const std::map<std::string, const Entry*>& all() const { return entry_; }
  std::vector<std::byte> contents(const std::string& key) { return archive_.contents(*entry_.at(key)); }

  // Calls read(Source) for what is called `key`.
  template <typename Read>
  auto read(const std::string& key, const Read& read) {
    const std::vector<std::byte> bytes = contents(key);
    return read(Source(bytes, name_ + ":" + in_quotes(key), limit_));
  }

 private:
  std::string name_;
  std::uint64_t limit_;
  ByteString bytes_;
  Archive archive_;
  std::map<std::string, const Entry*> entry_;
};

// Entries of one row in the order of their columns; two in one place are an error.
void sort_row(NpzTable& table, std::size_t row, const std::string& name) {
  const std::size_t begin = table.row_begin[row], end = table.row_begin[row + 1];
  const auto columns = std::span(table.column).subspan(begin, end - begin);
  if (!std::ranges::is_sorted(columns)) {
    std::vector<std::pair<Index, float>> entries;
    for (std::size_t e = begin; e < end; ++e) entries.emplace_back(table.column[e], table.value[e]);
    std::ranges::sort(entries);
    for (std::size_t e = begin; e < end; ++e) std::tie(table.column[e], table.value[e]) = entries[e - begin];
  }
  if (const auto twice = std::ranges::adjacent_find(columns); twice != columns.end())
    fail("{}: row {} has two entries in column {}", name, row, *twice);
}

// As scipy.sparse.save_npz writes it.
NpzTable read_csr(Arrays& arrays, const std::string& name) {
  constexpr Offset kMost = std::numeric_limits<Index>::max();
  const std::vector<std::byte> format = arrays.contents("format");
  const std::string_view letters(reinterpret_cast<const char*>(format.data()), format.size());
  if (!letters.ends_with("csr"))
    fail("{}: a sparse matrix of another form than csr: save matrix.tocsr()", name);
  const std::vector<Offset> shape = arrays.read("shape", read_npy_integers);
  if (shape.size() != 2 || shape[0] < 1 || shape[0] > kMost || shape[1] < 1 || shape[1] > kMost)
    fail("{}: shape {} of a sparse matrix", name, joined(shape, "x"));
  NpzTable table;
  table.columns = static_cast<Index>(shape[1]);
  table.row_begin = arrays.read("indptr", read_npy_integers);
  const std::vector<Offset> column = arrays.read("indices", read_npy_integers);
  NpyArray values = arrays.read("data", read_npy);
  table.value = values.bytes.empty() ? std::move(values.floats)
                                     : std::vector<float>(values.bytes.begin(), values.bytes.end());
  const bool fits = table.row_begin.size() == static_cast<std::size_t>(shape[0]) + 1 &&
                    table.row_begin.front() == 0 && std::ranges::is_sorted(table.row_begin) &&
                    table.row_begin.back() == std::ssize(column) && column.size() == table.value.size();
  if (!fits)
    fail("{}: {} rows, {} row ends, {} columns and {} values do not make a sparse matrix", name, shape[0],
         table.row_begin.size(), column.size(), table.value.size());
  table.column.reserve(column.size());
  for (const Offset c : column) {
    if (c < 0 || c >= shape[1]) fail("{}: column {} of a matrix of {}", name, c, shape[1]);
    table.column.push_back(static_cast<Index>(c));
  }
  for (std::size_t r = 0; r + 1 < table.row_begin.size(); ++r) sort_row(table, r, name);
  return table;
}

}  // namespace

NpzTable read_npz(Source source) {
  const std::string name = source.name();
  Arrays arrays(source);
  NpzTable table;
  if (arrays.has("indptr") && arrays.has("indices") && arrays.has("data") && arrays.has("shape") &&
      arrays.has("format")) {
    table = read_csr(arrays, name);
    for (const auto& [key, entry] : arrays.all())
      if (is_target(key)) table.target = arrays.read(key, read_npy);
    return table;
  }
  std::map<std::string, NpyArray> tables;
  std::string all;
  for (const auto& [key, entry] : arrays.all()) {
    all += (all.empty() ? "" : ", ") + in_quotes(key);
    NpyArray array = arrays.read(key, read_npy);
    if (is_target(key))
      table.target = std::move(array);
    else if (array.shape.size() >= 2)
      tables.emplace(key, std::move(array));
  }
  if (tables.size() == 1) {
    table.dense = std::move(tables.begin()->second);
    return table;
  }
  for (const char* usual : {"x", "X", "data", "arr_0"})
    if (const auto found = tables.find(usual); found != tables.end()) {
      table.dense = std::move(found->second);
      return table;
    }
  fail(
      "{}: arrays {}, of which {} have rows and columns; there must be one, or one that is called x, X, data "
      "or arr_0",
      name, all.empty() ? "none" : all, tables.size());
}

}  // namespace filigree::internal
