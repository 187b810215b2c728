// SPDX-License-Identifier: Apache-2.0
// Foreign text made fit for a message.
#include "io/message_text.h"

#include <fmt/format.h>

namespace filigree::internal {

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text.substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + (text.size() > kShownBytes ? "…\"" : "\"");
}

}  // namespace filigree::internal
