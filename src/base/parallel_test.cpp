// SPDX-License-Identifier: Apache-2.0
// Tests of the parallel loops.
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace filigree {
namespace {

TEST(ParallelFor, VisitsEveryItemOnce) {
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    for (const std::size_t items : {0u, 1u, 7u, 1000u}) {
      std::vector<int> visits(items, 0);
      parallel_for(items, 3, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) ++visits[i];
      });
      EXPECT_EQ(visits, std::vector<int>(items, 1));
    }
  }
  set_threads(0);
}

TEST(ParallelWorkers, CallsEachWorkerOnce) {
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    EXPECT_EQ(threads(), count);
    std::vector<int> calls(static_cast<std::size_t>(count), 0);
    parallel_workers([&](int worker) { ++calls[static_cast<std::size_t>(worker)]; });
    EXPECT_EQ(calls, std::vector<int>(static_cast<std::size_t>(count), 1));
  }
  set_threads(0);
  EXPECT_GE(threads(), 1);
}

TEST(ParallelLoops, RethrowWhatABodyThrows) {
  set_threads(3);
  EXPECT_THROW(parallel_workers([](int worker) {
                 if (worker == 1) throw std::runtime_error("one");
               }),
               std::runtime_error);
  EXPECT_THROW(parallel_for(100, 1,
                            [](std::size_t first, std::size_t) {
                              if (first > 50) throw std::runtime_error("late");
                            }),
               std::runtime_error);
  set_threads(0);
}

}  // namespace
}  // namespace filigree
