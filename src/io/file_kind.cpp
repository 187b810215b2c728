// SPDX-License-Identifier: Apache-2.0
#include "io/file_kind.h"

#include <string_view>
#include <vector>

namespace filigree::internal {

namespace {

// The first line has a colon, and no comma.
bool looks_like_libsvm(std::string_view start) {
  const std::string_view line = start.substr(0, start.find('\n'));
  return line.find(':') != std::string_view::npos && line.find(',') == std::string_view::npos;
}

}  // namespace

FileKind file_kind(Source source) {
  constexpr std::string_view kNpyStart = "\x93NUMPY", kZipStart = "PK\x03\x04", kIdxStart{"\0\0", 2};
  constexpr std::size_t kLooked = 4096;
  std::vector<char> bytes(kLooked);
  const std::string_view start(bytes.data(), source.read(std::as_writable_bytes(std::span(bytes))));
  if (start.starts_with(kNpyStart)) return FileKind::npy;
  if (start.starts_with(kZipStart)) return FileKind::npz;
  if (start.starts_with(kIdxStart)) return FileKind::idx;  // no text file begins with zeros
  return looks_like_libsvm(start) ? FileKind::libsvm : FileKind::csv;
}

}  // namespace filigree::internal
