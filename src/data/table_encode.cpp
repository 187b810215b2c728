// SPDX-License-Identifier: Apache-2.0
#include "data/table_encode.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "io/json_value.h"
#include "io/message_text.h"
#include "io/row_store.h"

namespace filigree::internal {

namespace {

constexpr float kNoFill = std::numeric_limits<float>::quiet_NaN();
constexpr double kFewRows = 20;  // of which nothing is suspicious

// Lets go of numbers on disk once so many rows are behind `row`.
void forget_rows(const CsvTable& table, std::size_t row) {
  constexpr std::size_t kForgotten = 1 << 14;
  if (row % kForgotten == 0 && row > 0)
    table.number.forget((row - kForgotten) * table.numbers, kForgotten * table.numbers);
}

std::string name_of(const CsvTable& table, std::size_t column) {
  const std::vector<std::string>& names = table.header.names;
  return names.empty() ? fmt::format("column {}", column + 1) : names[column];
}

// What the rows to train on say of a column of numbers.
struct NumberFacts {
  std::size_t present = 0;
  double sum = 0;
  float first = 0;
  bool constant = true;
  bool counts = true;  // each row, of all, has one more than the last
};

// Of all columns of numbers in one walk, because they may be on disk.
std::vector<NumberFacts> number_facts(const CsvTable& table, std::span<const Index> rows) {
  std::vector<NumberFacts> facts(table.numbers);
  auto chosen = rows.begin();
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const float* const row = table.number.data() + r * table.numbers;
    const float* const before = r > 0 ? row - table.numbers : row;
    const bool trains = chosen != rows.end() && static_cast<std::size_t>(*chosen) == r;
    if (trains) ++chosen;
    for (std::size_t c = 0; c < facts.size(); ++c) {
      NumberFacts& of = facts[c];
      if (r > 0) of.counts = of.counts && row[c] == before[c] + 1;
      if (!trains || std::isnan(row[c])) continue;
      if (of.present++ == 0) of.first = row[c];
      of.constant = of.constant && row[c] == of.first;
      of.sum += row[c];
    }
    forget_rows(table, r);
  }
  return facts;
}

// The numbers of a column that are there, in the given rows.
std::vector<float> present(const CsvTable& table, std::size_t at, std::span<const Index> rows) {
  std::vector<float> values;
  values.reserve(rows.size());
  for (const Index row : rows) {
    if (const float value = table.number[row * table.numbers + at]; !std::isnan(value))
      values.push_back(value);
    forget_rows(table, row);
  }
  return values;
}

float median_of(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (double{*middle} + *std::max_element(values.begin(), middle)) / 2;
}

float fill_of(const CsvTable& table, std::size_t at, const NumberFacts& facts, std::span<const Index> rows,
              const TableOptions& options) {
  switch (options.missing) {
    case Missing::mean:
      return static_cast<float>(facts.sum / static_cast<double>(facts.present));
    case Missing::median:
      return median_of(present(table, at, rows));
    case Missing::constant:
      return static_cast<float>(options.missing_value);
    case Missing::refuse:
      return kNoFill;
  }
  return kNoFill;
}

InputColumn fit_number(const CsvTable& table, std::size_t column, const NumberFacts& facts,
                       std::span<const Index> rows, const TableOptions& options, bool fills,
                       const Observer& observer) {
  const std::size_t at = table.columns[column].at;
  const std::string where = fmt::format("{}: {}", table.header.file, table.header.column(column));
  InputColumn result{name_of(table, column)};
  const bool gaps = table.missing[at] > 0;
  if (gaps && options.missing == Missing::refuse) {
    std::size_t row = 0;
    while (!std::isnan(table.number[row * table.numbers + at])) ++row;
    fail_for("missing", "{}:{}: {} is missing", table.header.file, table.line[row],
             table.header.column(column));
  }
  if (fills) result.fill = fill_of(table, at, facts, rows, options);
  result.marks_missing = gaps && options.mark_missing;
  if (rows.size() < kFewRows) return result;
  if (facts.constant && facts.present == rows.size())
    observer.warn(fmt::format("{} is {} in all {} training rows, which tells nothing", where, facts.first,
                              rows.size()));
  if (facts.counts)
    observer.warn(
        fmt::format("{} counts the rows: is it a number that says nothing of them? "
                    "(drop-columns leaves it out)",
                    where));
  return result;
}

// Words that some rows share; the others are one.
InputColumn fit_text(const CsvTable& table, std::size_t column, std::span<const Index> rows,
                     const TableOptions& options) {
  const Words32& words = table.text[table.columns[column].at];
  std::vector<std::size_t> count(words.word.size(), 0);
  for (const Index row : rows) ++count[words.code[row]];
  const std::size_t usual = std::clamp<std::size_t>(rows.size() / 200, 2, 10);
  const std::size_t least = options.rare > 0 ? static_cast<std::size_t>(options.rare) : usual;
  InputColumn result{name_of(table, column)};
  result.text = true;
  for (std::size_t w = 0; w < count.size(); ++w)
    if (count[w] >= least) result.categories.push_back(words.word[w]);
  std::ranges::sort(result.categories);
  return result;
}

// Hardly any word stands in two rows.
bool is_name_of_rows(const CsvTable& table, std::size_t column) {
  const Words32& words = table.text[table.columns[column].at];
  return table.rows() > kFewRows && words.word.size() * 2 > table.rows();
}

// Where the inputs of each column begin, and how many there are.
std::vector<std::size_t> first_inputs(const std::vector<InputColumn>& columns) {
  std::vector<std::size_t> first = {0};
  for (const InputColumn& each : columns) first.push_back(first.back() + each.inputs());
  return first;
}

// For each word of a column the input that stands for it.
std::vector<Index> inputs_of_words(const Words32& words, const InputColumn& column) {
  std::map<std::string, Index> known;  // as model files have words: what is not UTF-8 is mended
  for (const std::string& category : column.categories)
    known.emplace(json_text(category, true), known.size());
  std::vector<Index> input;
  for (const std::string& word : words.word) {
    const auto found = known.find(json_text(word, true));
    input.push_back(found == known.end() ? std::ssize(column.categories) : found->second);
  }
  return input;
}

class Encoder {
 public:
  Encoder(const CsvTable& table, const ColumnRoles& roles, const std::vector<InputColumn>& columns)
      : table_(table), roles_(roles), columns_(columns), first_(first_inputs(columns)) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      word_input_.emplace_back();
      if (columns[i].text)
        word_input_.back() = inputs_of_words(table.text[table.columns[roles.features[i]].at], columns[i]);
    }
  }

  std::size_t inputs() const { return first_.back(); }

  // Calls put(input, value) for the inputs of a row in ascending order: those of numbers always, those of
  // words and gaps where they are 1.
  template <typename Put>
  void row(std::size_t r, const Put& put) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const CsvColumn& cell = table_.columns[roles_.features[i]];
      if (columns_[i].text) {
        put(first_[i] + word_input_[i][table_.text[cell.at].code[r]], 1.0f);
        continue;
      }
      const float value = table_.number[r * table_.numbers + cell.at];
      const bool missing = std::isnan(value);
      put(first_[i], missing ? columns_[i].fill : value);
      if (missing && columns_[i].marks_missing) put(first_[i] + 1, 1.0f);
    }
  }

  // Every number that is missing has something to take its place.
  void check_filled() const {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const CsvColumn& cell = table_.columns[roles_.features[i]];
      if (!columns_[i].text && std::isnan(columns_[i].fill) && table_.missing[cell.at] > 0) open.push_back(i);
    }
    for (std::size_t r = 0; r < table_.rows() && !open.empty(); ++r)
      for (const std::size_t i : open)
        if (std::isnan(table_.number[r * table_.numbers + table_.columns[roles_.features[i]].at]))
          fail("{}:{}: {} is missing, but in training it never was, so nothing is known to take its place",
               table_.header.file, table_.line[r], table_.header.column(roles_.features[i]));
  }

  // The rows are the table's numbers, as they lie there.
  bool changes_nothing() const {
    if (changes_cells(columns_) || inputs() != table_.numbers) return false;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (table_.columns[roles_.features[i]].at != i) return false;
    return true;
  }

  // Entries of a row, at most.
  std::size_t entries() const {
    std::size_t count = columns_.size();
    for (const InputColumn& each : columns_) count += each.marks_missing ? 1 : 0;
    return count;
  }

 private:
  const CsvTable& table_;
  const ColumnRoles& roles_;
  const std::vector<InputColumn>& columns_;
  std::vector<std::size_t> first_;
  std::vector<std::vector<Index>> word_input_;
};

}  // namespace

