// SPDX-License-Identifier: Apache-2.0
// Arrays aligned for SIMD. Large ones ask for huge pages: a panel is walked at random.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace filigree::internal {

inline constexpr std::size_t kAlignment = 128;  // one pair of cache lines; any SIMD width divides it

namespace detail {
void* allocate_aligned(std::size_t bytes);  // throws std::bad_alloc
void free_aligned(void* memory) noexcept;
void unmap(void* memory, std::size_t bytes, int file) noexcept;
// The pages that lie wholly within: no longer in memory, or soon to be read.
void forget_pages(const void* memory, std::size_t bytes, int file, std::size_t place) noexcept;
void fetch_pages(const void* memory, std::size_t bytes) noexcept;
}  // namespace detail

// Uninitialised on construction; call zero() where zeros are meant.
template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t size)
      : data_(size == 0 ? nullptr : static_cast<T*>(detail::allocate_aligned(size * sizeof(T)))),
        size_(size) {}
  // Memory of somebody else, which outlives this and is only read.
  static Buffer borrowed(std::span<const T> values) {
    return {values.data(), values.size(), Memory::borrowed};
  }
  // A mapping of a whole file, which is open, and memory of malloc(): they are this one's from here on.
  static Buffer mapped(std::span<const T> values, int file) {
    Buffer buffer(values.data(), values.size(), Memory::mapped);
    buffer.file_ = file;
    return buffer;
  }
  static Buffer adopted(std::span<T> values) { return {values.data(), values.size(), Memory::owned}; }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        memory_(std::exchange(other.memory_, Memory::owned)),
        file_(other.file_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(memory_, other.memory_);
    std::swap(file_, other.file_);
    return *this;
  }
  Buffer(const Buffer& other) : Buffer(other.size_) {
    if (size_ != 0) std::memcpy(data_, other.data_, size_ * sizeof(T));
  }
  Buffer& operator=(const Buffer& other) { return *this = Buffer(other); }
  ~Buffer() {
    if (memory_ == Memory::owned) detail::free_aligned(data_);
    if (memory_ == Memory::mapped) detail::unmap(data_, size_ * sizeof(T), file_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  operator std::span<T>() { return {data_, size_}; }              // NOLINT(google-explicit-constructor)
  operator std::span<const T>() const { return {data_, size_}; }  // NOLINT(google-explicit-constructor)
  bool operator==(std::span<const T> other) const { return std::ranges::equal(*this, other); }
  void zero() {
    if (size_ != 0) std::memset(data_, 0, size_ * sizeof(T));
  }

  // Of a mapped file: `count` elements from `first` on are not needed for a while, or will be soon.
  bool on_disk() const { return memory_ == Memory::mapped; }
  void forget(std::size_t first, std::size_t count) const {
    if (on_disk()) detail::forget_pages(data_ + first, count * sizeof(T), file_, first * sizeof(T));
  }
  void fetch(std::size_t first, std::size_t count) const {
    if (on_disk()) detail::fetch_pages(data_ + first, count * sizeof(T));
  }

 private:
  enum class Memory { owned, borrowed, mapped };
  Buffer(const T* data, std::size_t size, Memory memory)
      : data_(const_cast<T*>(data)), size_(size), memory_(memory) {}

  T* data_ = nullptr;
  std::size_t size_ = 0;
  Memory memory_ = Memory::owned;
  int file_ = -1;
};

template <typename T>
Buffer<T> buffer_of(const std::vector<T>& values) {
  Buffer<T> buffer(values.size());
  if (!values.empty()) std::memcpy(buffer.data(), values.data(), values.size() * sizeof(T));
  return buffer;
}

}  // namespace filigree::internal
