// SPDX-License-Identifier: Apache-2.0
// The thread pool: workers sleep until somebody opens a loop, then take its ranges one after the other beside
// the caller, who waits for those that are still at it.
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace filigree {

namespace {

constexpr int kMostThreads = 4096;

// How long a thread looks for work before it sleeps: a training step opens loops every 10 to 300 µs, and
// waking a thread takes 5 to 50. (Steps at 99 %: 418 µs with 60 µs of patience, 391 with 250, 422 with 1000;
// medians of 10.)
constexpr std::chrono::microseconds kPatience{250};

// Those that the process may use, which are fewer than the machine has in many a container.
int all_cores() {
  cpu_set_t allowed;
  const int cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0
                        ? CPU_COUNT(&allowed)
                        : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores, 1, kMostThreads);
}

// Returns when `ready` does, or when patience is at its end.
template <typename Ready>
void look_for(const Ready& ready) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!ready()) {
    for (int i = 0; i < 32; ++i) {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
      if (ready()) return;
    }
    if (std::chrono::steady_clock::now() > end) return;
    std::this_thread::yield();  // where cores are shared, somebody else may have what is waited for
  }
}

// One call of parallel_for: on the stack of the thread that called it.
class Loop {
 public:
  Loop(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body)
      : count_(count), grain_(grain), body_(body) {}

  bool has_ranges() const { return next_.load(std::memory_order_relaxed) < count_; }

  // Takes ranges until there are none, or until one of them threw.
  void take_ranges() noexcept {
    try {
      while (has_ranges()) {
        const std::size_t first = next_.fetch_add(grain_);
        if (first >= count_) return;
        body_(first, std::min(count_, first + grain_));
      }
    } catch (...) {
      next_ = count_;
      const std::lock_guard lock(failing_);
      if (first_failure_ == nullptr) first_failure_ = std::current_exception();
    }
  }

  void rethrow() const {
    if (first_failure_ != nullptr) std::rethrow_exception(first_failure_);
  }

  std::atomic<int> helpers{0};  // rises and falls under the pool's lock

 private:
  const std::size_t count_, grain_;
  const std::function<void(std::size_t, std::size_t)>& body_;
  std::atomic<std::size_t> next_{0};
  std::mutex failing_;
  std::exception_ptr first_failure_;
};

class Pool {
 public:
  explicit Pool(int threads) {
    workers_.reserve(static_cast<std::size_t>(threads - 1));
    open_.reserve(16);
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      const std::size_t started = workers_.size() + 1;
      stop();
      fail("only {} of {} threads can be started ({}): use fewer (--threads)", started, threads,
           error.what());
    } catch (...) {
      stop();
      throw;
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { stop(); }

  static thread_local Pool* of_this_worker;

  void run(Loop& loop) {
    {
      const std::lock_guard lock(mutex_);
      open_.push_back(&loop);
      opened_.fetch_add(1, std::memory_order_release);
    }
    work_.notify_all();
    loop.take_ranges();
    std::unique_lock lock(mutex_);
    std::erase(open_, &loop);  // from here on nobody joins
    if (loop.helpers.load(std::memory_order_acquire) > 0) {
      const auto left = [&] { return loop.helpers.load(std::memory_order_acquire) == 0; };
      lock.unlock();
      look_for(left);
      lock.lock();
      finished_.wait(lock, left);
    }
    lock.unlock();
    loop.rethrow();
  }

 private:
  // Call with the lock held.
  Loop* open_loop() const {
    for (Loop* loop : open_)
      if (loop->has_ranges()) return loop;
    return nullptr;
  }

  void work() {
    of_this_worker = this;
    std::unique_lock lock(mutex_);
    for (;;) {
      if (Loop* loop = open_loop()) {
        loop->helpers.fetch_add(1, std::memory_order_relaxed);
        lock.unlock();
        loop->take_ranges();
        lock.lock();
        // The caller may leave once this is zero: `loop` is not touched after it.
        if (loop->helpers.fetch_sub(1, std::memory_order_release) == 1) finished_.notify_all();
        continue;
      }
      if (stopping_) return;
      const unsigned seen = opened_.load(std::memory_order_relaxed);
      lock.unlock();
      look_for([&] { return opened_.load(std::memory_order_acquire) != seen; });
      lock.lock();
      work_.wait(lock, [&] { return stopping_ || opened_.load(std::memory_order_relaxed) != seen; });
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      opened_.fetch_add(1, std::memory_order_release);
    }
    work_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  std::mutex mutex_;
  std::condition_variable work_, finished_;
  std::vector<Loop*> open_;
  std::atomic<unsigned> opened_{0};  // counts loops, so that a worker can see a new one without the lock
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

thread_local Pool* Pool::of_this_worker = nullptr;

// The pool in use. It starts with the first loop that is worth sharing out, and one that set_threads replaced
// ends with the last loop that runs on it.
struct Process {
  std::atomic<int> threads{all_cores()};
  std::mutex mutex;
  std::shared_ptr<Pool> pool;
};

// Never destroyed: threads of the user's may still run loops while the process ends.
Process& process() {
  static Process* instance = [] {
    auto* made = new Process;
    // A forked child has the caller's thread alone: it gets a pool of its own, and forgets the parent's.
    pthread_atfork([] { process().mutex.lock(); }, [] { process().mutex.unlock(); },
                   [] {
                     new (&process().pool) std::shared_ptr<Pool>();
                     Pool::of_this_worker = nullptr;
                     process().mutex.unlock();
                   });
    return made;
  }();
  return *instance;
}

std::shared_ptr<Pool> pool_in_use() {
  const std::lock_guard lock(process().mutex);
  if (process().pool == nullptr) process().pool = std::make_shared<Pool>(process().threads.load());
  return process().pool;
}

}  // namespace

void set_threads(int threads) {
  if (threads > kMostThreads)
    throw std::invalid_argument(fmt::format("{} threads; at most {} are possible", threads, kMostThreads));
  const int wanted = threads > 0 ? threads : all_cores();
  std::shared_ptr<Pool> before;  // ends outside of the lock, if nobody uses it
  const std::lock_guard lock(process().mutex);
  if (wanted == process().threads) return;
  process().threads = wanted;
  before.swap(process().pool);
}

int threads() {
  return process().threads.load(std::memory_order_relaxed);
}

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  grain = std::max<std::size_t>(1, grain);
  if (count <= grain || threads() == 1) return body(0, count);
  Loop loop(count, grain, body);
  // A loop within a loop stays on the pool of the outer one, which is kept by whoever opened it.
  if (Pool* own = Pool::of_this_worker) return own->run(loop);
  pool_in_use()->run(loop);
}

void parallel_workers(const std::function<void(int)>& body) {
  parallel_workers(static_cast<std::size_t>(threads()), body);
}

void parallel_workers(std::size_t most, const std::function<void(int)>& body) {
  const std::size_t workers = std::min(most, static_cast<std::size_t>(threads()));
  if (workers <= 1) return body(0);
  parallel_for(workers, 1, [&](std::size_t first, std::size_t last) {
    for (; first < last; ++first) body(static_cast<int>(first));
  });
}

}  // namespace filigree
