// SPDX-License-Identifier: Apache-2.0
// Sessions and their thread pools: workers sleep until somebody opens a loop, then take its ranges one after
// the other beside the caller, who waits for those that are still at it.
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
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/session.h"
namespace filigree::internal {

namespace {

// The session that this thread works in; null: the usual one. Workers are in that of their pool.
thread_local const Session::State* current = nullptr;

// How long a thread looks for work before it sleeps: a training step opens loops every 10 to 300 µs, and
// waking a thread takes 5 to 50. (Steps at 99 %: 418 µs with 60 µs of patience, 391 with 250, 422 with 1000;
// medians of 10.)
constexpr std::chrono::microseconds kPatience{250};

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

}  // namespace

class ThreadPool {
 public:
  explicit ThreadPool(const Session::State& session) : session_(session) {
    const int threads = session.threads;
    workers_.reserve(threads - 1);
    open_.reserve(16);
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      const std::size_t started = workers_.size() + 1;
      stop();
      fail_for("threads", "only {} of {} threads can be started ({}): use fewer", started, threads,
               error.what());
    } catch (...) {
      stop();
      throw;
    }
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() { stop(); }

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
    current = &session_;
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

  const Session::State& session_;
  std::mutex mutex_;
  std::condition_variable work_, finished_;
  std::vector<Loop*> open_;
  std::atomic<unsigned> opened_{0};  // counts loops, so that a worker can see a new one without the lock
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

// All sessions, so that a forked child, which has the caller's thread alone, can forget the parent's threads.
// Never destroyed: threads of the user's may still run loops while the process ends.
struct Sessions {
  std::mutex mutex;  // guards the list, and every session's pool
  std::set<const Session::State*> all;

  static Sessions& instance() {
    static Sessions* sessions = [] {
      auto* made = new Sessions;
      pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                     [] {
                       for (const Session::State* state : instance().all)
                         new (&state->pool_) std::shared_ptr<ThreadPool>();
                       instance().mutex.unlock();
                     });
      return made;
    }();
    return *sessions;
  }

  std::shared_ptr<ThreadPool> pool_of(const Session::State& state) {
    const std::lock_guard lock(mutex);
    if (state.pool_ == nullptr) state.pool_ = std::make_shared<ThreadPool>(state);
    return state.pool_;
  }
};

namespace {

constexpr int kMostThreads = 4096;

// Those that the process may use, which are fewer than the machine has in many a container.
int all_cores() {
  cpu_set_t allowed;
  const int cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0
                        ? CPU_COUNT(&allowed)
                        : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores, 1, kMostThreads);
}

int checked(int threads) {
  if (threads > kMostThreads)
    throw std::invalid_argument(fmt::format("{} threads; at most {} are possible", threads, kMostThreads));
  return threads > 0 ? threads : all_cores();
}

const std::shared_ptr<const Session::State>& usual_session() {
  static const auto* usual = new std::shared_ptr<const Session::State>(new Session::State(0));
  return *usual;
}

}  // namespace

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

Session::State::State(int count) : threads(checked(count)) {
  Sessions& sessions = Sessions::instance();
  const std::lock_guard lock(sessions.mutex);
  sessions.all.insert(this);
}

Session::State::~State() {
  Sessions& sessions = Sessions::instance();
  const std::lock_guard lock(sessions.mutex);
  sessions.all.erase(this);
}

std::shared_ptr<ThreadPool> Session::State::pool() const {
  return Sessions::instance().pool_of(*this);
}

}  // namespace filigree

namespace filigree::internal {

const Session::State& current_session() {
  return current != nullptr ? *current : *usual_session();
}

}  // namespace filigree::internal

namespace filigree {

Session::Session() : state_(usual_session()) {}

int Session::threads() const {
  return state_->threads;
}
std::string Session::remark() const {
  return state_->remark;
}

Session Session::current() {
  return Session(current_session().shared_from_this());
}

Session::Use::Use(const Session& session)
    : session_(session.state().shared_from_this()),
      before_(std::exchange(filigree::current, &session.state())) {}

Session::Use::~Use() {
  filigree::current = static_cast<const State*>(before_);
}

}  // namespace filigree

namespace filigree::internal {

int threads() {
  return current_session().threads;
}

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  grain = std::max<std::size_t>(1, grain);
  if (count <= grain || threads() == 1) return body(0, count);
  Loop loop(count, grain, body);
  current_session().pool()->run(loop);
}

void parallel_workers(const std::function<void(int)>& body) {
  parallel_workers(threads(), body);
}

void parallel_workers(std::size_t most, const std::function<void(int)>& body) {
  const std::size_t workers = std::min(most, static_cast<std::size_t>(threads()));
  if (workers <= 1) return body(0);
  parallel_for(workers, 1, [&](std::size_t first, std::size_t last) {
    for (; first < last; ++first) body(static_cast<int>(first));
  });
}

}  // namespace filigree::internal
