// SPDX-License-Identifier: Apache-2.0
#include "data/table_targets.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "base/error.h"
#include "io/json_value.h"
#include "io/message_text.h"

namespace filigree::internal {

namespace {

const TargetCells& cells_of(const CsvTable& table, std::size_t column) {
  return table.target[table.columns[column].at];
}

// 0, 1, yes, no, …: whether a label holds. Empty for other words.
std::optional<bool> as_label(const std::string& word) {
  static constexpr std::array<std::string_view, 5> kNo = {"0", "false", "no", "n", "f"},
                                                   kYes = {"1", "true", "yes", "y", "t"};
  std::string lower = word;
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (std::ranges::count(kNo, lower) > 0) return false;
  if (std::ranges::count(kYes, lower) > 0) return true;
  return std::nullopt;
}

bool all_labels(const TargetCells& cells) {
  return !cells.many && std::ranges::all_of(cells.words.word, [](const std::string& word) {
    return as_label(word).has_value();
  });
}

// 1, 2, 3, …
bool counts(const std::vector<float>& numbers) {
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] != numbers[i - 1] + 1) return false;
  return true;
}

// Whole numbers are classes if there are few, or each has many rows.
Task task_of_column(const CsvTable& table, const ColumnRoles& roles) {
  constexpr std::size_t kFew = 20, kMost = 1000, kRowsEach = 10;
  const std::size_t column = roles.targets.front();
  const TargetCells& cells = cells_of(table, column);
  if (!cells.numbers) return Task::classes;
  if (!cells.whole) return Task::values;
  const std::size_t different = cells.many ? table.rows() : cells.words.word.size();
  if (different <= kFew || (different <= kMost && different * kRowsEach <= table.rows()))
    return Task::classes;
  if (counts(cells.number) || (!roles.targets_said && different * 2 > table.rows()))
    fail_for(
        "label_column",
        "{}: {} holds {} different whole numbers in {} rows: do they count the rows? Then another column is "
        "the label; or is the number to be learned? Then the task is values",
        table.header.file, table.header.column(column), different, table.rows());
  return Task::values;
}

Task find_task(const CsvTable& table, const ColumnRoles& roles) {
  if (roles.targets.size() == 1) return task_of_column(table, roles);
  const auto all = [&](auto&& is) {
    return std::ranges::all_of(roles.targets, [&](std::size_t c) { return is(cells_of(table, c)); });
  };
  if (all(all_labels)) return Task::labels;
  if (all([](const TargetCells& cells) { return cells.numbers; })) return Task::values;
  fail("{}: {} label columns, which are neither all numbers nor all yes and no", table.header.file,
       roles.targets.size());
}

// In the order of numbers, if they are, else of letters.
std::vector<std::string> class_names(const CsvTable& table, std::size_t column) {
  const TargetCells& cells = cells_of(table, column);
  if (cells.many)
    fail("{}: {} holds more than {} different labels: are these classes?", table.header.file,
         table.header.column(column), TargetCells::kMostWords);
  std::vector<std::string> names = cells.words.word;
  const auto number = [](const std::string& name) {
    double value = 0;
    std::from_chars(name.data(), name.data() + name.size(), value);
    return value;
  };
  if (cells.numbers)
    std::ranges::sort(names, {}, number);
  else
    std::ranges::sort(names);
  return names;
}

// "file:7: column 3 ("price")"
std::string place(const CsvTable& table, std::size_t row, std::size_t column) {
  return fmt::format("{}:{}: {}", table.header.file, table.line[row], table.header.column(column));
}

void check_all_there(const CsvTable& table, std::size_t column) {
  const TargetCells& cells = cells_of(table, column);
  if (cells.missing.empty()) return;
  fail("{}:{}: {} is missing, but it is what there is to learn; {} of {} rows lack it", table.header.file,
       cells.missing.front(), table.header.column(column), cells.missing.size(), table.rows());
}

// A few words among numbers are rather mistakes than classes.
void check_one_kind(const CsvTable& table, std::size_t column) {
  const TargetCells& cells = cells_of(table, column);
  const auto numbers = static_cast<std::int64_t>(table.rows()) - cells.texts;
  if (cells.texts > 0 && numbers >= cells.texts)
    fail_for(
        "task",
        "{}:{}: {} in {} is not a number, as {} others of this column are; the task classes takes each as a "
        "class",
        table.header.file, cells.first_line, in_quotes(cells.first_text), table.header.column(column),
        numbers);
}

std::string spelled(const std::string& word) {
  return is_number(word) ? word : in_quotes(word);
}

