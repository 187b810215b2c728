// SPDX-License-Identifier: Apache-2.0
// Tables as people keep them: cells between commas or other separators, with or without a header, numbers or
// text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "filigree/options.h"
#include "io/labelled_rows.h"

namespace filigree::internal {

// What is to be done with a column.
enum class ColumnUse {
  skip,     // its cells are not looked at
  feature,  // numbers or text, as it turns out
  number,   // numbers; missing ones are NaN
  text,
  target,  // both: what there is to learn may be either
};

// The first line, or what stands for it where there is no header.
struct CsvHeader {
  std::string file;
  Offset line = 0;
  std::size_t columns = 0;
  std::vector<std::string> names = {};  // empty: there is no header

  // For messages: 'column 3 ("age")'
  std::string column(std::size_t c) const;
};

struct CsvColumn {
  ColumnUse use = ColumnUse::skip;  // never feature
  std::size_t at = 0;               // among the columns of this use
};

// Cells as numbers of the different words there are, in the order of their first rows.
class Words32 {
 public:
  std::vector<std::int32_t> code;  // one a row
  std::vector<std::string> word;

  // -1 where there would be more than `most` words.
  std::int32_t find_or_add(std::string_view text, std::size_t most);
  std::size_t bytes() const { return code.size() * sizeof(std::int32_t) + word_bytes_; }

 private:
  std::size_t word_bytes_ = 0;  // about
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> known_;
};

// What is to be learned, a cell a row: as numbers, and as words (of numbers in one spelling each: 1.0 is 1).
struct TargetCells {
  std::vector<float> number;    // NaN where a cell is text or missing
  Words32 words;                // code -1: missing
  bool numbers = true;          // every cell that is there is a number,
  bool whole = true;            // and a whole one
  std::int64_t texts = 0;       // cells that are no numbers,
  std::string first_text;       // the first of them,
  Offset first_line = 0;        // and where it stands
  bool many = false;            // more words than can be classes: they are not kept
  std::vector<Offset> missing;  // lines of cells that are not there
  static constexpr std::size_t kMostWords = 65536;

  void add_number(double value);
  void add_text(std::string_view text, Offset line);
  void add_missing(Offset line);

 private:
  void add_word(std::string_view text);
  std::unordered_map<double, std::int32_t> spelled_;  // numbers whose words are known
};

struct CsvTable {
  CsvHeader header;
  char separator = ',';
  std::vector<CsvColumn> columns;
  std::vector<Offset> line;     // of each row, in the file
  std::size_t numbers = 0;      // columns of numbers
  Buffer<float> number;         // rows × numbers; NaN: missing; may be on disk
  std::vector<Offset> missing;  // how many of each column of numbers
  std::vector<Words32> text;
  std::vector<TargetCells> target;

  std::size_t rows() const { return line.size(); }
};

// Decides the use of each column once the first line is known.
using ChooseColumns = std::function<std::vector<ColumnUse>(const CsvHeader& header)>;

struct CsvRules {
  const TableOptions& options;
  std::vector<std::string> names = {};  // a first line with one of these is a header
  std::uint64_t memory_limit = std::uint64_t{1}
                               << 62;  // of all rows; a quarter of it before numbers go to disk
};

// `open` may be called several times: where a column turns out to be text, the file is read again.
//
// The separator is found in the first lines unless the options name it: a tab, a semicolon, a bar or a comma,
// the first of these that divides all of them. A first line is a header if every field can be a name: not a
// number in any spelling (0x10, 1_000, 5%); or if those that can begin with a letter and the others are
// numbers that count up by one (label,0,1,2); or if it holds one of rules.names. Blank lines, lines that
// begin with # (the last before the rows may be the header), CRLF, spaces around fields, quoted fields, also
// of several lines, and a byte order mark are accepted. Empty cells, NA, N/A, nan, null, none, nil, ? and -
// are missing numbers.
CsvTable read_csv(const std::function<Source()>& open, const CsvRules& rules, const ChooseColumns& choose,
                  const Observer& observer);

}  // namespace filigree::internal
