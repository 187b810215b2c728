// SPDX-License-Identifier: Apache-2.0
// For tests on the emulated device: what machine it is, and how much to test.
#pragma once

#include <cstdlib>

namespace filigree::internal {

// FILIGREE_EMULATED (see test_cuda.h) for as long as this lives.
class EmulatedMachine {
 public:
  explicit EmulatedMachine(const char* what) { setenv("FILIGREE_EMULATED", what, 1); }
  EmulatedMachine(const EmulatedMachine&) = delete;
  EmulatedMachine& operator=(const EmulatedMachine&) = delete;
  ~EmulatedMachine() { unsetenv("FILIGREE_EMULATED"); }
};

// Sanitizers run a part of the longest tests (threads are slow there), or all with FILIGREE_FULL=1.
inline bool full_tests() {
#ifdef FILIGREE_FAST_TESTS
  return std::getenv("FILIGREE_FULL") != nullptr;
#else
  return true;
#endif
}

}  // namespace filigree::internal
