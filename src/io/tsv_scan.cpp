// SPDX-License-Identifier: Apache-2.0
// The careful half of the line scanner: blocks, fields, and every message about a wrong line.
#include "io/tsv_scan.h"

#include <algorithm>

#include "base/error.h"
#include "io/message_text.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{256} << 10;  // stays in L2 between reading and scanning

constexpr bool is_separator(char c) {
  return c == ' ' || c == '\t';
}

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

float parse_value(std::string_view text, std::string_view what, const std::string& name, Offset line) {
  float value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status == std::errc::invalid_argument || stop != end) {
    fail("{}:{}: {} {} is not a number", name, line, what, in_quotes(text));
  }
  if (status == std::errc::result_out_of_range) {
    double wide = 0;  // tells a value too small, which is as good as zero, from one too large
    if (std::from_chars(text.data(), end, wide).ec != std::errc() || std::abs(wide) > 1) {
      fail("{}:{}: {} {} does not fit a float", name, line, what, in_quotes(text));
    }
    value = wide;
  }
  if (!std::isfinite(value)) fail("{}:{}: {} {} is not finite", name, line, what, in_quotes(text));
  return value;
}

}  // namespace

LineBlocks::LineBlocks(Source& source, std::size_t longest_line)
    : source_(source),
      longest_line_(std::max(longest_line, kBlockBytes)),
      // A byte more than a small file has, so that its end is seen.
      buffer_(std::min<std::uint64_t>(kBlockBytes, source.size().value_or(kBlockBytes) + 1) + 1 + kSlack) {}

std::string_view LineBlocks::next(Offset lines_before) {
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  for (;;) {
    const std::size_t size = buffer_.size() - 1 - kSlack;
    if (!at_end_) {
      const auto room = std::as_writable_bytes(std::span(buffer_)).subspan(end_, size - end_);
      const std::size_t got = source_.read(room);
      at_end_ = got < room.size();
      end_ += got;
    }
    if (end_ == 0) return {};
    if (at_end_ && buffer_[end_ - 1] != '\n') {
      buffer_[end_++] = '\n';
      cut_off_ = true;
    }
    const std::size_t newline = std::string_view(buffer_.data(), end_).rfind('\n');
    if (newline != std::string_view::npos) {
      begin_ = newline + 1;
      return {buffer_.data(), begin_};
    }
    if (size >= longest_line_)
      fail("{}:{}: a line of more than {} bytes: this is no text file of numbers", source_.name(),
           lines_before + 1, longest_line_);
    buffer_.resize(std::min(2 * size, longest_line_) + 1 + kSlack);
  }
}

void fail_cut_off(const std::string& name, Offset line) {
  fail("{}:{}: the file ends in the middle of this line, without a newline: it was cut off", name, line);
}

std::string_view first_line(std::string_view lines) {
  return lines.substr(0, lines.find('\n') + 1);
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::vector<std::string_view> split_fields(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const auto* const begin = std::find_if_not(line.begin(), line.end(), is_separator);
    const auto* const end = std::find_if(begin, line.end(), is_separator);
    if (begin != end) fields.emplace_back(begin, static_cast<std::size_t>(end - begin));
    line.remove_prefix(end - line.begin());
  }
  return fields;
}

Index parse_number(std::string_view text, const NumberField& field, const std::string& name, Offset line) {
  const bool negative = text.size() > 1 && text.front() == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (!std::all_of(digits.begin(), digits.end(), is_digit)) {
    fail("{}:{}: {} {} is not a whole number", name, line, field.name, in_quotes(text));
  }
  const std::string_view shown = text.substr(0, kShownBytes);
  std::int64_t number = 0;
  const auto status = std::from_chars(digits.data(), digits.data() + digits.size(), number).ec;
  if (negative || (status == std::errc() && number == 0)) {
    fail("{}:{}: {} {}, but numbers start at 1", name, line, field.name, shown);
  }
  if (status != std::errc() || number > field.max) {
    fail("{}:{}: {} {}, but {}", name, line, field.name, shown, field.limit);
  }
  return number;
}

Entry parse_entry(std::string_view text, const EntryFormat& format, const std::string& name, Offset line) {
  const auto fields = split_fields(text);
  if (fields.size() != 3) {
    fail("{}:{}: {} field{} where a line has three: {}, {}, {}", name, line, fields.size(),
         fields.size() == 1 ? "" : "s", format.first.name, format.second.name, format.value);
  }
  Entry entry;
  entry.first = parse_number(fields[0], format.first, name, line);
  entry.second = parse_number(fields[1], format.second, name, line);
  entry.value = parse_value(fields[2], format.value, name, line);
  entry.tail = text.substr(fields[0].data() + fields[0].size() - text.data());
  return entry;
}

void expect_blank_rest(LineBlocks& blocks, std::string_view rest, const std::string& name,
                       Offset blank_line) {
  do {
    if (!is_blank(rest)) fail("{}:{}: a blank line, but more entries follow", name, blank_line);
    rest = blocks.next(blank_line);
  } while (!rest.empty());
}

void fail_empty(const std::string& name) {
  fail("{}: the file is empty", name);
}

}  // namespace filigree::internal
