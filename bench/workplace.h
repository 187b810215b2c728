// SPDX-License-Identifier: Apache-2.0
// A directory for as long as a benchmark runs.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace filigree::internal {

class Workplace {
 public:
  Workplace() {
    std::string name = (std::filesystem::temp_directory_path() / "filigree-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fail("{}: cannot be made", name);
    path_ = name;
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace filigree::internal
