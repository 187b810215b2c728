// SPDX-License-Identifier: Apache-2.0
// For tests of SIMD kernels: runs a body once on each Highway target that this CPU supports.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>

namespace filigree::internal {

// Calls body() with run-time dispatch pinned to one target at a time; failures name the target.
// Dispatch is free again afterwards, also when body throws or returns early. Not for nesting.
template <typename Body>
void for_each_target(const Body& body) {
  struct Unpin {
    ~Unpin() { hwy::SetSupportedTargetsForTest(0); }
  } const unpin;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    body();
  }
}

}  // namespace filigree::internal
