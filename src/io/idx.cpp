// SPDX-License-Identifier: Apache-2.0
// Reading and writing idx files: a big-endian header, then the bytes.
#include "io/idx.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/message_text.h"

namespace filigree::internal {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kMaxDims = 4;

std::size_t product(std::span<const std::uint32_t> dims, const std::string& name) {
  std::size_t elements = 1;
  for (const std::uint32_t dim : dims) {
    if (dim != 0 && elements > std::numeric_limits<std::size_t>::max() / 2 / dim) {
      fail("{}: dimensions {} hold more elements than any memory", name, joined(dims, "x"));
    }
    elements *= dim;
  }
  return elements;
}

}  // namespace

IdxArray read_idx(Source source) {
  std::array<std::byte, 4> magic = {};
  source.read_exactly(magic, "the header");
  const auto type = std::to_integer<unsigned>(magic[2]);
  const auto dims = std::to_integer<std::size_t>(magic[3]);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) fail("{}: not an idx file", source.name());
  if (type != kUnsignedByte) {
    fail("{}: elements of type 0x{:02x}, but only unsigned bytes (0x08) are read", source.name(), type);
  }
  if (dims < 1 || dims > kMaxDims)
    fail("{}: {} dimensions, but 1 to {} are read", source.name(), dims, kMaxDims);

  IdxArray array;
  for (std::size_t d = 0; d < dims; ++d) {
    std::array<std::byte, 4> bytes = {};
    source.read_exactly(bytes, "the header");
    std::uint32_t dim = 0;
    for (const std::byte byte : bytes) dim = dim << 8 | std::to_integer<std::uint32_t>(byte);
    array.dims.push_back(dim);
  }

  // Grown as the bytes arrive: a header that promises too much costs an error, not the memory.
  const std::size_t expected = product(array.dims, source.name());
  constexpr std::size_t kFirstStep = std::size_t{1} << 20;
  while (array.data.size() < expected) {
    const std::size_t before = array.data.size();
    array.data.resize(before + std::min(expected - before, std::max(before, kFirstStep)));
    const auto room = std::as_writable_bytes(std::span(array.data)).subspan(before);
    const std::size_t got = source.read(room);
    if (got < room.size()) {
      fail("{}: ends after {} of {} elements ({})", source.name(), before + got, expected,
           joined(array.dims, "x"));
    }
  }
  std::byte extra = {};
  if (source.read({&extra, 1}) != 0) {
    fail("{}: bytes follow the last of {} elements ({})", source.name(), expected, joined(array.dims, "x"));
  }
  return array;
}

IdxArray read_idx(const std::filesystem::path& path) {
  return read_idx(Source(find_file(path).value_or(path)));
}

void write_idx(const std::filesystem::path& path, const IdxArray& array) {
  if (array.dims.empty() || array.dims.size() > kMaxDims) {
    fail("{}: {} dimensions, but idx files here have 1 to {}", path.string(), array.dims.size(), kMaxDims);
  }
  const std::size_t expected = product(array.dims, path.string());
  if (expected != array.data.size()) {
    fail("{}: {} elements, but the dimensions {} hold {}", path.string(), array.data.size(),
         joined(array.dims, "x"), expected);
  }
  std::vector<std::uint8_t> header = {0, 0, kUnsignedByte, static_cast<std::uint8_t>(array.dims.size())};
  for (const std::uint32_t dim : array.dims) {
    for (const int shift : {24, 16, 8, 0}) header.push_back(static_cast<std::uint8_t>(dim >> shift));
  }
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  file.write(std::as_bytes(std::span(array.data)));
  file.commit();
}

}  // namespace filigree::internal
