// SPDX-License-Identifier: Apache-2.0
// What a session is: its threads, and the numbers of its devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "filigree/session.h"
namespace filigree::internal {

class ThreadPool;
struct Sessions;

}  // namespace filigree::internal

namespace filigree {

struct Session::State : std::enable_shared_from_this<Session::State> {
  explicit State(int threads);  // 0: every core the process may use
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Started when first asked for. Throws Error if that cannot be.
  std::shared_ptr<internal::ThreadPool> pool() const;

  const int threads;
  std::vector<int> devices = {};  // CUDA devices; empty: the CPU
  std::string remark = {};

 private:
  friend struct internal::Sessions;
  mutable std::shared_ptr<internal::ThreadPool> pool_;
};

}  // namespace filigree

namespace filigree::internal {

// Of the calling thread.
const Session::State& current_session();

}  // namespace filigree::internal
