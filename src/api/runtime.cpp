// SPDX-License-Identifier: Apache-2.0
#include "filigree/runtime.h"

#include "filigree/version.h"
#include "io/atomic_file.h"
#include "kernels/simd.h"

namespace filigree {

std::string version() {
  return FILIGREE_VERSION;
}
std::string simd_name() {
  return simd_target_name();
}

void write_file(const std::filesystem::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

}  // namespace filigree
