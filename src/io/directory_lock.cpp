// SPDX-License-Identifier: Apache-2.0
#include "io/directory_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "base/error.h"

namespace filigree::internal {

class DirectoryLock {
 public:
  explicit DirectoryLock(int file) : file_(file) {}
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock() { ::close(file_); }

 private:
  int file_;
};

namespace {

// "process 4711" as the kernel's list of locks has it, "another process" if it is not there.
std::string holder_of(ino_t inode) {
  std::ifstream locks("/proc/locks");
  const std::string end = fmt::format(":{}", inode);
  for (std::string line; std::getline(locks, line);) {
    // 1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF
    std::istringstream words(line);
    std::string number, kind, mode, access, process, place;
    words >> number >> kind >> mode >> access >> process >> place;
    if (kind == "FLOCK" && place.ends_with(end) && process != "0" && !process.starts_with('-'))
      return "process " + process;
  }
  return "another process";
}

// What processes left that were killed while a finished file got its name.
void remove_leftovers(const std::filesystem::path& directory) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    long process = 0;
    if (std::sscanf(name.c_str(), ".filigree-%ld-", &process) == 1 && name.ends_with(".tmp") &&
        process != ::getpid() && ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH)
      std::filesystem::remove(entry.path(), error);
  }
}

}  // namespace

std::shared_ptr<const DirectoryLock> lock_directory(const std::filesystem::path& directory) {
  static std::mutex mutex;
  static std::map<std::filesystem::path, std::weak_ptr<const DirectoryLock>> held;
  const std::lock_guard guard(mutex);
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(directory, error);
  if (error) fail("{}: {}", directory.string(), error.message());
  if (auto lock = held[path].lock()) return lock;
  const int file = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) fail("{}: {}", directory.string(), system_message(errno));
  auto lock = std::make_shared<const DirectoryLock>(file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    struct stat status = {};
    (void)::fstat(file, &status);
    fail("{}: {} is working in this directory; wait for it, or choose another", directory.string(),
         holder_of(status.st_ino));
  }
  held[path] = lock;
  remove_leftovers(path);
  return lock;
}

void require_no_run(const std::filesystem::path& directory) {
  for (const char* name : {"checkpoint.safetensors", "model.safetensors", "compact.safetensors",
                           "lottery.json", "growth.json", "sweep.json", "sweep.csv"})
    if (std::filesystem::exists(directory / name))
      fail("{}: holds a run already ({}); resume that one, or choose another directory", directory.string(),
           name);
}

}  // namespace filigree::internal
