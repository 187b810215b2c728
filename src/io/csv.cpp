// SPDX-License-Identifier: Apache-2.0
// Reads comma-separated numbers: the usual row in one pass, every other line field by field.
#include "io/csv.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "io/message_text.h"

namespace filigree::internal {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

constexpr std::size_t kNone = -1;

// What the first line says about all others.
struct Columns {
  std::size_t count = 0;
  std::size_t label = 0;  // counted from 0; kNone if there is none
  Offset line = 0;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Cut at the commas outside quotes, without spaces around a field and the quotes of a quoted one.
std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (line[i] != ',' || quoted)) continue;
    std::string_view field = trimmed(line.substr(begin, i - begin));
    if (field.size() >= 2 && field.starts_with('"') && field.ends_with('"')) {
      field = trimmed(field.substr(1, field.size() - 2));
    }
    fields.push_back(field);
    begin = i + 1;
  }
  return fields;
}

// A number as people and programs spell it, though not as we read it: 0x10, 1_000, 1'000, 2.5f, 5%, 1d3.
bool spells_number(std::string_view field) {
  if (field.starts_with('+') || field.starts_with('-')) field.remove_prefix(1);
  if (field.empty()) return false;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (field.size() > 2 && field[0] == '0' &&
      std::string_view("xXbBoO").find(field[1]) != std::string_view::npos)
    return std::ranges::all_of(field.substr(2), [&](char c) {
      return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    });
  if (!digit(field[0]) && field[0] != '.') return false;
  field.remove_prefix(std::min(field.size(), field.find_first_not_of("0123456789._' ")));
  if (field.size() > 1 && std::string_view("eEdD").find(field[0]) != std::string_view::npos) {
    field.remove_prefix(1);
    if (field[0] == '+' || field[0] == '-') field.remove_prefix(1);
    field.remove_prefix(std::min(field.size(), field.find_first_not_of("0123456789")));
  }
  return field.size() <= 1;  // perhaps a suffix
}

bool can_be_name(std::string_view field) {
  constexpr std::string_view kMissing[] = {"?", "-", "na", "n/a", "null", "none", "nil", "true", "false"};
  if (field.empty() || is_number(field) || spells_number(field)) return false;
  std::string lower(field);
  for (char& c : lower) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::ranges::count(kMissing, lower) == 0;
}

bool is_header(const std::vector<std::string_view>& fields) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const bool all_names = std::ranges::all_of(fields, can_be_name);
  if (all_names) return true;
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

// A line that names the label's column is a header, whatever else it holds.
bool names_label(const std::vector<std::string_view>& fields, std::string_view label_column) {
  return !label_column.empty() && !is_number(label_column) && std::ranges::count(fields, label_column) > 0;
}

std::size_t find_label(const std::vector<std::string_view>& fields, bool header, std::string_view wanted,
                       const std::string& name, Offset line) {
  std::size_t number = 0;
  const char* const end = wanted.data() + wanted.size();
  const auto [stop, status] = std::from_chars(wanted.data(), end, number);
  if (status == std::errc() && stop == end) {
    if (number == 0) fail("label column 0, but columns are counted from 1");
    if (number > fields.size()) {
      fail("{}:{}: {} columns, but the label is to be column {}", name, line, fields.size(), number);
    }
    return number - 1;
  }
  if (!header) {
    fail("{}:{}: no header, so there is no column {} to take the label from", name, line, in_quotes(wanted));
  }
  const auto found = std::ranges::find(fields, wanted);
  if (found == fields.end()) {
    fail("{}:{}: no column is called {}; the header begins {}", name, line, in_quotes(wanted),
         in_quotes(fmt::format("{}", fmt::join(fields, ","))));
  }
  if (std::ranges::count(fields, wanted) > 1) {
    fail("{}:{}: {} columns are called {}", name, line, std::ranges::count(fields, wanted),
         in_quotes(wanted));
  }
  return found - fields.begin();
}

