// SPDX-License-Identifier: Apache-2.0
#include "io/csv_fields.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "io/labelled_rows.h"
#include "io/tsv_scan.h"

namespace filigree::internal {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Tabs separate, or stand around a field like spaces.
std::string_view trimmed(std::string_view text, char separator) {
  const std::string_view space = separator == '\t' ? " \r\n" : " \t\r\n";
  const std::size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

// Where the field that begins at `begin` ends: at its separator, or at the end of the row. A quote counts
// where a field begins; npos: it is not closed.
std::size_t field_end(std::string_view text, std::size_t begin, char separator) {
  std::size_t at = begin;
  while (at < text.size() && text[at] == ' ') ++at;
  if (at < text.size() && text[at] == '"') {
    for (++at;; ++at) {
      at = text.find('"', at);
      if (at == std::string_view::npos) return at;
      if (at + 1 < text.size() && text[at + 1] == '"')
        ++at;
      else
        break;
    }
  }
  while (at < text.size() && text[at] != separator && text[at] != '\n') ++at;
  return at;
}

std::string unescaped(std::string_view inside) {
  std::string text;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    text += inside[i];
    if (inside[i] == '"' && i + 1 < inside.size() && inside[i + 1] == '"') ++i;
  }
  return text;
}

// A number as people and programs spell it, though not as we read it: 0x10, 1_000, 1'000, 2.5f, 5%, 1d3.
bool spells_number(std::string_view field) {
  if (field.starts_with('+') || field.starts_with('-')) field.remove_prefix(1);
  if (field.empty()) return false;
  if (field.size() > 2 && field[0] == '0' &&
      std::string_view("xXbBoO").find(field[1]) != std::string_view::npos)
    return std::ranges::all_of(field.substr(2), [&](char c) {
      return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    });
  if (!is_digit(field[0]) && field[0] != '.') return false;
  field.remove_prefix(std::min(field.size(), field.find_first_not_of("0123456789._', ")));
  if (field.size() > 1 && std::string_view("eEdD").find(field[0]) != std::string_view::npos) {
    field.remove_prefix(1);
    if (field[0] == '+' || field[0] == '-') field.remove_prefix(1);
    field.remove_prefix(std::min(field.size(), field.find_first_not_of("0123456789")));
  }
  return field.size() <= 1;  // perhaps a suffix
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

bool can_be_name(std::string_view field) {
  if (field.empty() || is_number(field) || spells_number(field) || is_missing(field)) return false;
  if (std::ranges::any_of(field, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return false;
  const std::string lower = lower_case(field);
  return lower != "true" && lower != "false";
}

}  // namespace

void split_row(std::string_view row, char separator, Fields& fields) {
  fields.views_.clear();
  fields.kept_.clear();
  while (!row.empty() && (row.back() == '\n' || row.back() == '\r')) row.remove_suffix(1);
  for (std::size_t begin = 0; begin <= row.size();) {
    const std::size_t end = std::min(field_end(row, begin, separator), row.size());
    std::string_view field = trimmed(row.substr(begin, end - begin), separator);
    if (field.size() >= 2 && field.starts_with('"') && field.ends_with('"')) {
      field = field.substr(1, field.size() - 2);
      if (field.find('"') != std::string_view::npos) field = fields.kept_.emplace_back(unescaped(field));
      field = trimmed(field, ',');
    }
    fields.views_.push_back(field);
    begin = end + 1;
  }
}

std::size_t row_length(std::string_view text, char separator) {
  const std::size_t newline = text.find('\n');
  if (text.substr(0, newline).find('"') == std::string_view::npos) return newline + 1;
  for (std::size_t at = 0;;) {
    at = field_end(text, at, separator);
    if (at == std::string_view::npos || at == text.size()) return std::string_view::npos;
    ++at;
    if (text[at - 1] == '\n') return at;
  }
}

char find_separator(std::string_view lines, bool decimal_comma) {
  constexpr std::size_t kLooked = 20;
  std::vector<std::string_view> rows;
  while (!lines.empty() && rows.size() < kLooked) {
    const std::size_t length = std::min(lines.find('\n') + 1, lines.size());
    const std::string_view row = lines.substr(0, length == 0 ? lines.size() : length);
    lines.remove_prefix(row.size());
    if (!is_blank(row) && !row.starts_with('#')) rows.push_back(row);
  }
  // "1 ,<tab>2": the comma separates, and the tab stands around it.
  const auto at_comma = [](std::string_view field) { return field.starts_with(',') || field.ends_with(','); };
  Fields fields;
  for (const char candidate : {'\t', ';', '|'}) {
    std::size_t count = 0;
    const bool divides = std::ranges::all_of(rows, [&](std::string_view row) {
      split_row(row, candidate, fields);
      if (count == 0) count = fields.size();
      return fields.size() == count && count > 1 && std::ranges::none_of(fields, at_comma);
    });
    if (divides && !rows.empty()) return candidate;
  }
  return decimal_comma ? ';' : ',';
}

bool is_header(const Fields& fields) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (std::ranges::all_of(fields, can_be_name)) return true;
  bool name = false;
  std::size_t numbers = 0;
  std::optional<double> last;  // of the numbers, which are names if they count up
  for (const std::string_view field : fields) {
    if (can_be_name(field)) {
      if (!letter(field.front())) return false;  // $5, 1/2, 12:30: rather a cell that is no number
      name = true;
      continue;
    }
    ++numbers;
    double number = 0;
    const auto [end, status] = std::from_chars(field.data(), field.data() + field.size(), number);
    if (status != std::errc() || end != field.data() + field.size() || number != std::floor(number) ||
        (last ? number != *last + 1 : number != 0 && number != 1))
      return false;
    last = number;
  }
  return name && numbers > 1;  // one number alone counts nothing
}

bool is_missing(std::string_view field) {
  constexpr std::array<std::string_view, 9> kMissing = {"?",    "-",    "na",  "n/a", "nan",
                                                        "null", "none", "nil", ""};
  if (field.size() > 4) return false;
  return std::ranges::count(kMissing, lower_case(field)) > 0;
}

// 2024-01-05, 5.1.2024, 1/5/24, with or without a time behind it; 12:30, 12:30:05.
bool looks_like_date(std::string_view field) {
  std::array<std::string_view, 3> part;
  std::size_t parts = 0;
  char mark = 0;
  while (parts < part.size()) {
    std::size_t digits = 0;
    while (digits < field.size() && digits < 4 && is_digit(field[digits])) ++digits;
    if (digits == 0) return false;
    part[parts++] = field.substr(0, digits);
    field.remove_prefix(digits);
    if (field.empty() || std::string_view("-/.:").find(field[0]) == std::string_view::npos) break;
    if (mark != 0 && field[0] != mark) break;
    mark = field[0];
    field.remove_prefix(1);
  }
  const std::string_view follows = mark == ':' ? " ." : " T";
  if (mark == 0 || (!field.empty() && follows.find(field[0]) == std::string_view::npos)) return false;
  return mark == ':' ? parts >= 2 : parts == 3;
}

}  // namespace filigree::internal
