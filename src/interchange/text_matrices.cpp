// SPDX-License-Identifier: Apache-2.0
#include "interchange/text_matrices.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/message_text.h"
#include "io/tsv_scan.h"

namespace filigree::internal {

namespace {

constexpr std::int64_t kMostNeurons = 1 << 24;

// The words of a line after another; errors name the line.
class Line {
 public:
  Line(std::string_view text, const std::string& name, Offset number)
      : rest_(text), name_(name), number_(number) {}

  std::string_view word() {
    constexpr std::string_view kSpace = " \t\r\n";
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size()));
    const std::string_view word = rest_.substr(0, rest_.find_first_of(kSpace));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::int64_t whole(const char* what, std::int64_t least, std::int64_t most) {
    const std::string_view text = word();
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || end != text.data() + text.size())
      wrong(fmt::format("{} where the {} is due", in_quotes(text), what));
    if (value < least || value > most)
      wrong(fmt::format("{} {}, but it is from {} to {}", what, value, least, most));
    return value;
  }
  double number() {
    std::string_view text = word();
    double value = 0;
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || end != text.data() + text.size())
      wrong(fmt::format("{} is not a number", in_quotes(text)));
    if (!std::isfinite(value)) wrong(fmt::format("{} is not finite", in_quotes(text)));
    return value;
  }
  void end() {
    if (const std::string_view more = word(); !more.empty())
      wrong(fmt::format("{} where the line ends", in_quotes(more)));
  }
  [[noreturn]] void wrong(const std::string& what) const { fail("{}:{}: {}", name_, number_, what); }

 private:
  std::string_view rest_;
  const std::string& name_;
  Offset number_;
};

// Calls each(Line&) for every line; one that was cut off is an error.
template <typename Each>
Offset each_line(Source& source, const Each& each) {
  LineBlocks blocks(source, std::size_t{1} << 20);
  Offset number = 0;
  for (std::string_view block = blocks.next(0); !block.empty(); block = blocks.next(number))
    while (!block.empty()) {
      const std::string_view text = first_line(block);
      block.remove_prefix(text.size());
      ++number;
      each(text, number);
    }
  if (blocks.cut_off())
    fail("{}:{}: the last line does not end in a newline: was the file cut off?", source.name(), number);
  return number;
}

struct Triple {
  Index row, column;
  double value;
};

Weights sorted(std::vector<Triple> triples, Index rows, Index cols, const std::string& name) {
  std::ranges::stable_sort(triples, {}, [](const Triple& t) { return std::tuple(t.row, t.column); });
  Weights weights{rows, cols};
  std::size_t next = 0;
  for (Index r = 0; r < rows; ++r) {
    for (; next < triples.size() && triples[next].row == r; ++next) {
      if (next > 0 && triples[next - 1].row == r && triples[next - 1].column == triples[next].column)
        fail("{}: two entries in row {}, column {}", name, r + 1, triples[next].column + 1);
      weights.column.push_back(triples[next].column);
      weights.value.push_back(triples[next].value);
    }
    weights.end_row();
  }
  return weights;
}

enum class Field { real, pattern };
enum class Symmetry { general, symmetric, skew };

struct MarketHeader {
  bool coordinates = true;
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
};

