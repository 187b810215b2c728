// SPDX-License-Identifier: Apache-2.0
#include "io/row_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kWritten = std::size_t{1} << 22;  // bytes of one write
constexpr std::size_t kSmallest = std::size_t{1} << 16;

std::string reason(int error) {
  return std::error_code(error, std::generic_category()).message();
}

// A file that is gone when it is closed, whatever becomes of the process.
int open_unnamed(const std::filesystem::path& directory) {
  int file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  std::string name = (directory / "filigree-rows-XXXXXX").string();  // file systems that always want a name
  file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0) ::unlink(name.c_str());
  return file;
}

}  // namespace

std::filesystem::path cache_directory() {
  const char* const chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != 0 ? chosen : "/var/tmp";
}

ByteStore::ByteStore(std::string name, std::uint64_t most) : name_(std::move(name)), most_(most) {}

ByteStore::ByteStore(ByteStore&& other) noexcept
    : name_(std::move(other.name_)),
      most_(other.most_),
      size_(std::exchange(other.size_, 0)),
      memory_(std::exchange(other.memory_, nullptr)),
      used_(std::exchange(other.used_, 0)),
      room_(std::exchange(other.room_, 0)),
      file_(std::exchange(other.file_, -1)) {}

ByteStore& ByteStore::operator=(ByteStore&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(most_, other.most_);
  std::swap(size_, other.size_);
  std::swap(memory_, other.memory_);
  std::swap(used_, other.used_);
  std::swap(room_, other.room_);
  std::swap(file_, other.file_);
  return *this;
}

ByteStore::~ByteStore() {
  std::free(memory_);
  if (file_ >= 0) ::close(file_);
}

void ByteStore::append(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  if (file_ < 0 && size_ > most_) move_to_disk();
  if (used_ + bytes.size() > room_) {
    if (file_ >= 0) {
      write({memory_, used_});
      used_ = 0;
      if (bytes.size() >= kWritten) return write(bytes);
    }
    const std::size_t wanted =
        file_ >= 0 ? kWritten : std::max({used_ + bytes.size(), room_ / 2 * 3, kSmallest});
    if (wanted > room_) {
      void* const larger = std::realloc(memory_, wanted);  // moved by its pages, where it is large
      if (larger == nullptr) throw std::bad_alloc();
      memory_ = static_cast<std::byte*>(larger);
      room_ = wanted;
    }
  }
  std::memcpy(memory_ + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
}

void ByteStore::move_to_disk() {
  file_ = open_unnamed(cache_directory());
  if (file_ < 0)
    fail_for("memory_limit",
             "{}: rows of more than {} bytes go to a file in {}, but there is none to be had: {}", name_,
             most_, cache_directory().string(), reason(errno));
  write({memory_, used_});
  std::free(std::exchange(memory_, nullptr));
  used_ = room_ = 0;
}

void ByteStore::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      fail_for("memory_limit", "{}: {} bytes of rows do not fit into {}: {}", name_, size_,
               cache_directory().string(), reason(done < 0 ? errno : ENOSPC));
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

ByteStore::Taken ByteStore::take() {
  if (file_ < 0) {
    const Taken taken{{std::exchange(memory_, nullptr), used_}, -1};
    used_ = room_ = 0;
    return taken;
  }
  write({memory_, used_});
  used_ = 0;
  // Read only, and never written to again: nobody else knows the file.
  void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_, 0);
  if (mapped == MAP_FAILED) fail("{}: {} bytes of rows cannot be mapped: {}", name_, size_, reason(errno));
  ::fdatasync(file_);  // pages that wait to be written cannot be let go
  return {{static_cast<std::byte*>(mapped), size_}, std::exchange(file_, -1)};
}

}  // namespace filigree::internal
