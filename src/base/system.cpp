// SPDX-License-Identifier: Apache-2.0
#include "base/system.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "filigree/version.h"
namespace filigree {

using namespace internal;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos && colon + 2 < line.size())
      return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace filigree

namespace filigree::internal {

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::uint64_t physical_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
}

std::uint64_t memory_limit_or_usual(std::uint64_t limit) {
  return limit > 0 ? limit : physical_memory_bytes() / 4 * 3;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace filigree::internal

namespace filigree {

std::string version() {
  return FILIGREE_VERSION;
}

}  // namespace filigree
