// SPDX-License-Identifier: Apache-2.0
// Atomic writing: POSIX calls, one buffer, and gzip where the name asks for it.
#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "filigree/runtime.h"
namespace filigree::internal {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

// The open descriptor of the process that a name stands for, or -1.
int named_descriptor(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(prefix)) continue;
    int number = -1;
    const char* const end = path.data() + path.size();
    const auto [stop, status] = std::from_chars(path.data() + prefix.size(), end, number);
    if (status == std::errc() && stop == end) return number;
  }
  return -1;
}

}  // namespace

struct AtomicFile::State {
  explicit State(const std::filesystem::path& path) : target(path), name(path.string()) {
    buffer.reserve(kBufferBytes);
    open();
    if (target.extension() == ".gz") {
      deflater.emplace();
      if (deflateInit2(&*deflater, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
          Z_OK) {
        deflater.reset();
        discard();
        throw std::bad_alloc();
      }
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (deflater) deflateEnd(&*deflater);
    discard();
  }

  void open() {
    struct stat status = {};
    const bool exists = ::stat(name.c_str(), &status) == 0;
    const int descriptor = named_descriptor(name);
    if (descriptor >= 0 || (exists && !S_ISREG(status.st_mode))) {
      // Opened by name it would write from an offset of its own, over what others wrote.
      file = descriptor >= 0 ? ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
                             : ::open(name.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
      if (file < 0) fail("{}: cannot write: {}", name, system_message(errno));
      return;
    }
    // Through a link the file it leads to is replaced, not the link.
    std::error_code ignored;
    if (exists) target = std::filesystem::canonical(target, ignored);
    constexpr int kMostLinks = 40;  // as the system follows
    for (int i = 0; !exists && i < kMostLinks && std::filesystem::is_symlink(target, ignored); ++i)
      target = target.parent_path() / std::filesystem::read_symlink(target, ignored);
    if (ignored && exists) target = name;
    static std::atomic<unsigned> counter = 0;
    // Without a name until it is complete, where the file system can: a process that is killed then leaves
    // nothing.
    const std::filesystem::path parent = target.has_parent_path() ? target.parent_path() : ".";
    if (::access("/proc/self/fd", X_OK) == 0)
      file = ::open(parent.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    nameless = file >= 0;
    do {
      temporary = target.parent_path() / fmt::format(".filigree-{}-{}.tmp", ::getpid(), counter++);
      if (!nameless) file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file < 0 && errno == EEXIST);  // left by a process that was killed
    if (file < 0) {
      const int reason = errno;
      temporary.clear();
      fail("{}: cannot write: {}", name, system_message(reason));
    }
    if (exists)
      (void)::fchmod(file, status.st_mode & 07777);  // best effort: the new file is as readable as the old
  }

  void discard() noexcept {
    if (file >= 0) ::close(file);
    file = -1;
    if (!temporary.empty() && !nameless) ::unlink(temporary.c_str());
    temporary.clear();
  }

  void put(std::span<const std::byte> bytes) {  // to the system
    while (!bytes.empty()) {
      const ssize_t done = ::write(file, bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) {
        fail("{}: cannot write {} bytes after the first {}: {}", name, bytes.size(), written,
             system_message(errno));
      }
      written += done;
      bytes = bytes.subspan(done);
    }
  }

  void flush() {
    put(buffer);
    buffer.clear();
  }

  void collect(std::span<const std::byte> bytes) {  // into the buffer, or past it when large
    if (buffer.size() + bytes.size() > kBufferBytes) flush();
    if (bytes.size() >= kBufferBytes) {
      put(bytes);
    } else {
      buffer.insert(buffer.end(), bytes.begin(), bytes.end());
    }
  }

  void compress(std::span<const std::byte> bytes, int mode) {
    std::byte out[16384];
    do {
      const std::size_t part = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      // zlib reads through this pointer only; its type predates const.
      deflater->next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
      deflater->avail_in = part;
      bytes = bytes.subspan(part);
      do {
        deflater->next_out = reinterpret_cast<Bytef*>(out);
        deflater->avail_out = sizeof out;
        deflate(&*deflater, bytes.empty() ? mode : Z_NO_FLUSH);
        collect(std::span(out).first(sizeof out - deflater->avail_out));
      } while (deflater->avail_out == 0);
    } while (!bytes.empty());
  }

  void commit() {
    if (deflater) compress({}, Z_FINISH);
    flush();
    const bool direct = temporary.empty();
    if (!direct && ::fsync(file) != 0) report("cannot sync");
    if (nameless) {
      const std::string here = fmt::format("/proc/self/fd/{}", file);
      ::unlink(temporary.c_str());  // of a process of this number that was killed in this very moment
      if (::linkat(AT_FDCWD, here.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
        report("cannot name the finished file");
      nameless = false;
    }
    const int closed = ::close(file);
    file = -1;
    if (closed != 0) report("cannot close");
    if (direct) return;
    if (::rename(temporary.c_str(), target.c_str()) != 0)
      report("cannot rename the finished file into place");
    temporary.clear();
    // The new name itself must survive a power cut. Some file systems cannot sync a directory: not our
    // failure.
    const std::filesystem::path parent = target.has_parent_path() ? target.parent_path() : ".";
    const int directory = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) {
      (void)::fsync(directory);
      ::close(directory);
    }
  }

  [[noreturn]] void report(std::string_view what) const {
    const int reason = errno;
    fail("{}: {} ({} bytes): {}", name, what, written, system_message(reason));
  }

  std::filesystem::path target, temporary;  // temporary is empty when the target is written directly
  std::string name;                         // as the caller said it
  int file = -1;
  bool nameless = false;  // the temporary has no name yet
  std::uint64_t written = 0;
  std::vector<std::byte> buffer;
  std::optional<z_stream> deflater;
};

AtomicFile::AtomicFile(const std::filesystem::path& target) : state_(std::make_unique<State>(target)) {}

AtomicFile::~AtomicFile() = default;

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (state_->deflater) {
    if (!bytes.empty()) state_->compress(bytes, Z_NO_FLUSH);
  } else {
    state_->collect(bytes);
  }
}

void AtomicFile::commit() {
  state_->commit();
}

void make_directory(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail("{}: cannot be made: {}", path.string(), error.message());
}

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

void write_file(const std::filesystem::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

}  // namespace filigree
