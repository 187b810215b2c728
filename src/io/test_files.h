// SPDX-License-Identifier: Apache-2.0
// For tests: a directory of their own, and whole files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "filigree/vocabulary.h"
#include "io/source.h"
#include "sparse/test_errors.h"

namespace filigree::internal {

// Exists as long as the test.
class TestDirectory {
 public:
  TestDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "filigree-io-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error("cannot make " + name);
    path_ = name;
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::size_t files() const { return std::distance(std::filesystem::directory_iterator(path_), {}); }

 private:
  std::filesystem::path path_;
};

inline std::filesystem::path put_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

inline std::string file_content(const std::filesystem::path& path) {
  std::string content(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(content.data(), content.size());
  return content;
}

// A source that borrows `text`, called "file".
inline Source in_memory(std::string_view text) {
  return {std::as_bytes(std::span(text)), "file"};
}

// Everything a source gives, read `step` bytes at a time.
inline std::string all_of(Source source, std::size_t step = 4096) {
  std::string text;
  for (;;) {
    std::string part(step, '\0');
    const std::size_t got = source.read(std::as_writable_bytes(std::span(part)));
    text.append(part, 0, got);
    if (got < step) return text;
  }
}

}  // namespace filigree::internal
