// SPDX-License-Identifier: Apache-2.0
#include "fetch/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace filigree::internal {

PartFile::PartFile(const std::filesystem::path& target) : target_(target), name_(target.string() + ".part") {
  file_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (file_ < 0 && errno == ELOOP) fail("{}: is a symbolic link; remove it", name_);
  const bool pipe = file_ < 0 && errno == ENXIO;
  if (file_ < 0 && !pipe) fail("{}: cannot write: {}", name_, system_message(errno));
  struct stat kind = {};
  if (pipe || ::fstat(file_, &kind) != 0 || !S_ISREG(kind.st_mode) || kind.st_nlink > 1) {
    if (!pipe) ::close(file_);
    fail("{}: is no file of its own, but a device, a pipe or another name of some file; remove it", name_);
  }
  // The lock could be of a file that its owner has just renamed away: then it is not ours to write.
  struct stat opened = {}, named = {};
  const bool locked = ::flock(file_, LOCK_EX | LOCK_NB) == 0;
  const bool same = ::fstat(file_, &opened) == 0 && ::stat(name_.c_str(), &named) == 0 &&
                    opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  if (!locked || !same) {
    ::close(file_);
    fail("{}: another process is fetching this file", name_);
  }
  size_ = opened.st_size;
  ::lseek(file_, 0, SEEK_END);
}

PartFile::~PartFile() {
  if (file_ < 0) return;
  if (size_ == 0) ::unlink(name_.c_str());
  ::close(file_);
}

void PartFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0)
      fail("{}: cannot write {} bytes after the first {}: {}", name_, bytes.size(), size_,
           system_message(errno));
    size_ += done;
    bytes = bytes.subspan(done);
  }
}

void PartFile::clear() {
  if (size_ == 0) return;
  if (::ftruncate(file_, 0) != 0 || ::lseek(file_, 0, SEEK_SET) != 0)
    fail("{}: cannot start over: {}", name_, system_message(errno));
  size_ = 0;
}

void PartFile::finish() {
  if (::fsync(file_) != 0) fail("{}: cannot sync {} bytes: {}", name_, size_, system_message(errno));
  if (::rename(name_.c_str(), target_.c_str()) != 0)
    fail("{}: cannot rename it to {}: {}", name_, target_.string(), system_message(errno));
  ::close(file_);
  file_ = -1;
  // The new name must survive a power cut, too; a file system that cannot do that is not our failure.
  const std::filesystem::path parent = target_.has_parent_path() ? target_.parent_path() : ".";
  const int directory = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  (void)::fsync(directory);
  ::close(directory);
}

}  // namespace filigree::internal