std::vector<InputColumn> fit_columns(const CsvTable& table, ColumnRoles& roles, std::span<const Index> rows,
                                     const TableOptions& options, const Observer& observer) {
  const std::vector<NumberFacts> facts = number_facts(table, rows);
  // Where a table has gaps or words, any of its numbers may be missing later.
  const bool fills =
      options.missing != Missing::refuse && std::ranges::any_of(roles.features, [&](std::size_t c) {
        return table.columns[c].use == ColumnUse::text || table.missing[table.columns[c].at] > 0;
      });
  std::vector<InputColumn> columns;
  std::vector<std::size_t> kept;
  for (const std::size_t c : roles.features) {
    const bool text = table.columns[c].use == ColumnUse::text;
    if (!text && facts[table.columns[c].at].present == 0) {
      observer.warn(fmt::format("{}: {} is left out: it has no value in any of {} training rows",
                                table.header.file, table.header.column(c), rows.size()));
      continue;
    }
    if (text && is_name_of_rows(table, c)) {
      observer.warn(fmt::format("{}: {} is left out: it has {} different texts in {} rows", table.header.file,
                                table.header.column(c), table.text[table.columns[c].at].word.size(),
                                table.rows()));
      continue;
    }
    kept.push_back(c);
    columns.push_back(text
                          ? fit_text(table, c, rows, options)
                          : fit_number(table, c, facts[table.columns[c].at], rows, options, fills, observer));
  }
  if (columns.empty()) fail("{}: no column is left to learn from", table.header.file);
  roles.features = kept;
  return columns;
}

