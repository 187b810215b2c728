// SPDX-License-Identifier: Apache-2.0
// Reads tables: the usual row of numbers in one pass, every other one field by field.
#include "io/csv.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "io/csv_fields.h"
#include "io/message_text.h"
#include "io/number_scan.h"
#include "io/row_store.h"

namespace filigree::internal {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kLongestRow = std::size_t{1} << 24;  // that quotes stretch over several lines
constexpr std::size_t kMostWords = std::numeric_limits<std::int32_t>::max();
constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// A column while nobody knows yet whether it is numbers or text.
struct Evidence {
  std::int64_t numbers = 0, words = 0, dates = 0;
  std::string first_word;
  Offset line = 0;  // where that stands
};

class Reader {
 public:
  Reader(const CsvRules& rules, const ChooseColumns& choose)
      : options_(rules.options), names_(rules.names), memory_limit_(rules.memory_limit), choose_(choose) {}

  CsvTable read(const std::function<Source()>& open, const Observer& observer) {
    pass(open(), observer);
    while (doubts_) {  // each time some columns more are text
      settle();
      pass(open(), observer);
    }
    if (table_.rows() == 0) fail("{}: a header, but no rows", table_.header.file);
    table_.number = numbers_.take();
    table_.missing.resize(table_.numbers);
    for (std::size_t c = 0; c < uses_.size(); ++c)
      if (const CsvColumn& column = table_.columns[c]; column.use == ColumnUse::number)
        table_.missing[column.at] = static_cast<Offset>(table_.rows()) - evidence_[c].numbers;
    return std::move(table_);
  }

 private:
  void pass(Source source, const Observer& observer) {
    WatchedBlocks blocks(source, observer);
    const std::string& name = source.name();
    clear(name);
    line_ = 0;
    std::string open_row;  // whose quotes are not closed at the end of a block
    for (std::string_view block = blocks.next(0); !block.empty(); block = blocks.next(line_)) {
      if (line_ == 0 && block.starts_with(kByteOrderMark)) block.remove_prefix(kByteOrderMark.size());
      if (!open_row.empty()) {
        open_row.append(block);
        if (open_row.size() > kLongestRow) fail_open(name);
        const std::string joined = std::move(open_row);
        open_row = rows_of(joined, name);
      } else {
        open_row = rows_of(block, name);
      }
      if (doubts_ && beyond_doubt()) return;
      check_memory(name);
      if (numbers_.on_disk()) source.forget();
    }
    if (!open_row.empty()) fail_open(name);
    if (table_.header.columns == 0 && !comment_.empty()) first_row(comment_, name);
    if (table_.header.columns == 0) fail_empty(name);
  }

  [[noreturn]] void fail_open(const std::string& name) const {
    fail("{}:{}: a quote that is opened in this row is not closed", name, line_ + 1);
  }

  // What stays in memory of each row, wherever its numbers are.
  void check_memory(const std::string& name) const {
    std::size_t bytes = table_.line.size() * sizeof(Offset);
    for (const Words32& words : table_.text) bytes += words.bytes();
    for (const TargetCells& target : table_.target)
      bytes += target.number.size() * sizeof(float) + target.words.bytes();
    if (bytes > memory_limit_ / 2)
      fail_for("memory_limit",
               "{}:{}: {} rows take {} bytes besides their numbers, but the memory limit is {}", name, line_,
               table_.rows(), bytes, memory_limit_);
  }

  // All whole rows of a block; what is left of it.
  std::string rows_of(std::string_view block, const std::string& name) {
    if (separator_ == 0) separator_ = find_separator(block, options_.decimal_comma);
    const char* cursor = block.data();
    const char* const end = cursor + block.size();
    while (cursor != end) {
      if (plain_ && *cursor != '#' && *cursor != '\n' && *cursor != '\r') {
        if (const char* const next = scan_row(cursor, end)) {
          cursor = next;
          end_row(++line_);
          continue;
        }
      }
      const std::string_view rest(cursor, end - cursor);
      const std::size_t length = row_length(rest, separator_);
      if (length == std::string_view::npos) return std::string(rest);
      const std::string_view text = rest.substr(0, length);
      cursor += length;
      const Offset first = line_ + 1;
      line_ += std::count(text.begin(), text.end(), '\n');
      if (!is_blank(text)) take_row(text, first, name);
    }
    return {};
  }