MarketHeader market_header(Line& line) {
  const auto lower = [&] {
    std::string word(line.word());
    std::ranges::transform(word, word.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return word;
  };
  if (lower() != "%%matrixmarket" || lower() != "matrix")
    line.wrong("a Matrix Market file begins with %%MatrixMarket matrix");
  MarketHeader header;
  const std::string form = lower(), field = lower(), symmetry = lower();
  if (form != "coordinate" && form != "array")
    line.wrong(fmt::format("{} is neither coordinate nor array", in_quotes(form)));
  header.coordinates = form == "coordinate";
  if (field == "pattern" && header.coordinates)
    header.field = Field::pattern;
  else if (field != "real" && field != "integer" && field != "double")
    line.wrong(fmt::format("entries of kind {}, but real, integer and pattern are read", in_quotes(field)));
  if (symmetry == "symmetric")
    header.symmetry = Symmetry::symmetric;
  else if (symmetry == "skew-symmetric")
    header.symmetry = Symmetry::skew;
  else if (symmetry != "general")
    line.wrong(fmt::format("{} is neither general, symmetric nor skew-symmetric", in_quotes(symmetry)));
  return header;
}

// Takes the lines of a Matrix Market file.
class Market {
 public:
  explicit Market(std::string name) : name_(std::move(name)) {}

  void line(std::string_view text, Offset number) {
    Line line(text, name_, number);
    if (number == 1) {
      header_ = market_header(line);
      return;
    }
    const std::size_t start = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    if (start == text.size() || text[start] == '%') return;
    if (rows_ == 0) {
      sizes(line);
    } else {
      entry(line);
    }
    line.end();
  }

  Weights end() {
    if (rows_ == 0) fail("{}: there is no line with the sizes", name_);
    if (found_ != promised_) fail("{}: {} entries are promised, but {} follow", name_, promised_, found_);
    return sorted(std::move(triples_), rows_, cols_, name_);
  }

 private:
  void sizes(Line& line) {
    rows_ = static_cast<Index>(line.whole("number of rows", 1, kMostNeurons));
    cols_ = static_cast<Index>(line.whole("number of columns", 1, kMostNeurons));
    const std::int64_t all = std::int64_t{1} * rows_ * cols_;
    promised_ = header_.coordinates ? line.whole("number of entries", 0, all) : all;
    if (header_.symmetry != Symmetry::general && rows_ != cols_)
      line.wrong(fmt::format("{} rows and {} columns of a symmetric matrix", rows_, cols_));
    if (header_.symmetry != Symmetry::general && !header_.coordinates) {
      const std::int64_t diagonal = header_.symmetry == Symmetry::symmetric ? rows_ : -rows_;
      promised_ = (all + diagonal) / 2;
    }
  }

  void entry(Line& line) {
    if (found_ == promised_) line.wrong(fmt::format("more than {} entries", promised_));
    Triple entry{};
    if (header_.coordinates) {
      entry.row = static_cast<Index>(line.whole("row", 1, rows_) - 1);
      entry.column = static_cast<Index>(line.whole("column", 1, cols_) - 1);
      entry.value = header_.field == Field::pattern ? 1 : line.number();
    } else {  // column by column; of a symmetric matrix from the diagonal on
      entry = {row_, column_, line.number()};
      if (++row_ == rows_) row_ = first_row(++column_);
    }
    ++found_;
    triples_.push_back(entry);
    if (header_.symmetry == Symmetry::general || entry.row == entry.column) return;
    triples_.push_back(
        {entry.column, entry.row, header_.symmetry == Symmetry::skew ? -entry.value : entry.value});
  }
  Index first_row(Index column) const {
    switch (header_.symmetry) {
      case Symmetry::general:
        return 0;
      case Symmetry::symmetric:
        return column;
      case Symmetry::skew:
        return column + 1;
    }
    return 0;
  }

  std::string name_;
  MarketHeader header_;
  Index rows_ = 0, cols_ = 0, row_ = 0, column_ = 0;
  std::int64_t promised_ = 0, found_ = 0;
  std::vector<Triple> triples_;
};

}  // namespace

Weights read_matrix_market(Source source) {
  Market market(source.name());
  each_line(source, [&](std::string_view text, Offset number) { market.line(text, number); });
  return market.end();
}

void write_matrix_market(const std::filesystem::path& path, const CsrView& matrix) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  AtomicFile file(path);
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "%%MatrixMarket matrix coordinate real general\n{} {} {}\n", matrix.rows, matrix.cols,
                 matrix.nnz());
  for (Index r = 0; r < matrix.rows; ++r)
    for (Offset e = matrix.row_begin[r]; e < matrix.row_begin[r + std::size_t{1}]; ++e) {
      fmt::format_to(out, "{} {} {}\n", r + 1, matrix.column[e] + 1, matrix.value[e]);
      if (text.size() < kBlock) continue;
      file.write(std::string_view(text.data(), text.size()));
      text.clear();
    }
  file.write(std::string_view(text.data(), text.size()));
  file.commit();
}

std::vector<double> read_numbers(Source source) {
  std::vector<double> numbers;
  each_line(source, [&](std::string_view text, Offset number) {
    Line line(text, source.name(), number);
    numbers.push_back(line.number());
    line.end();
  });
  return numbers;
}

Weights read_triples(Source source, Index rows, Index cols) {
  std::vector<Triple> triples;
  each_line(source, [&](std::string_view text, Offset number) {
    Line line(text, source.name(), number);
    Triple entry{};
    entry.row = static_cast<Index>(line.whole("row", 0, rows - 1));
    entry.column = static_cast<Index>(line.whole("column", 0, cols - 1));
    entry.value = line.number();
    line.end();
    triples.push_back(entry);
  });
  return sorted(std::move(triples), rows, cols, source.name());
}

}  // namespace filigree::internal
