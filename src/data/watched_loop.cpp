// SPDX-License-Identifier: Apache-2.0
// One parallel_for a batch.
#include "data/watched_loop.h"

#include <algorithm>

#include "base/parallel.h"

namespace filigree::internal {

void watched_loop(const Observer& observer, std::string_view stage, std::size_t count, std::size_t batch,
                  std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body) {
  for (std::size_t first = 0; first < count; first += batch) {
    observer.check_stop();
    const std::size_t size = std::min(batch, count - first);
    parallel_for(size, grain, [&](std::size_t begin, std::size_t end) { body(first + begin, first + end); });
    observer.report(stage, first + size, count);
  }
}

}  // namespace filigree::internal
