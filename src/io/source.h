// SPDX-License-Identifier: Apache-2.0
// The bytes of a file, decompressed on the way: plain, gzip or zstd, told apart by the first bytes, not the
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace filigree::internal {

// Every failure is an Error that begins with the name of the source.
class Source {
 public:
  // More than `most` bytes of contents are an Error, so that what never ends, or unpacks to a thousandfold,
  // ends before the machine's memory does: for readers that keep what they read.
  explicit Source(const std::filesystem::path& path, std::uint64_t most = kNoLimit);
  // Borrows `bytes`, which may be compressed as well; `name` stands for the path in messages.
  Source(std::span<const std::byte> bytes, std::string name, std::uint64_t most = kNoLimit);
  Source(Source&&) noexcept;
  Source& operator=(Source&&) noexcept;
  ~Source();

  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  const std::string& name() const;
  std::uint64_t limit() const;  // `most`

  // Fills `out` as far as the source reaches; fewer bytes than asked for mean its end. Large plain reads
  // go from the file straight into `out`.
  std::size_t read(std::span<std::byte> out);

  // Fills all of `out` or throws, naming `what` and both sizes.
  void read_exactly(std::span<std::byte> out, std::string_view what);

  // What was read needs not stay in the system's memory: for readers whose rows do not fit there.
  void forget() const;

  // Bytes of the whole contents, where they are known beforehand: plain regular files and plain memory.
  std::optional<std::uint64_t> size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All of a short text; longer than `most` bytes is an Error.
std::string read_text(Source& source, std::size_t most = std::size_t{1} << 20);
std::string read_text(const std::filesystem::path& path, std::size_t most = std::size_t{1} << 20);

// Bytes that grow in place where the system can do that: a large file is never in memory twice.
class ByteString {
 public:
  std::span<const std::byte> view() const { return {data_.get(), size_}; }
  std::span<std::byte> grow(std::size_t size);  // the new bytes, not initialised
  void shrink(std::size_t size) { size_ = size; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

// All bytes of a source.
ByteString read_all(Source& source);

// A data file, found by find_file(), from its beginning. "-" is standard input, which can be read once: what
// it held is kept for whoever opens it again.
Source open_data(const std::string& file, std::uint64_t most = Source::kNoLimit);

// The file itself, else the same name with .gz, else with .zst; empty if there is none.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& path);

}  // namespace filigree::internal
