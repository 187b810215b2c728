// SPDX-License-Identifier: Apache-2.0
// Tests that for_each_target really pins run-time dispatch, and frees it afterwards.
#include "kernels/test_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/test_targets_test.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {

std::int64_t target_here() {
  return HWY_TARGET;
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <stdexcept>
#include <vector>

namespace filigree::internal {

HWY_EXPORT(target_here);

namespace {

std::int64_t dispatched_target() {
  return HWY_DYNAMIC_DISPATCH(target_here)();
}

TEST(ForEachTarget, VisitsEachSupportedTargetOnceAndDispatchFollows) {
  std::vector<std::int64_t> visited;
  const std::int64_t best = dispatched_target();
  for_each_target([&] { visited.push_back(dispatched_target()); });
  EXPECT_EQ(visited, hwy::SupportedAndGeneratedTargets());
  EXPECT_EQ(dispatched_target(), best);
}

TEST(ForEachTarget, FreesDispatchWhenTheBodyThrows) {
  const std::int64_t best = dispatched_target();
  EXPECT_THROW(for_each_target([] { throw std::runtime_error("stop"); }), std::runtime_error);
  EXPECT_EQ(dispatched_target(), best);
}

}  // namespace
}  // namespace filigree::internal
#endif  // HWY_ONCE