  void take_row(std::string_view text, Offset line, const std::string& name) {
    if (const std::size_t at = text.find_first_not_of(" \t"); text[at] == '#') {
      if (table_.header.columns == 0) {
        comment_ = text.substr(at + 1);
        comment_line_ = line;
      }
      return;
    }
    if (table_.header.columns == 0) {
      split_row(text, separator_, fields_);
      if (!comment_.empty() && !is_header(fields_)) {  // as numpy.savetxt writes it
        const std::vector<std::string> first(fields_.begin(), fields_.end());
        split_row(comment_, separator_, fields_);
        if (fields_.size() == first.size() && is_header(fields_)) start(true, comment_line_, name);
        split_row(text, separator_, fields_);
      }
      if (table_.header.columns == 0 && first_row(text, name, line)) return;
    }
    split_row(text, separator_, fields_);
    careful_row(line);
  }

  // True if it was a header.
  bool first_row(std::string_view text, const std::string& name, Offset line = 1) {
    split_row(text, separator_, fields_);
    const bool names_one = std::ranges::any_of(
        names_, [&](const std::string& known) { return std::ranges::count(fields_, known) > 0; });
    const bool header = options_.header == Header::automatic ? is_header(fields_) || names_one
                                                             : options_.header == Header::yes;
    start(header, line, name);
    return header;
  }

  void start(bool header, Offset line, const std::string& name) {
    table_.header = {name, line, fields_.size(), {}};
    table_.separator = separator_;
    if (header) table_.header.names.assign(fields_.begin(), fields_.end());
    const std::vector<ColumnUse> uses = choose_(table_.header);
    if (uses_.empty()) uses_ = uses;
    evidence_.assign(uses_.size(), {});
    table_.columns.clear();
    plain_ = !doubts_ && !options_.decimal_comma;
    for (std::size_t c = 0; c < uses_.size(); ++c) {
      switch (uses_[c]) {
        case ColumnUse::skip:
          table_.columns.push_back({ColumnUse::skip, 0});
          break;
        case ColumnUse::feature:  // until the contrary is proved
        case ColumnUse::number:
          table_.columns.push_back({ColumnUse::number, table_.numbers++});
          break;
        case ColumnUse::text:
          table_.columns.push_back({ColumnUse::text, table_.text.size()});
          table_.text.emplace_back();
          break;
        case ColumnUse::target:
          table_.columns.push_back({ColumnUse::target, table_.target.size()});
          table_.target.emplace_back();
          break;
      }
    }
    row_.assign(table_.numbers, 0.0f);
    target_.assign(table_.target.size(), 0.0);
    word_.assign(table_.text.size(), 0);
  }

  void clear(const std::string& name) {
    table_ = {};
    numbers_ = RowStore<float>(name, memory_limit_ / 4);
    comment_.clear();
    plain_ = false;
    doubts_ = false;
  }

  // Reads one plain row: finite numbers, gaps, and words that nothing stands around. The end of the line, or
  // nullptr for the careful parser.
  const char* scan_row(const char* cursor, const char* end) {
    const std::size_t count = table_.columns.size();
    for (std::size_t c = 0; c < count; ++c) {
      cursor = scan_cell(table_.columns[c], cursor, end);
      if (cursor == nullptr) return nullptr;
      const bool last = c + 1 == count;
      if (last && *cursor == '\r') ++cursor;
      if (*cursor++ != (last ? '\n' : separator_)) return nullptr;
    }
    for (std::size_t c = 0; c < count; ++c)
      if (table_.columns[c].use == ColumnUse::number) {
        const float value = row_[table_.columns[c].at];
        evidence_[c].numbers += value == value ? 1 : 0;
      }
    numbers_.append(row_);
    for (std::size_t t = 0; t < target_.size(); ++t) table_.target[t].add_number(target_[t]);
    for (std::size_t t = 0; t < word_.size(); ++t) table_.text[t].code.push_back(word_[t]);
    return cursor;
  }

