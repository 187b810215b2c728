// SPDX-License-Identifier: Apache-2.0
// A look at data: every column as it is, and what training would make of all of them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/error.h"
#include "base/system.h"
#include "data/dataset_sources.h"
#include "data/table_columns.h"
#include "filigree/data.h"
#include "io/csv.h"
#include "io/csv_fields.h"

namespace filigree {

using namespace internal;

namespace {

using Use = ColumnSummary::Use;

std::vector<std::pair<std::string, Offset>> most_common(const Words32& words) {
  constexpr std::size_t kKept = 20;
  std::vector<Offset> count(words.word.size());
  for (const std::int32_t code : words.code)
    if (code >= 0) ++count[code];
  std::vector<std::pair<std::string, Offset>> common;
  for (std::size_t w = 0; w < count.size(); ++w) common.emplace_back(words.word[w], count[w]);
  std::ranges::stable_sort(common, std::greater(), &std::pair<std::string, Offset>::second);
  common.resize(std::min(common.size(), kKept));
  return common;
}

void count_dates(const Words32& words, ColumnSummary& column) {
  std::vector<char> date;
  for (const std::string& word : words.word) date.push_back(looks_like_date(word) ? 1 : 0);
  for (const std::int32_t code : words.code)
    if (code >= 0) column.dates += date[code];
}

ColumnSummary summarize_column(const TargetCells& cells) {
  ColumnSummary column;
  column.missing = std::ssize(cells.missing);
  column.texts = cells.texts;
  column.least = std::numeric_limits<double>::infinity();
  column.most = -column.least;
  for (const float number : cells.number) {
    if (std::isnan(number)) continue;
    ++column.numbers;
    column.least = std::min(column.least, double{number});
    column.most = std::max(column.most, double{number});
    column.mean += number;
  }
  if (column.numbers > 0)
    column.mean /= static_cast<double>(column.numbers);
  else
    column.least = column.most = 0;
  if (cells.many) return column;
  column.different = std::ssize(cells.words.word);
  column.common = most_common(cells.words);
  count_dates(cells.words, column);
  return column;
}

// Reads every cell, whatever it is.
void look_at_cells(const std::string& file, const DataOptions& options, const Observer& observer,
                   DataSummary& summary) {
  const CsvTable table = read_csv(
      csv_opener(file), {options.table, option_names(options), memory_limit_or_usual(options.memory_limit)},
      [](const CsvHeader& header) { return std::vector<ColumnUse>(header.columns, ColumnUse::target); },
      observer);
  summary.rows = std::ssize(table.line);
  summary.separator = table.separator;
  summary.header = !table.header.names.empty();
  for (std::size_t c = 0; c < table.target.size(); ++c) {
    summary.columns.push_back(summarize_column(table.target[c]));
    if (summary.header) summary.columns.back().name = table.header.names[c];
  }
  // Its columns' roles, if the options fit it.
  try {
    const ColumnRoles roles = choose_roles(table.header, options);
    for (ColumnSummary& column : summary.columns) column.use = Use::left_out;
    for (const std::size_t c : roles.features) summary.columns[c].use = Use::input;
    for (const std::size_t c : roles.targets) summary.columns[c].use = Use::target;
    if (roles.weight) summary.columns[*roles.weight].use = Use::weight;
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): training says the same
  }
}

double filled_share(const DataRows& rows) {
  if (!rows.sparse() || rows.rows == 0) return 1;
  return static_cast<double>(rows.value.size()) / (static_cast<double>(rows.rows) * rows.features);
}

void add_classes(const Dataset& set, DataSummary& summary) {
  if (set.task != Task::classes) return;
  for (Index c = 0; c < set.classes; ++c)
    summary.classes.emplace_back(set.target_names.empty() ? std::to_string(c) : set.target_names[c], 0);
  for (const DataRows* part : {&set.train, &set.test})
    for (const Index label : part->label) ++summary.classes[label].second;
}

// What each column of a table becomes. Columns that were left out have no part in it.
void add_inputs(const Dataset& set, DataSummary& summary) {
  std::size_t next = 0;
  for (ColumnSummary& column : summary.columns) {
    if (column.use != Use::input) continue;
    if (set.columns.empty()) {
      column.inputs = 1;
      continue;
    }
    const bool known =
        next < set.columns.size() && (!summary.header || set.columns[next].name == column.name);
    if (!known) {
      column.use = Use::left_out;
      continue;
    }
    column.inputs = set.columns[next].inputs();
    if (column.missing > 0) column.fill = set.columns[next].fill;
    ++next;
  }
}

void note_classes(DataSummary& summary) {
  constexpr Offset kFew = 10, kUneven = 20;
  Offset most = 0;
  for (const auto& [name, rows] : summary.classes) most = std::max(most, rows);
  for (const auto& [name, rows] : summary.classes) {
    if (rows >= kFew && rows * kUneven > most) continue;
    summary.notes.push_back(
        rows >= kFew
            ? fmt::format("class {} has {} rows, the largest has {}: balanced makes them count the same",
                          name, rows, most)
            : fmt::format("class {} has {} row{}: hardly anything can be learned of it", name, rows,
                          rows == 1 ? "" : "s"));
  }
}

}  // namespace

DataSummary summarize_data(const DataOptions& options, const Observer& observer) {
  DataSummary summary;
  if (const std::optional<std::string> file = csv_file_of(options.source))
    look_at_cells(*file, options, observer, summary);
  try {
    Observer listening = observer;
    listening.warning = [&](const std::string& warning) { summary.notes.push_back(warning); };
    const Dataset set = load_dataset(options, listening);
    summary.rows = Offset{set.train.rows} + set.test.rows;
    summary.task = set.task;
    summary.inputs = set.train.features;
    summary.filled = filled_share(set.train);
    summary.description = describe(set);
    add_classes(set, summary);
    add_inputs(set, summary);
    note_classes(summary);
  } catch (const Cancelled&) {
    throw;
  } catch (const Error& error) {
    if (summary.columns.empty()) throw;
    summary.fault = error.what();
    summary.fault_setting = error.setting();
  }
  return summary;
}

}  // namespace filigree
