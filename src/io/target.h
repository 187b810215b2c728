// SPDX-License-Identifier: Apache-2.0
// Where bytes go: a file that is written whole or not at all, or memory. The counterpart of Source.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/atomic_file.h"

namespace filigree::internal {

class Target {
 public:
  Target(std::filesystem::path path) : path_(std::move(path)) {}  // opened with the first byte
  Target(const char* path) : path_(path) {}
  Target(std::vector<std::byte>& memory) : memory_(&memory) {}

  std::string name() const { return memory_ != nullptr ? "memory" : path_.string(); }  // for messages

  void write(std::span<const std::byte> bytes) {
    if (memory_ != nullptr) {
      memory_->insert(memory_->end(), bytes.begin(), bytes.end());
    } else {
      if (file_ == nullptr) file_ = std::make_unique<AtomicFile>(path_);
      file_->write(bytes);
    }
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit() {  // after the last byte
    if (file_ != nullptr) file_->commit();
  }

 private:
  std::filesystem::path path_;
  std::unique_ptr<AtomicFile> file_;
  std::vector<std::byte>* memory_ = nullptr;
};

}  // namespace filigree::internal