  // The block's last byte is a newline, so that there is always a byte behind a number.
  const char* scan_cell(const CsvColumn& column, const char* cursor, const char* end) {
    switch (column.use) {
      case ColumnUse::target: {
        double& value = target_[column.at];
        const char* stop = scan_double(cursor, end, value);
        if (stop == nullptr) {
          const auto [at, status] = std::from_chars(cursor, end, value);
          stop = status == std::errc() ? at : nullptr;
        }
        return std::isfinite(static_cast<float>(value)) ? stop : nullptr;
      }
      case ColumnUse::feature:
      case ColumnUse::number: {
        float& value = row_[column.at];
        if (const char* const stop = scan_float(cursor, end, value)) return stop;
        if (*cursor == separator_ || *cursor == '\n' || *cursor == '\r') {
          value = kMissing;
          return cursor;
        }
        const auto [at, status] = std::from_chars(cursor, end, value);
        return status == std::errc() && std::isfinite(value) ? at : nullptr;
      }
      case ColumnUse::text: {
        const char* const stop = word_end(cursor);
        if (stop != nullptr)
          word_[column.at] = table_.text[column.at].find_or_add(
              {cursor, static_cast<std::size_t>(stop - cursor)}, kMostWords);
        return stop;
      }
      case ColumnUse::skip:
        return word_end(cursor);
    }
    return nullptr;
  }

  // The end of a word without quotes, and without spaces before or after it.
  const char* word_end(const char* cursor) const {
    const char* const begin = cursor;
    while (*cursor != separator_ && *cursor != '\n' && *cursor != '\r' && *cursor != '"') ++cursor;
    const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
    if (*cursor == '"' || (cursor != begin && (is_space(*begin) || is_space(cursor[-1])))) return nullptr;
    return cursor;
  }

  void careful_row(Offset line) {
    const CsvHeader& header = table_.header;
    if (fields_.size() != header.columns)
      fail("{}:{}: {} column{}, but line {} has {}", header.file, line, fields_.size(),
           fields_.size() == 1 ? "" : "s", header.line, header.columns);
    for (std::size_t c = 0; c < fields_.size(); ++c) {
      const CsvColumn& column = table_.columns[c];
      switch (column.use) {
        case ColumnUse::skip:
        case ColumnUse::feature:
          break;
        case ColumnUse::number:
          row_[column.at] = number_cell(c, line);
          break;
        case ColumnUse::text:
          if (Words32& words = table_.text[column.at]; !doubts_)
            words.code.push_back(words.find_or_add(fields_[c], kMostWords));
          break;
        case ColumnUse::target:
          target_cell(table_.target[column.at], c, line);
          break;
      }
    }
    if (doubts_) return;
    numbers_.append(row_);
    end_row(line);
  }

  void end_row(Offset line) {
    if (table_.line.size() == std::numeric_limits<Index>::max())
      fail("{}:{}: more than {} rows", table_.header.file, line, table_.line.size());
    table_.line.push_back(line);
  }

  float number_cell(std::size_t c, Offset line) {
    const std::string_view text = fields_[c];
    if (is_missing(text)) return kMissing;
    const std::string_view plain = with_point(text);
    const bool open = uses_[c] == ColumnUse::feature;
    Evidence& seen = evidence_[c];
    if (open && !is_number(plain)) {
      if (seen.words++ == 0) seen.first_word = text, seen.line = line;
      if (looks_like_date(text)) ++seen.dates;
      doubts_ = true;
      plain_ = false;
      return kMissing;
    }
    ++seen.numbers;
    if (doubts_) return kMissing;
    const CsvHeader& header = table_.header;
    if (!open && !is_number(plain))
      fail("{}:{}: {} in {} is not a number", header.file, line, in_quotes(text), header.column(c));
    return parse_feature(plain, {header.file, line, "column", static_cast<Offset>(c) + 1});
  }

  std::string_view with_point(std::string_view text) {
    if (!options_.decimal_comma || text.find(',') == std::string_view::npos) return text;
    pointed_ = text;
    std::ranges::replace(pointed_, ',', '.');
    return pointed_;
  }

  void target_cell(TargetCells& target, std::size_t c, Offset line) {
    if (doubts_) return;
    const std::string_view text = fields_[c];
    if (is_missing(text)) {
      target.add_missing(line);
      return;
    }
    const std::string_view plain = with_point(text);
    if (is_number(plain)) {
      double value = 0;
      const std::string_view bare = plain.starts_with('+') ? plain.substr(1) : plain;
      std::from_chars(bare.data(), bare.data() + bare.size(), value);
      if (!std::isfinite(static_cast<float>(value)))
        fail("{}:{}: {} in {} does not fit a float", table_.header.file, line, in_quotes(text),
             table_.header.column(c));
      target.add_number(value);
      return;
    }
    target.add_text(text, line);
  }

