// SPDX-License-Identifier: Apache-2.0
#include "train/toml_letters.h"

#include <fmt/format.h>

#include <charconv>

namespace filigree::internal {

std::string hide_letters(std::string_view text) {
  std::string hidden;
  hidden.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || c == '%') {
      hidden += fmt::format("%{:02x}", byte);
    } else {
      hidden += c;
    }
  }
  return hidden;
}

bool escapes_percent(std::string_view text) {
  return text.find("\\u0025") != text.npos || text.find("\\U00000025") != text.npos;
}

std::string show_letters(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = static_cast<unsigned char>(text[i]);
    if (text[i] == '%' && i + 2 < text.size()) {
      std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
      i += 2;
    }
    shown += static_cast<char>(byte);
  }
  return shown;
}

}  // namespace filigree::internal
