// SPDX-License-Identifier: Apache-2.0
// npz: a zip archive of npy files, stored or deflated.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "io/atomic_file.h"
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
  std::vector<std::byte> contents(const std::string& key) {
    const auto found = entry_.find(key);
    if (found == entry_.end()) fail("{}: there is no array {}", name_, key);
    return archive_.contents(*found->second);
  }

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

// The numbers of an array, as floats.
std::vector<float> floats_of(NpyArray array) {
  return array.bytes.empty() ? std::move(array.floats)
                             : std::vector<float>(array.bytes.begin(), array.bytes.end());
}

// The letters of an array of one text, such as b'csr', or 'csr' in four bytes a letter.
std::string letters_of(const std::vector<std::byte>& npy) {
  std::string letters;
  const std::size_t begin = npy.size() - std::min<std::size_t>(npy.size(), 12);
  for (std::size_t i = begin; i < npy.size(); ++i)
    if (const auto c = std::to_integer<char>(npy[i]); c >= 'a' && c <= 'z') letters += c;
  return letters;
}

// Where entries are and what they are, whatever the form they are stored in.
class SparseArrays {
 public:
  SparseArrays(Arrays& arrays, const std::string& name) : arrays_(arrays), name_(name) {
    constexpr Offset kMost = 1 << 24;
    const std::vector<Offset> shape = arrays.read("shape", read_npy_integers);
    if (shape.size() != 2 || shape[0] < 1 || shape[0] > kMost || shape[1] < 1 || shape[1] > kMost)
      fail("{}: shape {} of a sparse matrix", name, joined(shape, "x"));
    matrix_.rows = static_cast<Index>(shape[0]);
    matrix_.cols = static_cast<Index>(shape[1]);
  }

  CsrMatrix read() {
    const std::string form = letters_of(arrays_.contents("format"));
    if (form.ends_with("coo")) {
      const std::vector<Offset> rows = integers("row"), columns = integers("col");
      if (rows.size() != columns.size())
        fail("{}: {} rows and {} columns of entries", name_, rows.size(), columns.size());
      values("data", rows.size());
      for (std::size_t e = 0; e < rows.size(); ++e) add(rows[e], columns[e], value_[e]);
    } else if (form.ends_with("csr") || form.ends_with("csc")) {
      compressed(form.ends_with("csc"));
    } else if (form.ends_with("bsr")) {
      blocks();
    } else {
      fail("{}: a sparse matrix of the form {}, but csr, csc, bsr and coo are read", name_, in_quotes(form));
    }
    return to_csr(matrix_, Duplicates::sum, name_);
  }

 private:
  std::vector<Offset> integers(const char* key) { return arrays_.read(key, read_npy_integers); }
  void values(const char* key, std::size_t count) {
    NpyArray array = arrays_.read(key, read_npy);
    value_ = floats_of(std::move(array));
    if (value_.size() != count) fail("{}: {} values for {} entries", name_, value_.size(), count);
  }
  void add(Offset row, Offset column, float value) {
    if (row < 0 || row >= matrix_.rows || column < 0 || column >= matrix_.cols)
      fail("{}: an entry in row {}, column {} of {} × {}", name_, row, column, matrix_.rows, matrix_.cols);
    matrix_.row.push_back(static_cast<Index>(row));
    matrix_.column.push_back(static_cast<Index>(column));
    matrix_.value.push_back(value);
  }
  std::vector<Offset> ends(std::size_t lines, std::size_t entries) {
    std::vector<Offset> begin = integers("indptr");
    if (begin.size() != lines + 1 || begin.front() != 0 || !std::ranges::is_sorted(begin) ||
        begin.back() != static_cast<Offset>(entries))
      fail("{}: indptr does not divide {} entries among {} rows or columns", name_, entries, lines);
    return begin;
  }
  void compressed(bool by_column) {
    const std::vector<Offset> indices = integers("indices");
    values("data", indices.size());
    const std::size_t lines = by_column ? matrix_.cols : matrix_.rows;
    const std::vector<Offset> begin = ends(lines, indices.size());
    for (std::size_t line = 0; line < lines; ++line)
      for (Offset e = begin[line]; e < begin[line + 1]; ++e) {
        const auto at = static_cast<Offset>(line);
        by_column ? add(indices[e], at, value_[e]) : add(at, indices[e], value_[e]);
      }
  }
  void blocks() {
    const std::vector<Offset> indices = integers("indices");
    NpyArray data = arrays_.read("data", read_npy);
    if (data.shape.size() != 3 || data.shape[0] != indices.size() || data.shape[1] < 1 || data.shape[2] < 1)
      fail("{}: blocks of shape {} for {} indices", name_, joined(data.shape, "x"), indices.size());
    const auto height = static_cast<Offset>(data.shape[1]), width = static_cast<Offset>(data.shape[2]);
    value_ = floats_of(std::move(data));
    const std::size_t lines = (matrix_.rows + height - 1) / height;
    const std::vector<Offset> begin = ends(lines, indices.size());
    for (std::size_t line = 0; line < lines; ++line)
      for (Offset b = begin[line]; b < begin[line + 1]; ++b)
        for (Offset i = 0; i < height; ++i)
          for (Offset j = 0; j < width; ++j)
            add(static_cast<Offset>(line) * height + i, indices[b] * width + j,
                value_[(b * height + i) * width + j]);
  }

