// SPDX-License-Identifier: Apache-2.0
// Finding the few large values of many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace filigree::internal {

inline constexpr std::size_t kFindPadding = 16;

// Writes the indices of the values v with |v| ≥ bound to `index`, ascending, and returns how many there are;
// index has room for values.size() + kFindPadding. A NaN is never large.
std::size_t find_large(std::span<const float> values, float bound, std::uint32_t* index);
std::size_t find_large_reference(std::span<const float> values, float bound, std::uint32_t* index);

}  // namespace filigree::internal