bool changes_cells(const std::vector<InputColumn>& columns) {
  return std::ranges::any_of(columns,
                             [](const InputColumn& each) { return each.text || !std::isnan(each.fill); });
}

std::vector<std::string> input_names_of(const std::vector<InputColumn>& columns) {
  std::vector<std::string> names;
  for (const InputColumn& each : columns) {
    if (!each.text) names.push_back(each.name);
    if (each.marks_missing) names.push_back(each.name + " is missing");
    if (!each.text) continue;
    for (const std::string& category : each.categories) names.push_back(each.name + "=" + category);
    names.push_back(each.name + "=(other)");
  }
  return names;
}

std::vector<char> indicators_of(const std::vector<InputColumn>& columns) {
  std::vector<char> marks;
  for (const InputColumn& each : columns) {
    if (!each.text) marks.push_back(0);
    marks.insert(marks.end(), each.inputs() - (each.text ? 0 : 1), 1);
  }
  if (std::ranges::count(marks, 1) == 0) marks.clear();
  return marks;
}

DataRows encode_rows(CsvTable& table, const ColumnRoles& roles, const std::vector<InputColumn>& columns,
                     std::uint64_t memory) {
  // A product with sparse rows costs about four times as much a connection as one with dense panels.
  constexpr std::size_t kSparseFrom = 64, kSparseShare = 4;
  const Encoder encoder(table, roles, columns);
  encoder.check_filled();
  const std::size_t inputs = encoder.inputs();
  if (inputs > static_cast<std::size_t>(std::numeric_limits<Index>::max()))
    fail("{}: {} inputs", table.header.file, inputs);
  DataRows rows;
  rows.rows = static_cast<Index>(table.rows());
  rows.features = static_cast<Index>(inputs);
  if (inputs >= kSparseFrom && encoder.entries() * kSparseShare <= inputs) {
    RowStore<Index> column(table.header.file, memory / 2);
    RowStore<float> values(table.header.file, memory / 2);
    rows.row_begin.push_back(0);
    for (std::size_t r = 0; r < table.rows(); ++r) {
      encoder.row(r, [&](std::size_t input, float value) {
        const auto at = static_cast<Index>(input);
        column.append({&at, 1});
        values.append({&value, 1});
      });
      rows.row_begin.push_back(static_cast<Offset>(values.size()));
      forget_rows(table, r);
    }
    rows.column = column.take();
    rows.value = values.take();
    return rows;
  }
  if (encoder.changes_nothing()) {
    rows.floats = std::move(table.number);
    return rows;
  }
  RowStore<float> store(table.header.file, memory);
  constexpr std::size_t kTogether = 1 << 14;
  std::vector<float> some;
  for (std::size_t first = 0; first < table.rows(); first += kTogether) {
    const std::size_t count = std::min(kTogether, table.rows() - first);
    some.assign(count * inputs, 0.0f);
    parallel_for(count, 1024, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r)
        encoder.row(first + r, [&](std::size_t input, float value) { some[r * inputs + input] = value; });
    });
    store.append(some);
    forget_rows(table, first);
  }
  rows.floats = store.take();
  return rows;
}

}  // namespace filigree::internal