  Arrays& arrays_;
  const std::string& name_;
  CooMatrix matrix_;
  std::vector<float> value_;
};

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

NpzMatrix read_npz_matrix(Source source) {
  const std::string name = source.name();
  Arrays arrays(source);
  NpzMatrix result;
  for (const char* const key : {"bias", "b"})
    if (arrays.has(key)) result.bias = arrays.read(key, read_npy);
  if (arrays.has("format") && arrays.has("shape")) {
    result.matrix = SparseArrays(arrays, name).read();
    return result;
  }
  std::optional<NpyArray> found;
  for (const auto& [key, entry] : arrays.all()) {
    NpyArray array = arrays.read(key, read_npy);
    if (array.shape.size() != 2) continue;
    if (found) fail("{}: more than one matrix", name);
    found = std::move(array);
  }
  constexpr std::uint64_t kMost = 1 << 24;
  if (!found) fail("{}: no matrix", name);
  if (found->shape[0] < 1 || found->shape[0] > kMost || found->shape[1] < 1 || found->shape[1] > kMost)
    fail("{}: a matrix of {}", name, joined(found->shape, "x"));
  const auto rows = static_cast<Index>(found->shape[0]), cols = static_cast<Index>(found->shape[1]);
  result.matrix = full_matrix(rows, cols, floats_of(std::move(*found)));
  return result;
}

namespace {

template <typename T>
void put(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string npy_text(const char* type, const std::string& shape, std::string_view values) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  put(text, static_cast<std::uint16_t>(header.size()));
  return text.append(header).append(values);
}

template <typename T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

void write_npz_matrix(const std::filesystem::path& path, const CsrView& matrix) {
  const auto line = [](std::size_t count) { return fmt::format("({},)", count); };
  const std::array<Offset, 2> shape = {matrix.rows, matrix.cols};
  const std::vector<std::int32_t> begin(matrix.row_begin.begin(), matrix.row_begin.end());
  if (matrix.nnz() > std::numeric_limits<std::int32_t>::max())
    fail("{}: {} entries in one npz matrix", path.string(), matrix.nnz());
  const std::pair<const char*, std::string> arrays[] = {
      {"indices.npy", npy_text("<i4", line(matrix.column.size()), bytes_of(matrix.column))},
      {"indptr.npy", npy_text("<i4", line(begin.size()), bytes_of(std::span<const std::int32_t>(begin)))},
      {"format.npy", npy_text("|S3", "()", "csr")},
      {"shape.npy", npy_text("<i8", "(2,)", bytes_of(std::span<const Offset>(shape)))},
      {"data.npy", npy_text("<f4", line(matrix.value.size()), bytes_of(matrix.value))}};
  AtomicFile file(path);
  std::string directory;
  std::uint32_t offset = 0;
  std::uint16_t count = 0;
  for (const auto& [name, content] : arrays) {
    if (content.size() + offset > 0xfffffff0u) fail("{}: an npz archive of 4 GB or more", path.string());
    std::string facts;  // versions, flags, method 0, the time 1980-01-01, sum, sizes, length of the name
    put<std::uint16_t>(facts, 20);
    put<std::uint16_t>(facts, 0);
    put<std::uint16_t>(facts, 0);
    put<std::uint32_t>(facts, 0x00210000);
    put(facts, static_cast<std::uint32_t>(
                   ::crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size())));
    put(facts, static_cast<std::uint32_t>(content.size()));
    put(facts, static_cast<std::uint32_t>(content.size()));
    put(facts, static_cast<std::uint16_t>(std::strlen(name)));
    put<std::uint16_t>(facts, 0);
    std::string local;
    put(local, kLocalEntry);
    local += facts + name;
    file.write(local);
    file.write(content);
    put(directory, kDirectoryEntry);
    put<std::uint16_t>(directory, 20);
    directory += facts;
    directory.append(10, '\0');  // no comment, disk 0, attributes
    put(directory, offset);
    directory += name;
    offset += static_cast<std::uint32_t>(local.size() + content.size());
    ++count;
  }
  std::string end;
  put(end, kDirectoryEnd);
  end.append(4, '\0');
  put(end, count);
  put(end, count);
  put(end, static_cast<std::uint32_t>(directory.size()));
  put(end, offset);
  end.append(2, '\0');
  file.write(directory);
  file.write(end);
  file.commit();
}

}  // namespace filigree::internal
