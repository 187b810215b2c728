// SPDX-License-Identifier: Apache-2.0
// Tests of the parallel loops.
#include "base/parallel.h"
#include "base/test_threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace filigree::internal {
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
    std::vector<int> calls(count, 0);
    parallel_workers([&](int worker) { ++calls[worker]; });
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

TEST(Session, RunsLoopsOfSessionsOfDifferentSizesSideBySide) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 1; c <= 4; ++c)
    callers.emplace_back([&wrong, c] {
      for (int round = 0; round < 100; ++round) {
        const Session session({.threads = c + round % 2});
        const Session::Use use(session);
        if (nested_sum(500) != 124'750u || threads() != c + round % 2) ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Session, IsSharedByManyThreads) {
  const Session session({.threads = 3});
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      const Session::Use use(session);
      for (int round = 0; round < 100; ++round)
        if (nested_sum(500) != 124'750u) ++wrong;
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Session, IsThatOfTheCallerInItsLoopsAndNobodyElses) {
  const int usual = threads();
  const Session outer({.threads = 3});
  const Session::Use use(outer);
  std::atomic<int> wrong{0};
  parallel_for(100, 1, [&](std::size_t, std::size_t) { wrong += threads() != 3; });
  {
    const Session inner({.threads = 2});
    const Session::Use within(inner);
    parallel_for(100, 1, [&](std::size_t, std::size_t) { wrong += threads() != 2; });
  }
  EXPECT_EQ(threads(), 3);
  EXPECT_EQ(wrong, 0);
  int elsewhere = 0;
  std::thread([&] { elsewhere = threads(); }).join();
  EXPECT_EQ(elsewhere, usual);
  EXPECT_EQ(Session::current().threads(), 3);
  EXPECT_EQ(Session().threads(), usual);
}

TEST(Session, LivesAsLongAsSomebodyUsesIt) {
  const Session::Use use(Session({.threads = 3}));
  EXPECT_EQ(threads(), 3);
  EXPECT_EQ(nested_sum(1000), 499'500u);
}

TEST(ParallelWorkers, CallsEachWorkerOnceFromManyThreads) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c)
    callers.emplace_back([&wrong, c] {
      const Session session({.threads = 2 + c});
      const Session::Use use(session);
      for (int round = 0; round < 700; ++round) {
        std::atomic<int> called{0}, sum{0};
        std::atomic<int> highest{0};
        parallel_workers(4, [&](int worker) {
          ++called;
          sum += worker;
          int before = highest;
          while (before < worker && !highest.compare_exchange_weak(before, worker)) {
          }
        });
        // Workers 0 … highest, each once.
        wrong += called != highest + 1 || sum != highest * (highest + 1) / 2 || highest > 1 + c;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
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

TEST(Session, RefusesThreadsThatNoMachineHas) {
  EXPECT_THROW(Session({.threads = 1 << 30}), std::invalid_argument);
  EXPECT_GE(threads(), 1);
}

}  // namespace
}  // namespace filigree::internal
