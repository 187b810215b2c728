// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if !defined(__SANITIZE_THREAD__)

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <memory>
#include <system_error>

#include "base/error.h"

namespace filigree {

namespace {

int all_cores() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// oneTBB's own threads start others, and end the process where one cannot be had: found out before, it is an
// error.
void require_threads(int count) {
  std::vector<std::thread> tried;
  std::atomic<bool> done{false};
  std::string problem;
  try {
    tried.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
      tried.emplace_back([&] {
        std::free(std::malloc(1));  // the C library keeps memory for each thread that asks for some
        done.wait(false);
      });
  } catch (const std::system_error& error) {
    problem = error.what();
  }
  const std::size_t started = tried.size();
  done = true;
  done.notify_all();
  for (std::thread& thread : tried) thread.join();
  if (!problem.empty())
    fail("only {} of {} threads can be started ({}): use fewer (--threads)", started + 1, count + 1, problem);
}

// oneTBB starts when the first loop is shared out: loading what it looks for takes as long as many a
// prediction.
struct Pool {
  int threads = all_cores();
  // Without it oneTBB complains on standard error when there are more threads than cores.
  std::unique_ptr<tbb::global_control> allowance;
  std::unique_ptr<tbb::task_arena> arena;
  std::mutex starting;

  tbb::task_arena& started() {
    const std::lock_guard lock(starting);
    if (arena == nullptr) {
      require_threads(threads - 1);
      allowance = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                        static_cast<std::size_t>(threads));
      arena = std::make_unique<tbb::task_arena>(threads);
    }
    return *arena;
  }
};

Pool& pool() {
  static Pool instance;
  return instance;
}

}  // namespace

void set_threads(int threads) {
  const int wanted = threads > 0 ? threads : all_cores();
  if (wanted == pool().threads) return;
  pool().arena.reset();
  pool().allowance.reset();
  pool().threads = wanted;
}

int threads() {
  return pool().threads;
}

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  grain = std::max<std::size_t>(1, grain);
  if (count <= grain || threads() == 1) return body(0, count);
  pool().started().execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, grain),
                      [&](const auto& range) { body(range.begin(), range.end()); });
  });
}

void parallel_workers(const std::function<void(int)>& body) {
  parallel_workers(static_cast<std::size_t>(threads()), body);
}

void parallel_workers(std::size_t most, const std::function<void(int)>& body) {
  const int workers = static_cast<int>(std::min(most, static_cast<std::size_t>(threads())));
  if (workers <= 1) return body(0);
  pool().started().execute([&] {
    tbb::parallel_for(
        0, workers, [&](int worker) { body(worker); }, tbb::static_partitioner());
  });
}

}  // namespace filigree

#else  // ThreadSanitizer cannot see how an uninstrumented libtbb synchronises: its builds use threads it can
       // see.

namespace filigree {

namespace {

std::atomic<int> thread_count{2};

}  // namespace

void set_threads(int threads) {
  thread_count = threads > 0 ? threads : 2;
}

int threads() {
  return thread_count;
}

void parallel_workers(const std::function<void(int)>& body) {
  parallel_workers(static_cast<std::size_t>(threads()), body);
}

void parallel_workers(std::size_t most, const std::function<void(int)>& body) {
  const int count = static_cast<int>(std::min(most, static_cast<std::size_t>(threads())));
  if (count <= 1) return body(0);
  std::exception_ptr first;
  std::mutex mutex;
  std::vector<std::thread> workers;
  for (int worker = 0; worker < count; ++worker) {
    workers.emplace_back([&, worker] {
      try {
        body(worker);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (first == nullptr) first = std::current_exception();
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  if (first != nullptr) std::rethrow_exception(first);
}

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  grain = std::max<std::size_t>(1, grain);
  std::atomic<std::size_t> next{0};
  parallel_workers([&](int) {
    for (std::size_t first = next.fetch_add(grain); first < count; first = next.fetch_add(grain))
      body(first, std::min(count, first + grain));
  });
}

}  // namespace filigree

#endif
