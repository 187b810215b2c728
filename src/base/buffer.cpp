// SPDX-License-Identifier: Apache-2.0
#include "base/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace filigree::internal::detail {

namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20;

void advise(const void* memory, std::size_t bytes, int advice) noexcept {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory), end = begin + bytes;
  const std::uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
  if (first < last)
    madvise(reinterpret_cast<void*>(first), last - first, advice);  // NOLINT(performance-no-int-to-ptr)
}
}  // namespace

void* allocate_aligned(std::size_t bytes) {
  const bool large = bytes >= kHugePage;
  const std::size_t alignment = large ? kHugePage : kAlignment;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  if (large) madvise(memory, bytes, MADV_HUGEPAGE);  // advice only: a refusal costs speed, not truth
  return memory;
}

void free_aligned(void* memory) noexcept {
  std::free(memory);
}

void unmap(void* memory, std::size_t bytes) noexcept {
  munmap(memory, bytes);
}

void forget_pages(const void* memory, std::size_t bytes) noexcept {
  advise(memory, bytes, MADV_DONTNEED);
}

void fetch_pages(const void* memory, std::size_t bytes) noexcept {
  advise(memory, bytes, MADV_WILLNEED);
}

}  // namespace filigree::internal::detail
