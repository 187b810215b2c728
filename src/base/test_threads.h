// SPDX-License-Identifier: Apache-2.0
// How many threads a test uses.
#pragma once

#include <memory>

#include "filigree/session.h"

namespace filigree::internal {

// What the calling thread begins from here on uses so many threads; 0: as many as ever.
inline void set_threads(int threads) {
  struct Here {
    explicit Here(int count) : session({.threads = count}), use(session) {}
    Session session;
    Session::Use use;
  };
  thread_local std::unique_ptr<Here> here;
  here.reset();
  if (threads != 0) here = std::make_unique<Here>(threads);
}

}  // namespace filigree::internal
