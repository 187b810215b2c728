// SPDX-License-Identifier: Apache-2.0
#include "base/buffer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace filigree::internal::detail {

namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20;

struct Pages {
  std::uintptr_t first, last;
  Pages(const void* memory, std::size_t bytes) {
    static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(memory), end = begin + bytes;
    first = (begin + page - 1) / page * page;
    last = end / page * page;
  }
  bool none() const { return first >= last; }
  std::size_t size() const { return last - first; }
  void advise(int advice) const {
    madvise(reinterpret_cast<void*>(first), size(), advice);  // NOLINT(performance-no-int-to-ptr)
  }
};
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

void unmap(void* memory, std::size_t bytes, int file) noexcept {
  munmap(memory, bytes);
  close(file);
}

// Where memory is short, finding out that these pages are the ones to go takes longer than reading others.
void forget_pages(const void* memory, std::size_t bytes, int file, std::size_t place) noexcept {
  const Pages pages(memory, bytes);
  if (pages.none()) return;
  pages.advise(MADV_DONTNEED);
  const std::size_t first = place + (pages.first - reinterpret_cast<std::uintptr_t>(memory));
  posix_fadvise(file, static_cast<off_t>(first), static_cast<off_t>(pages.size()), POSIX_FADV_DONTNEED);
}

void fetch_pages(const void* memory, std::size_t bytes) noexcept {
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // since Linux 5.14
#endif
  const Pages pages(memory, bytes);
  if (pages.none()) return;
  pages.advise(MADV_WILLNEED);       // all at once, as far as memory is free,
  pages.advise(MADV_POPULATE_READ);  // then all that is left
}

}  // namespace filigree::internal::detail
