// For tests: the message of the Error, or the complaint about an argument, that a call throws.
#pragma once

#include <string>

#include "filigree/vocabulary.h"

namespace filigree {

// "" when the call throws neither.
template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace filigree