  // The rows so far say enough to begin again.
  bool beyond_doubt() const {
    return std::ranges::all_of(evidence_, [](const Evidence& seen) {
      return seen.words == 0 || (seen.words > seen.numbers && seen.dates == 0);
    });
  }

  // Which columns are text.
  void settle() {
    const CsvHeader& header = table_.header;
    for (std::size_t c = 0; c < uses_.size(); ++c) {
      const Evidence& seen = evidence_[c];
      if (uses_[c] != ColumnUse::feature || seen.words == 0) continue;
      uses_[c] = ColumnUse::text;
      if (2 * seen.dates > seen.words && seen.words > seen.numbers)
        fail_for(
            "text_columns",
            "{}:{}: {} holds dates, such as {}: give numbers, for example the days since some day, or year "
            "and month as columns of their own; or leave the column out, or take each date as a word",
            header.file, seen.line, header.column(c), in_quotes(seen.first_word));
      if (seen.numbers >= seen.words)
        fail_for(
            "text_columns",
            "{}:{}: {} in {} is not a number, as {} others of this column are; the column can be read as "
            "text",
            header.file, seen.line, in_quotes(seen.first_word), header.column(c), seen.numbers);
    }
  }

  const TableOptions& options_;
  const std::vector<std::string>& names_;
  const std::uint64_t memory_limit_;
  const ChooseColumns& choose_;
  CsvTable table_;
  RowStore<float> numbers_{"", 0};
  std::vector<ColumnUse> uses_;
  std::vector<Evidence> evidence_;
  bool plain_ = false;   // rows of numbers alone may be scanned
  bool doubts_ = false;  // a feature is text: nothing is kept any more, rows are only looked at
  char separator_ = options_.separator;
  Offset line_ = 0;
  std::string comment_, pointed_;
  Offset comment_line_ = 0;
  Fields fields_;
  std::vector<float> row_;
  std::vector<double> target_;
  std::vector<std::int32_t> word_;
};

}  // namespace

std::string CsvHeader::column(std::size_t c) const {
  return names.empty() ? fmt::format("column {}", c + 1)
                       : fmt::format("column {} ({})", c + 1, in_quotes(names[c]));
}

void TargetCells::add_number(double value) {
  value += 0.0;  // -0 is 0
  number.push_back(static_cast<float>(value));
  whole = whole && value == std::floor(value);
  if (many) return;
  if (const auto found = spelled_.find(value); found != spelled_.end()) {
    words.code.push_back(found->second);
    return;
  }
  std::array<char, 32> spelled = {};
  char* const last = spelled.data() + spelled.size();
  const bool short_whole = value == std::floor(value) && std::abs(value) < 0x1p53;  // 1000000, not 1e+06
  const char* const end = short_whole
                              ? std::to_chars(spelled.data(), last, static_cast<std::int64_t>(value)).ptr
                              : std::to_chars(spelled.data(), last, value).ptr;
  add_word({spelled.data(), static_cast<std::size_t>(end - spelled.data())});
  if (!many) spelled_.emplace(value, words.code.back());
}

void TargetCells::add_text(std::string_view text, Offset line) {
  if (texts++ == 0) first_text = text, first_line = line;
  numbers = whole = false;
  number.push_back(kMissing);
  add_word(text);
}

void TargetCells::add_missing(Offset line) {
  missing.push_back(line);
  number.push_back(kMissing);
  if (!many) words.code.push_back(-1);
}

void TargetCells::add_word(std::string_view text) {
  if (many) return;
  const std::int32_t code = words.find_or_add(text, kMostWords);
  many = code < 0;
  if (many)
    words = {}, spelled_ = {};
  else
    words.code.push_back(code);
}

std::int32_t Words32::find_or_add(std::string_view text, std::size_t most) {
  if (const auto found = known_.find(text); found != known_.end()) return found->second;
  if (word.size() == most) return -1;
  const auto code_of_it = static_cast<std::int32_t>(word.size());
  word.emplace_back(text);
  known_.emplace(word.back(), code_of_it);
  constexpr std::size_t kOfAWord = 128;  // two strings, a node and a bucket
  word_bytes_ += 2 * text.size() + kOfAWord;
  return code_of_it;
}

CsvTable read_csv(const std::function<Source()>& open, const CsvRules& rules, const ChooseColumns& choose,
                  const Observer& observer) {
  return Reader(rules, choose).read(open, observer);
}

}  // namespace filigree::internal
