// SPDX-License-Identifier: Apache-2.0
// Owned arrays aligned for SIMD. Large ones ask for huge pages: a panel is walked at random.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace filigree::internal {

inline constexpr std::size_t kAlignment = 128;  // one pair of cache lines; any SIMD width divides it

namespace detail {
void* allocate_aligned(std::size_t bytes);  // throws std::bad_alloc
void free_aligned(void* memory) noexcept;
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
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      detail::free_aligned(data_);
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  Buffer(const Buffer& other) : Buffer(other.size_) {
    if (size_ != 0) std::memcpy(data_, other.data_, size_ * sizeof(T));
  }
  Buffer& operator=(const Buffer& other) { return *this = Buffer(other); }
  ~Buffer() { detail::free_aligned(data_); }

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
  void zero() {
    if (size_ != 0) std::memset(data_, 0, size_ * sizeof(T));
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace filigree::internal