Columns find_columns(const std::vector<std::string_view>& fields, bool header, std::string_view label_column,
                     const std::string& name, Offset line) {
  if (label_column.empty()) return {fields.size(), kNone, line};
  if (fields.size() < 2) {
    fail("{}:{}: one column, but a row has a label and at least one feature", name, line);
  }
  return {fields.size(), find_label(fields, header, label_column, name, line), line};
}

// Reads one plain row: numbers, commas, a newline. The end of the line, or nullptr for the careful parser.
const char* scan_row(const char* cursor, const char* end, const Columns& columns, std::vector<float>& row,
                     Index& label) {
  float* feature = row.data();
  for (std::size_t c = 0; c < columns.count; ++c) {
    std::from_chars_result result = {};
    if (c == columns.label) {
      double value = 0;
      result = std::from_chars(cursor, end, value);
      const auto whole = whole_number(value);
      if (result.ec != std::errc() || !whole) return nullptr;
      label = *whole;
    } else {
      result = std::from_chars(cursor, end, *feature);
      if (result.ec != std::errc() || !std::isfinite(*feature)) return nullptr;
      ++feature;
    }
    cursor = result.ptr;  // before end: the block's last byte is a newline
    const bool last = c + 1 == columns.count;
    if (last && *cursor == '\r') ++cursor;
    if (*cursor++ != (last ? '\n' : ',')) return nullptr;
  }
  return cursor;
}

void parse_row(const std::vector<std::string_view>& fields, const Columns& columns, const std::string& name,
               Offset line, std::vector<float>& row, Index& label) {
  if (fields.size() != columns.count) {
    fail("{}:{}: {} column{}, but line {} has {}", name, line, fields.size(), fields.size() == 1 ? "" : "s",
         columns.line, columns.count);
  }
  float* feature = row.data();
  for (std::size_t c = 0; c < fields.size(); ++c) {
    const NumberPlace place = {name, line, "column", static_cast<Offset>(c) + 1};
    if (c == columns.label) {
      label = parse_label(fields[c], place);
    } else {
      *feature++ = parse_feature(fields[c], place);
    }
  }
}

}  // namespace

CsvTable read_csv(Source source, std::string_view label_column, const Observer& observer) {
  WatchedBlocks blocks(source, observer);
  CsvTable table;
  Columns columns;
  std::vector<float> row;
  Index label = 0;
  Offset line = 0;
  const auto add_row = [&] {
    table.labels.add(label, line, source.name());
    table.value.insert(table.value.end(), row.begin(), row.end());
  };
  for (std::string_view block = blocks.next(0); !block.empty(); block = blocks.next(line)) {
    if (line == 0 && block.starts_with(kByteOrderMark)) block.remove_prefix(kByteOrderMark.size());
    const char* cursor = block.data();
    const char* const end = cursor + block.size();
    while (cursor != end) {
      ++line;
      if (columns.count != 0) {
        if (const char* const next = scan_row(cursor, end, columns, row, label)) {
          cursor = next;
          add_row();
          continue;
        }
      }
      const std::string_view text = first_line(std::string_view(cursor, end - cursor));
      cursor += text.size();
      if (is_blank(text)) continue;
      const auto fields = split(text);
      if (columns.count == 0) {
        const bool header = is_header(fields) || names_label(fields, label_column);
        columns = find_columns(fields, header, label_column, source.name(), line);
        row.resize(columns.label == kNone ? columns.count : columns.count - 1);
        table.features = row.size();
        if (header) {
          table.header.assign(fields.begin(), fields.end());
          for (std::size_t c = 0; c < fields.size(); ++c)
            if (c != columns.label) table.feature_names.emplace_back(fields[c]);
          continue;
        }
      }
      parse_row(fields, columns, source.name(), line, row, label);
      add_row();
    }
  }
  if (columns.count == 0) fail_empty(source.name());
  if (table.labels.value.empty()) fail("{}: a header, but no rows", source.name());
  return table;
}

}  // namespace filigree::internal
