// SPDX-License-Identifier: Apache-2.0
// For tests: the message of the Error that a call throws.
#pragma once

#include <string>

#include "filigree/vocabulary.h"

namespace filigree::internal {

// "" when the call throws no Error.
template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The message of the complaint about an argument that it throws; "" when there is none.
template <typename Call>
std::string complaint_of(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace filigree::internal
