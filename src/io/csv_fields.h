// SPDX-License-Identifier: Apache-2.0
// The grammar of tables in text: where a row ends, its fields, and what kind of thing a field is.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace filigree::internal {

// The fields of a row, without spaces around them and without the quotes of quoted ones. They borrow the row,
// or, where quotes stood within quotes, what is kept here.
class Fields {
 public:
  std::size_t size() const { return views_.size(); }
  std::string_view operator[](std::size_t i) const { return views_[i]; }
  auto begin() const { return views_.begin(); }
  auto end() const { return views_.end(); }

 private:
  friend void split_row(std::string_view row, char separator, Fields& fields);
  std::vector<std::string_view> views_;
  std::deque<std::string> kept_;
};
void split_row(std::string_view row, char separator, Fields& fields);

// Bytes of the first row, with its newline; npos if it does not end here, because a quote is open.
std::size_t row_length(std::string_view text, char separator);

// See read_csv().
char find_separator(std::string_view lines, bool decimal_comma);
bool is_header(const Fields& fields);
bool is_missing(std::string_view field);
bool looks_like_date(std::string_view field);

}  // namespace filigree::internal
