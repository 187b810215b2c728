// SPDX-License-Identifier: Apache-2.0
// The careful parsers of features and labels, and every message about a wrong one.
#include "io/labelled_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "io/message_text.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;  // some millions of features

std::string where(const NumberPlace& place) {
  return place.unit.empty() ? "" : fmt::format(" in {} {}", place.unit, place.number);
}

// from_chars knows no plus sign.
std::string_view without_plus(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return text;
}

// Empty where the text is no number from end to end; an infinity where it is beyond double's range.
std::optional<double> parse_double(std::string_view text) {
  text = without_plus(text);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status == std::errc::invalid_argument || stop != end) return std::nullopt;
  return status == std::errc() ? value : std::numeric_limits<double>::infinity();
}

}  // namespace

std::optional<Index> whole_number_of(std::string_view text) {
  const double value = parse_double(text).value_or(0.5);
  // The negation refuses nan as well.
  if (!(std::abs(value) <= std::numeric_limits<Index>::max()) || value != std::floor(value))
    return std::nullopt;
  return static_cast<Index>(value);
}

bool is_number(std::string_view text) {
  return parse_double(text).has_value();
}

float parse_feature(std::string_view text, const NumberPlace& place) {
  if (text.empty()) fail("{}:{}: {} {} is empty", place.file, place.line, place.unit, place.number);
  const std::optional<double> wide = parse_double(text);
  if (!wide) fail("{}:{}: {}{} is not a number", place.file, place.line, in_quotes(text), where(place));
  float value = 0;
  text = without_plus(text);
  // Straight to float: by way of double some numbers would be rounded twice.
  const auto status = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  if (status == std::errc::result_out_of_range) {
    if (std::abs(*wide) > 1) {
      fail("{}:{}: {}{} does not fit a float", place.file, place.line, in_quotes(text), where(place));
    }
    return *wide;  // too small: as good as zero
  }
  if (!std::isfinite(value)) fail("{}:{}: {}{}", place.file, place.line, text, where(place));
  return value;
}

double parse_target(std::string_view text, const NumberPlace& place) {
  const std::optional<double> value = parse_double(text);
  if (!value || !std::isfinite(static_cast<float>(*value)))
    fail("{}:{}: label {}{} is not a number that a float can hold", place.file, place.line, in_quotes(text),
         where(place));
  return *value;
}

WatchedBlocks::WatchedBlocks(Source& source, const Observer& observer)
    : blocks_(source, kLongestLine),
      observer_(observer),
      stage_("reading " + source.name()),
      name_(source.name()),
      total_(static_cast<double>(source.size().value_or(0))) {}

std::string_view WatchedBlocks::next(Offset lines_before) {
  observer_.check_stop();
  const std::string_view block = blocks_.next(lines_before);
  if (block.empty() && blocks_.cut_off())
    observer_.warn(fmt::format("{}:{}: the last line does not end in a newline: was the file cut off?", name_,
                               lines_before));
  done_ += block.size();
  const double total = total_ == 0 ? done_ : total_;
  observer_.report(stage_, std::min(done_, total), total, "bytes");  // a newline may have been added
  return block;
}

}  // namespace filigree::internal
