// SPDX-License-Identifier: Apache-2.0
// Tests of the parallel loops.
#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
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

// The sum of 0 … count-1, by loops within a loop.
std::size_t nested_sum(std::size_t count) {
  std::vector<std::size_t> part(10);
  parallel_for(part.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t p = first; p < last; ++p) {
      std::atomic<std::size_t> sum{0};
      parallel_for(count, 16, [&](std::size_t begin, std::size_t end) {
        std::size_t own = 0;
        for (std::size_t i = begin; i < end; ++i)
          if (i % part.size() == p) own += i;
        sum += own;
      });
      part[p] = sum;
    }
  });
  return std::accumulate(part.begin(), part.end(), std::size_t{0});
}

TEST(ParallelLoops, RunWithinOneAnother) {
  set_threads(4);
  for (int round = 0; round < 20; ++round) EXPECT_EQ(nested_sum(1000), 499'500u);
  set_threads(0);
}

TEST(ParallelLoops, RunOnManyThreadsWhileTheirNumberChanges) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round)
        if (nested_sum(500) != 124'750u) ++wrong;
    });
  for (int round = 0; round < 100; ++round) {
    set_threads(1 + round % 5);
    std::this_thread::yield();
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  set_threads(0);
}

TEST(ParallelWorkers, CallsEachWorkerOnceWhileTheirNumberChanges) {
  std::atomic<bool> stop{false};
  std::thread changing([&] {
    for (int round = 0; !stop; ++round) set_threads(1 + round % 4);
  });
  for (int round = 0; round < 2000; ++round) {
    std::atomic<int> called{0}, sum{0};
    const int most = 4;
    std::atomic<int> highest{0};
    parallel_workers(most, [&](int worker) {
      ++called;
      sum += worker;
      int before = highest;
      while (before < worker && !highest.compare_exchange_weak(before, worker)) {
      }
    });
    ASSERT_EQ(called, highest + 1);  // workers 0 … highest, each once
    ASSERT_EQ(sum, highest * (highest + 1) / 2);
  }
  stop = true;
  changing.join();
  set_threads(0);
}

TEST(ParallelLoops, GoOnInAForkedChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow a child of several threads";
#endif
  set_threads(3);
  ASSERT_EQ(nested_sum(1000), 499'500u);  // the parent's threads are there
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(nested_sum(1000) == 499'500u ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(nested_sum(1000), 499'500u);
  set_threads(0);
}

TEST(SetThreads, RefusesWhatNoMachineHas) {
  EXPECT_THROW(set_threads(1 << 30), std::invalid_argument);
  EXPECT_GE(threads(), 1);
}

}  // namespace
}  // namespace filigree
