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

// The rows that a set is trained on, if it is drawn from one file.
std::vector<Index> training_rows(Index rows, bool drawn, const DataOptions& options) {
  if (drawn) return split_rows(rows, options.test_share, options.seed).train;
  std::vector<Index> all(rows);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void set_columns(Dataset& set, const std::vector<InputColumn>& columns, bool named) {
  if (named) set.feature_names = input_names_of(columns);
  if (changes_cells(columns)) set.columns = columns;
  set.indicators = indicators_of(columns);
}

// The rows of a file of their own, as those trained on say.
DataRows test_rows(Names files, const KnownColumns& known, const TargetKind& kind,
                   const LoadRequest& request) {
  const DataOptions& options = request.options;
  DataOptions by_name = options;
  if (known.named && !known.targets.empty()) by_name.label_column.clear();
  ColumnRoles roles;
  const CsvTable table = read_csv(
      csv_opener(files[1], options), options.table, option_names(options),
      [&](const CsvHeader& header) {
        roles = match_roles(header, known, header.names.empty() ? options : by_name, true);
        return uses_of(header, roles, known);
      },
      request.observer);
  DataRows rows = encode_rows(table, roles, known.inputs);
  add_targets(table, roles, kind, known_from(nullptr, files[0]), rows);
  return rows;
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

std::function<Source()> csv_opener(const std::string& file, const DataOptions& options) {
  return [file, limit = memory_limit_or_usual(options.memory_limit)] {
    return Source(find_file(file).value_or(file), limit);
  };
}

Dataset load_csv(Names files, const LoadRequest& request) {
  const auto& [options, known, observer] = request;
  ColumnRoles roles;
  const CsvTable table = read_csv(
      csv_opener(files[0], options), options.table, option_names(options),
      [&, &known_table = known, &chosen = options](const CsvHeader& header) {
        roles = known_table == nullptr ? choose_roles(header, chosen)
                                       : match_roles(header, known_table->columns, chosen, true);
        return known_table == nullptr ? uses_of(header, roles, chosen)
                                      : uses_of(header, roles, known_table->columns);
      },
      observer);
  const bool drawn = files.size() == 1;
  const bool named = known == nullptr ? !table.header.names.empty() : known->columns.named;
  const TargetKind kind = find_targets(table, roles, options.task, known);
  const std::vector<InputColumn> columns =
      known == nullptr
          ? fit_columns(table, roles, training_rows(table.rows(), drawn, options), options.table, observer)
          : known->columns.inputs;
  Dataset set = described(files[0], kind);
  set_columns(set, columns, named);
  DataRows rows = encode_rows(table, roles, columns);
  add_targets(table, roles, kind, known_from(known, files[0]), rows);
  if (drawn) {
    draw_parts(rows, options, set);
    return set;
  }
  set.train = std::move(rows);
  set.test = test_rows(
      files, known == nullptr ? KnownColumns{columns, named, kind.columns, files[0]} : known->columns, kind,
      request);
  return set;
}

Dataset load_libsvm(Names files, const LoadRequest& request) {
  const auto& [options, known, observer] = request;
  LibsvmTable train = read_libsvm(csv_opener(files[0], options)(), observer);
  if (train.features == 0) fail("{}: no row has any feature", files[0]);
  const CsvTable table = targets_of(files[0], train);
  const ColumnRoles roles{{}, {0}, {}};
  const TargetKind kind = find_targets(table, roles, options.task, known);
  const std::string from = known_from(known, files[0]);
  Dataset set = described(files[0], kind);
  if (files.size() == 1) {
    DataRows rows = features_of(train, train.features);
    add_targets(table, roles, kind, from, rows);
    draw_parts(rows, options, set);
    return set;
  }
  LibsvmTable test = read_libsvm(csv_opener(files[1], options)(), observer);
  const Index features = std::max(train.features, test.features);
  const CsvTable test_table = targets_of(files[1], test);
  set.train = features_of(train, features);
  set.test = features_of(test, features);
  add_targets(table, roles, kind, from, set.train);
  add_targets(test_table, roles, kind, from, set.test);
  return set;
}

std::vector<std::string> option_names(const DataOptions& options) {
  std::vector<std::string> names;
  for (const std::string* list : {&options.label_column, &options.table.weight_column,
                                  &options.table.drop_columns, &options.table.text_columns})
    for (std::string& name : listed_names(*list)) names.push_back(std::move(name));
  return names;
}

}  // namespace filigree::internal