void add_classes(const CsvTable& table, std::size_t column, const TargetKind& kind, const std::string& known,
                 DataRows& rows) {
  const Words32& words = cells_of(table, column).words;
  if (cells_of(table, column).many)
    fail("{}: {} holds more than {} different labels", table.header.file, table.header.column(column),
         TargetCells::kMostWords);
  std::map<std::string, Index> number;  // as model files have names: what is not UTF-8 is mended
  for (std::size_t c = 0; c < kind.names.size(); ++c) number[json_text(kind.names[c], true)] = c;
  std::vector<Index> class_of;
  for (const std::string& word : words.word) {
    const auto found = number.find(json_text(word, true));
    class_of.push_back(found == number.end() ? -1 : found->second);
  }
  for (std::size_t r = 0; r < table.rows(); ++r) {
    rows.label.push_back(class_of[words.code[r]]);
    if (rows.label.back() < 0)
      fail("{}:{}: label {}, which {}", table.header.file, table.line[r], spelled(words.word[words.code[r]]),
           known);
  }
}

float label_of(const CsvTable& table, std::size_t row, std::size_t column) {
  const Words32& words = cells_of(table, column).words;
  const std::string& word = words.word[words.code[row]];
  const std::optional<bool> holds = as_label(word);
  if (!holds)
    fail("{} is {}, but a label holds or not: 1 or 0, yes or no", place(table, row, column), in_quotes(word));
  return *holds ? 1.0f : 0.0f;
}

float value_of(const CsvTable& table, std::size_t row, std::size_t column) {
  const TargetCells& cells = cells_of(table, column);
  if (const float value = cells.number[row]; !std::isnan(value)) return value;
  const std::string word = cells.many ? "" : cells.words.word[cells.words.code[row]];
  fail("{} is {}, which is not a number to be learned", place(table, row, column), in_quotes(word));
}

void add_weights(const CsvTable& table, std::size_t column, DataRows& rows) {
  double sum = 0;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const float weight = table.number[r * table.numbers + table.columns[column].at];
    if (!(weight >= 0))
      fail_for("weight_column", "{} is {}, but a weight is 0 or more", place(table, r, column),
               std::isnan(weight) ? "missing" : fmt::format("{}", weight));
    rows.weight.push_back(weight);
    sum += weight;
  }
  if (sum == 0)
    fail_for("weight_column", "{}: {} is 0 in all rows", table.header.file, table.header.column(column));
}

bool count_up_from_zero(const std::vector<std::string>& names) {
  for (std::size_t c = 0; c < names.size(); ++c)
    if (names[c] != std::to_string(c)) return false;
  return true;
}

}  // namespace

TargetKind find_targets(const CsvTable& table, const ColumnRoles& roles, std::optional<Task> wanted) {
  for (const std::size_t c : roles.targets) check_all_there(table, c);
  TargetKind kind;
  for (const std::size_t c : roles.targets)
    if (!wanted) check_one_kind(table, c);
  kind.task = wanted ? *wanted : find_task(table, roles);
  if (!table.header.names.empty())
    for (const std::size_t c : roles.targets) kind.columns.push_back(table.header.names[c]);
  kind.count = roles.targets.size();
  if (kind.task != Task::classes) {
    kind.names = kind.columns;
    return kind;
  }
  if (roles.targets.size() != 1)
    fail_for("label_column", "{}: {} label columns, but classes have one", table.header.file,
             roles.targets.size());
  kind.names = class_names(table, roles.targets.front());
  return kind;
}

void add_targets(const CsvTable& table, const ColumnRoles& roles, const TargetKind& kind,
                 const std::string& known, DataRows& rows) {
  for (const std::size_t c : roles.targets) check_all_there(table, c);
  if (roles.weight) add_weights(table, *roles.weight, rows);
  switch (kind.task) {
    case Task::classes:
      add_classes(table, roles.targets.front(), kind, known, rows);
      break;
    case Task::values:
    case Task::labels:
      for (std::size_t r = 0; r < table.rows(); ++r)
        for (const std::size_t c : roles.targets)
          rows.target.push_back(kind.task == Task::values ? value_of(table, r, c) : label_of(table, r, c));
      break;
  }
}

TargetKind find_targets(const CsvTable& table, const ColumnRoles& roles, std::optional<Task> wanted,
                        const KnownTable* known) {
  TargetKind kind = find_targets(table, roles, known != nullptr ? known->task : wanted);
  if (known != nullptr && known->task == Task::classes) kind.names = known->names;
  return kind;
}

std::string known_from(const KnownTable* known, const std::string& file) {
  if (known == nullptr) return fmt::format("no row of {} has", file);
  constexpr std::size_t kShown = 10;
  const std::vector<std::string>& names = known->names;
  return fmt::format("the network does not know; it knows {}{}",
                     fmt::join(std::span(names).first(std::min(names.size(), kShown)), ", "),
                     names.size() > kShown ? ", …" : "");
}

Dataset described(const std::string& file, const TargetKind& kind) {
  Dataset set;
  set.name = std::filesystem::path(file).filename().string();
  set.task = kind.task;
  if (kind.task == Task::classes)
    set.classes = kind.names.size();
  else
    set.targets = kind.count;
  if (kind.task != Task::classes || !count_up_from_zero(kind.names)) set.target_names = kind.names;
  set.target_columns = kind.columns;
  return set;
}

}  // namespace filigree::internal
