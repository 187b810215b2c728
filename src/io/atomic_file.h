// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: written beside its target, synced, then renamed over it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace filigree::internal {

// A target that exists and is no regular file (/dev/stdout, a pipe) is written directly. A name that ends
// in .gz is compressed. Every failure is an Error with path, bytes and reason, and leaves the old file as it
// was.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();  // without commit(): the temporary is removed, the target untouched

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();  // the last call; the target is complete and on disk afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// With those above it; one that exists is fine. An Error names it and the reason.
void make_directory(const std::filesystem::path& path);

}  // namespace filigree::internal
