// SPDX-License-Identifier: Apache-2.0
// Dropout from a counter: the same key drops the same elements, so the backward pass needs no stored mask.
#pragma once

#include <cstddef>
#include <cstdint>

namespace filigree::internal {

// Each of the `count` values of x becomes zero with probability `rate` (0 … 1, in steps of 1/65536) and is
// divided by 1 - rate otherwise. Which ones depends on key and index alone. count is a multiple of 32.
void drop_out(std::uint32_t key, double rate, float* x, std::size_t count);
void drop_out_reference(std::uint32_t key, double rate, float* x, std::size_t count);

}  // namespace filigree::internal
