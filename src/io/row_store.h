// SPDX-License-Identifier: Apache-2.0
// Numbers that come one after the other, more perhaps than memory holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/buffer.h"

namespace filigree::internal {

// In memory up to `most` bytes; beyond that all go to a file without a name in cache_directory(), which is
// mapped in the end. What it is of, `name`, begins every message.
class ByteStore {
 public:
  ByteStore(std::string name, std::uint64_t most);
  ByteStore(ByteStore&&) noexcept;
  ByteStore& operator=(ByteStore&&) noexcept;
  ~ByteStore();

  void append(std::span<const std::byte> bytes);
  std::uint64_t size() const { return size_; }
  bool on_disk() const { return file_ >= 0; }
  // What was appended, in memory of malloc() or mapped from a file that stays open, else -1. Nothing may be
  // appended afterwards.
  struct Taken {
    std::span<std::byte> bytes;
    int file;
  };
  Taken take();

 private:
  void move_to_disk();
  void write(std::span<const std::byte> bytes);

  std::string name_;
  std::uint64_t most_ = 0, size_ = 0;
  std::byte* memory_ = nullptr;  // all of it, or what is next to be written
  std::size_t used_ = 0, room_ = 0;
  int file_ = -1;
};

template <typename T>
class RowStore {
 public:
  RowStore(std::string name, std::uint64_t most) : bytes_(std::move(name), most) {}
  void append(std::span<const T> values) { bytes_.append(std::as_bytes(values)); }
  std::size_t size() const { return bytes_.size() / sizeof(T); }
  bool on_disk() const { return bytes_.on_disk(); }
  Buffer<T> take() {
    const auto [bytes, file] = bytes_.take();
    const std::span<T> values(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T));
    return file >= 0 ? Buffer<T>::mapped(values, file) : Buffer<T>::adopted(values);
  }

 private:
  ByteStore bytes_;
};

// Where rows that do not fit into memory go: TMPDIR, else /var/tmp.
std::filesystem::path cache_directory();

}  // namespace filigree::internal
