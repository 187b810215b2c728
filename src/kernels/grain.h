// SPDX-License-Identifier: Apache-2.0
// How finely kernels cut their work for threads.
#pragma once

#include <algorithm>
#include <cstddef>

namespace filigree::internal {

// A task is worth handing to a thread from about this many multiply-adds on.
inline constexpr std::size_t kTaskWork = std::size_t{1} << 15;

// The number of items in a task, when all `items` together take `work` multiply-adds.
inline std::size_t task_items(std::size_t items, std::size_t work) {
  if (work <= kTaskWork) return items;
  return std::max<std::size_t>(1, items / (work / kTaskWork + 1));
}

}  // namespace filigree::internal
