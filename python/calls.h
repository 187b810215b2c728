// SPDX-License-Identifier: Apache-2.0
// Calls that work without the interpreter's lock: they are let in, stopped and waited for here.
#pragma once

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "filigree/reports.h"
#include "filigree/session.h"

namespace filigree::python {

namespace nb = nanobind;

// Under way in this process.
struct Calls {
  std::mutex mutex;
  std::condition_variable changed;
  int active = 0;
  bool closing = false;
  std::set<std::stop_source*> stops;
};

// Calls that work without the interpreter's lock. A thread that wants it back while the interpreter goes down
// is ended in mid-call, which C++ does not survive: so at exit the calls are stopped and waited for, and no
// more are let in.
class Working {
 public:
  explicit Working(std::stop_source* stop = nullptr) : calls_(calls), stop_(stop) {
    const std::lock_guard lock(calls_->mutex);
    if (calls_->closing) throw Error("the interpreter is shutting down");
    ++calls_->active;
    if (stop_ != nullptr) calls_->stops.insert(stop_);
  }
  ~Working() {
    const std::lock_guard lock(calls_->mutex);
    --calls_->active;
    calls_->stops.erase(stop_);
    calls_->changed.notify_all();
  }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

  static void close() {
    const nb::gil_scoped_release release;
    std::unique_lock lock(calls->mutex);
    calls->closing = true;
    for (std::stop_source* const stop : calls->stops) stop->request_stop();
    calls->changed.wait(lock, [] { return calls->active == 0; });
  }
  // A forked child has none of the threads whose calls were under way.
  static void forget_in_children() {
    pthread_atfork(nullptr, nullptr, [] { calls = new Calls; });
  }

 private:
  static inline Calls* calls = new Calls;
  Calls* calls_;
  std::stop_source* stop_;
};

// Work of a moment.
class Unlocked {
  Working working_;
  nb::gil_scoped_release release_;
};

// What the library warns of while a call works, handed to Python's warnings after it.
class Warnings {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(text);
  }
  void say() const {
    for (const std::string& text : texts_)
      if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 2) < 0) throw nb::python_error();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

inline TrainObserver for_training(const Observer& observer) {
  TrainObserver result;
  result.stop = observer.stop;
  result.warning = observer.warning;
  return result;
}

// Runs `work` in a thread of its own, in the caller's session, while the calling thread looks for signals
// fifty times a second: Ctrl-C asks the work to stop, and is raised once it has.
template <typename Work>
auto interruptible(const Work& work) {
  using Result = decltype(work(Observer()));
  std::stop_source stop;
  Warnings warnings;
  Observer observer;
  observer.stop = stop.get_token();
  observer.warning = [&](const std::string& text) { warnings.add(text); };
  const Working working(&stop);
  std::exception_ptr failure;
  std::optional<Result> result;
  bool interrupted = false;
  const Session session = Session::current();
  {
    const nb::gil_scoped_release release;
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    std::thread worker([&] {
      const Session::Use use(session);
      try {
        result.emplace(work(observer));
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      done = true;
      changed.notify_one();
    });
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(20), [&] { return done; })) {
      if (interrupted) continue;
      lock.unlock();
      {
        const nb::gil_scoped_acquire acquire;
        interrupted = PyErr_CheckSignals() != 0;  // only the main thread has any
      }
      if (interrupted) stop.request_stop();
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  if (interrupted) throw nb::python_error();
  if (failure) std::rethrow_exception(failure);
  warnings.say();
  return std::move(*result);
}

}  // namespace filigree::python
