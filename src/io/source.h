// SPDX-License-Identifier: Apache-2.0
// The bytes of a file, decompressed on the way: plain, gzip or zstd, told apart by the first bytes, not the
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace filigree {

// Every failure is an Error that begins with the name of the source.
class Source {
 public:
  explicit Source(const std::filesystem::path& path);
  // Borrows `bytes`, which may be compressed as well; `name` stands for the path in messages.
  Source(std::span<const std::byte> bytes, std::string name);
  Source(Source&&) noexcept;
  Source& operator=(Source&&) noexcept;
  ~Source();

  const std::string& name() const;

  // Fills `out` as far as the source reaches; fewer bytes than asked for mean its end. Large plain reads
  // go from the file straight into `out`.
  std::size_t read(std::span<std::byte> out);

  // Fills all of `out` or throws, naming `what` and both sizes.
  void read_exactly(std::span<std::byte> out, std::string_view what);

  // Bytes of the whole contents, where they are known beforehand: plain regular files and plain memory.
  std::optional<std::uint64_t> size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All of a short text; longer than `most` bytes is an Error.
std::string read_text(const std::filesystem::path& path, std::size_t most = std::size_t{1} << 20);

// All bytes of a source. More than `most` are an Error that names it: what never ends must end somewhere.
std::vector<std::byte> read_all(Source& source, std::size_t most = std::size_t{8} << 30);

// The file itself, else the same name with .gz, else with .zst; empty if there is none.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& path);

}  // namespace filigree
