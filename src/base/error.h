// SPDX-License-Identifier: Apache-2.0
// Throwing filigree::Error with a formatted message.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "filigree/vocabulary.h"

namespace filigree::internal {

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

// The same, where a setting of the caller's would help; see Error::setting().
template <typename... Args>
[[noreturn]] void fail_for(const char* setting, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...), setting);
}

// The text of a system error such as ENOSPC.
std::string system_message(int error_number);

}  // namespace filigree::internal
