// SPDX-License-Identifier: Apache-2.0
// Data sets from text files: tables, and LIBSVM's sparse rows.
#include <algorithm>
#include <filesystem>
#include <numeric>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/system.h"
#include "data/dataset_sources.h"
#include "data/split.h"
#include "data/table_encode.h"
#include "data/table_targets.h"
#include "io/csv.h"
#include "io/libsvm.h"
#include "io/message_text.h"

namespace filigree::internal {
namespace {

std::function<Source()> opener(const std::string& file, const DataOptions& options) {
  return [file, limit = memory_limit_or_usual(options.memory_limit)] {
    return Source(find_file(file).value_or(file), limit);
  };
}

// The rows that a set is trained on, if it is drawn from one file.
std::vector<Index> training_rows(Index rows, bool drawn, const DataOptions& options) {
  if (drawn) return split_rows(rows, options.test_share, options.seed).train;
  std::vector<Index> all(rows);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool count_up_from_zero(const std::vector<std::string>& names) {
  for (std::size_t c = 0; c < names.size(); ++c)
    if (names[c] != std::to_string(c)) return false;
  return true;
}

// Names and numbers of a set whose features and targets are known.
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

void set_columns(Dataset& set, const std::vector<InputColumn>& columns, bool named) {
  if (named) set.feature_names = input_names_of(columns);
  if (changes_cells(columns)) set.columns = columns;
  set.indicators = indicators_of(columns);
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 10;
  return fmt::format("{}{}", fmt::join(std::span(names).first(std::min(names.size(), kShown)), ", "),
                     names.size() > kShown ? ", …" : "");
}

std::string not_in(const std::string& file) {
  return fmt::format("no row of {} has", file);
}

// What the libsvm file says, as a table whose only column is the target.
CsvTable targets_of(const std::string& file, LibsvmTable& libsvm) {
  CsvTable table;
  table.header = {file, libsvm.line.empty() ? 0 : libsvm.line.front(), 1, {}};
  table.columns = {{ColumnUse::target, 0}};
  table.line = std::move(libsvm.line);
  table.target.push_back(std::move(libsvm.target));
  return table;
}

DataRows features_of(LibsvmTable& table, Index features) {
  DataRows rows;
  rows.rows = table.row_begin.size() - 1;
  rows.features = features;
  rows.row_begin = std::move(table.row_begin);
  rows.column = std::move(table.column);
  rows.value = std::move(table.value);
  return rows;
}

}  // namespace

Dataset load_csv(Names files, const DataOptions& options, const Observer& observer) {
  ColumnRoles roles;
  const CsvTable table = read_csv(
      opener(files[0], options), options.table, option_names(options),
      [&](const CsvHeader& header) {
        roles = choose_roles(header, options);
        return uses_of(header, roles, options);
      },
      observer);
  const bool named = !table.header.names.empty(), drawn = files.size() == 1;
  const TargetKind kind = find_targets(table, roles, options.task);
  const std::vector<InputColumn> columns =
      fit_columns(table, roles, training_rows(table.rows(), drawn, options), options.table, observer);
  Dataset set = described(files[0], kind);
  set_columns(set, columns, named);
  DataRows rows = encode_rows(table, roles, columns);
  add_targets(table, roles, kind, not_in(files[0]), rows);
  if (drawn) {
    draw_parts(rows, options, set);
    return set;
  }
  set.train = std::move(rows);
  const KnownColumns known{columns, named, kind.columns, files[0]};
  DataOptions by_name = options;
  if (named) by_name.label_column.clear();
  ColumnRoles test_roles;
  const CsvTable test = read_csv(
      opener(files[1], options), options.table, option_names(options),
      [&](const CsvHeader& header) {
        test_roles = match_roles(header, known, header.names.empty() ? options : by_name, true);
        return uses_of(header, test_roles, known);
      },
      observer);
  set.test = encode_rows(test, test_roles, columns);
  add_targets(test, test_roles, kind, not_in(files[0]), set.test);
  return set;
}

Dataset load_libsvm(Names files, const DataOptions& options, const Observer& observer) {
  LibsvmTable train = read_libsvm(opener(files[0], options)(), observer);
  if (train.features == 0) fail("{}: no row has any feature", files[0]);
  const CsvTable table = targets_of(files[0], train);
  const ColumnRoles roles{{}, {0}, {}};
  const TargetKind kind = find_targets(table, roles, options.task);
  Dataset set = described(files[0], kind);
  if (files.size() == 1) {
    DataRows rows = features_of(train, train.features);
    add_targets(table, roles, kind, not_in(files[0]), rows);
    draw_parts(rows, options, set);
    return set;
  }
  LibsvmTable test = read_libsvm(opener(files[1], options)(), observer);
  const Index features = std::max(train.features, test.features);
  const CsvTable test_table = targets_of(files[1], test);
  set.train = features_of(train, features);
  set.test = features_of(test, features);
  add_targets(table, roles, kind, not_in(files[0]), set.train);
  add_targets(test_table, roles, kind, not_in(files[0]), set.test);
  return set;
}

std::vector<std::string> option_names(const DataOptions& options) {
  std::vector<std::string> names;
  for (const std::string* list : {&options.label_column, &options.table.weight_column,
                                  &options.table.drop_columns, &options.table.text_columns})
    for (std::string& name : listed_names(*list)) names.push_back(std::move(name));
  return names;
}

Dataset load_csv_for(const KnownTable& known, Names files, const DataOptions& options,
                     const Observer& observer) {
  if (files.size() != 1) fail("{}: one table is read for a network, not {}", files[0], files.size());
  ColumnRoles roles;
  const CsvTable table = read_csv(
      opener(files[0], options), options.table, option_names(options),
      [&](const CsvHeader& header) {
        roles = match_roles(header, known.columns, options, true);
        return uses_of(header, roles, known.columns);
      },
      observer);
  TargetKind kind = find_targets(table, roles, known.task);
  if (known.task == Task::classes && !known.names.empty()) kind.names = known.names;
  Dataset set = described(files[0], kind);
  if (known.task == Task::classes) set.target_names = kind.names;
  set_columns(set, known.columns.inputs, known.columns.named);
  DataRows rows = encode_rows(table, roles, known.columns.inputs);
  add_targets(table, roles, kind, "the network does not know; it knows " + names_text(known.names), rows);
  draw_parts(rows, options, set);
  return set;
}

}  // namespace filigree::internal
