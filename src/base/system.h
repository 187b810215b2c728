// SPDX-License-Identifier: Apache-2.0
// Facts about the machine and the process.
#pragma once

#include <cstdint>
#include <string>

#include "filigree/runtime.h"

namespace filigree::internal {

std::uint64_t peak_memory_bytes();      // largest resident size of this process so far
std::uint64_t physical_memory_bytes();  // of the machine
double seconds_now();                   // a steady clock, for differences

// A limit that was given, or if it is 0 the usual one: three quarters of the machine's memory.
std::uint64_t memory_limit_or_usual(std::uint64_t limit);

}  // namespace filigree::internal
