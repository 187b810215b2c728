#include "base/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <mutex>

namespace filigree {

namespace {

struct Pool {
  int threads = std::max(1, tbb::info::default_concurrency());
  // Without it oneTBB complains on standard error when there are more threads than cores.
  std::unique_ptr<tbb::global_control> allowance;
  std::unique_ptr<tbb::task_arena> arena = std::make_unique<tbb::task_arena>(threads);
};

Pool& pool() {
  static Pool instance;
  return instance;
}

}  // namespace

void set_threads(int threads) {
  Pool& p = pool();
  const int wanted = threads > 0 ? threads : std::max(1, tbb::info::default_concurrency());
  if (wanted == p.threads) return;
  p.allowance = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                      static_cast<std::size_t>(wanted));
  p.arena = std::make_unique<tbb::task_arena>(wanted);
  p.threads = wanted;
}

int threads() {
  return pool().threads;
}

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  grain = std::max<std::size_t>(1, grain);
  if (count <= grain || threads() == 1) return body(0, count);
  pool().arena->execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, grain),
                      [&](const auto& range) { body(range.begin(), range.end()); });
  });
}

void parallel_workers(const std::function<void(int)>& body) {
  const int workers = threads();
  if (workers == 1) return body(0);
  pool().arena->execute([&] {
    tbb::parallel_for(
        0, workers, [&](int worker) { body(worker); }, tbb::static_partitioner());
  });
}

}  // namespace filigree
