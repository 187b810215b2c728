// SPDX-License-Identifier: Apache-2.0
// The unfinished file of a download: one process at a time appends to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace filigree::internal {

// Every failure is an Error with path and reason.
class PartFile {
 public:
  // Opens or creates PATH.part; an Error if another process works on it.
  explicit PartFile(const std::filesystem::path& target);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();  // what is empty is removed, the rest stays

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  void append(std::span<const std::byte> bytes);
  void clear();   // back to no bytes
  void finish();  // synced and renamed to the target; the last call

 private:
  std::filesystem::path target_;
  std::string name_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace filigree::internal
