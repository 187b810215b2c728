// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <system_error>

namespace filigree::internal {

std::string system_message(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace filigree::internal
