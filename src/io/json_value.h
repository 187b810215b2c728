// SPDX-License-Identifier: Apache-2.0
// JSON as it stands in files: parsed with bounds, and let go of without a single allocation, so that memory
// that ran out stays an exception (nlohmann's own values need some to be destroyed).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace filigree::internal {

struct JsonValue {
  enum class Kind { null, boolean, whole, number, text, array, object };
  Kind kind = Kind::null;
  std::uint64_t whole = 0;  // of numbers without sign, point and exponent
  double number = 0;        // of every number
  bool boolean = false;
  std::string text;
  std::vector<JsonValue> items;
  std::map<std::string, JsonValue> members;

  bool is(Kind k) const { return kind == k; }
  bool is_number() const { return kind == Kind::whole || kind == Kind::number; }
  const JsonValue* find(const std::string& member) const;  // null if there is none
};

// Throws Error that begins with `place`: JSON that is not valid, nested deeper than `deepest`, of more than a
// million values, with a name twice, or with a number that no double can hold. "file: the header is not valid
// JSON at its byte 7" for place "file: the header".
JsonValue parse_json(std::string_view text, const std::string& place, int deepest);

// As they stand in JSON. A text that is not UTF-8 is std::invalid_argument, or mended if `mend`.
std::string json_text(std::string_view text, bool mend = false);  // "\"a\\nb\""
std::string json_number(double number);                           // "null" for NaN and infinities

}  // namespace filigree::internal
