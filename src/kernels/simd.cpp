#include "kernels/simd.h"

#include <hwy/targets.h>

namespace filigree {

std::string simd_target_name() {
  const auto targets = hwy::SupportedAndGeneratedTargets();  // best first
  return targets.empty() ? "scalar" : hwy::TargetName(targets.front());
}

}  // namespace filigree
