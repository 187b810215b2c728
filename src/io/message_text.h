// SPDX-License-Identifier: Apache-2.0
// Foreign text and lists of numbers, made fit for an error message.
#pragma once

#include <string>
#include <string_view>

namespace filigree::internal {

inline constexpr std::size_t kShownBytes = 40;  // of foreign text

// Quoted, short, without control characters.
std::string in_quotes(std::string_view text);

// "60000x28x28"
template <typename Numbers>
std::string joined(const Numbers& numbers, std::string_view separator) {
  std::string text;
  for (const auto number : numbers) {
    if (!text.empty()) text += separator;
    text += std::to_string(number);
  }
  return text;
}

}  // namespace filigree::internal
