// SPDX-License-Identifier: Apache-2.0
// Which SIMD target the kernels use on this CPU.
#include <hwy/targets.h>

#include "filigree/runtime.h"

namespace filigree {

std::string simd_name() {
  const auto targets = hwy::SupportedAndGeneratedTargets();  // best first
  if (targets.empty()) return "scalar";
  const std::string name = hwy::TargetName(targets.front());
  return name == "AVX3"        ? "AVX-512"
         : name == "AVX3_DL"   ? "AVX-512 of Ice Lake"
         : name == "AVX3_ZEN4" ? "AVX-512 of Zen 4"
                               : name;
}

}  // namespace filigree
