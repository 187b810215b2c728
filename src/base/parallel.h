// SPDX-License-Identifier: Apache-2.0
// Parallel loops on the threads of the caller's session (see session.h). Exceptions of workers are rethrown
// to the caller.
#pragma once

#include <cstddef>
#include <functional>

namespace filigree::internal {

int threads();  // of the calling thread's session

// Calls body(begin, end) on disjoint ranges that cover [0, count); ranges hold about `grain` items.
void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

// Calls body(worker) once for each worker 0 … threads()-1; each call may run on its own thread, and a
// worker that starts late still gets its call: bodies share work through their own queue and never
// wait for one another.
void parallel_workers(const std::function<void(int)>& body);
// The same for at most `most` workers, where there is work, or room, for no more; one is the calling thread.
void parallel_workers(std::size_t most, const std::function<void(int)>& body);

}  // namespace filigree::internal
