// SPDX-License-Identifier: Apache-2.0
// Letters beyond ASCII, hidden while TOML is parsed: toml++ 3.3 runs into undefined behaviour where they
// stand outside of strings, or after the backslash that joins two lines of one.
#pragma once

#include <string>
#include <string_view>

namespace filigree::internal {

// Every byte beyond ASCII, and %, as %xx. The escapes of % itself (\u0025) must not be in the text.
std::string hide_letters(std::string_view text);
bool escapes_percent(std::string_view text);

// The other way, for the strings that came out.
std::string show_letters(std::string_view text);

}  // namespace filigree::internal
