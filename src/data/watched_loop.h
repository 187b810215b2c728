// SPDX-License-Identifier: Apache-2.0
// A parallel loop that reports how far it is and can be stopped on the way.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "filigree/vocabulary.h"

namespace filigree::internal {

// Calls body(begin, end) on disjoint ranges of about `grain` items that cover [0, count), in parallel. The
// observer is asked and told between batches of `batch` items, by the calling thread.
void watched_loop(const Observer& observer, std::string_view stage, std::size_t count, std::size_t batch,
                  std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace filigree::internal
