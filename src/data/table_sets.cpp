// SPDX-License-Identifier: Apache-2.0
// Data sets from text files: tables, and LIBSVM's sparse rows.
#include <algorithm>
#include <filesystem>
#include <numeric>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/system.h"
#include "data/data_rows.h"
#include "data/dataset_sources.h"
#include "data/split.h"
#include "data/table_encode.h"
#include "data/table_targets.h"
#include "io/csv.h"
#include "io/libsvm.h"
#include "io/message_text.h"

namespace filigree::internal {
namespace {

std::uint64_t memory_of(const DataOptions& options) {
  return memory_limit_or_usual(options.memory_limit);
}

// What the features of a file may take in memory.
TakeOptions take_options(const std::string& file, const DataOptions& options) {
  return {.memory = memory_of(options) / 4, .name = file};
}

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
  CsvTable table = read_csv(
      csv_opener(files[1]), {options.table, option_names(options), memory_of(options)},
      [&](const CsvHeader& header) {
        roles = match_roles(header, known, header.names.empty() ? options : by_name, true);
        return uses_of(header, roles, known);
      },
      request.observer);
  const TakeOptions take = take_options(files[1], options);
  DataRows rows = narrowed(encode_rows(table, roles, known.inputs, take.memory), take);
  add_targets(table, roles, kind, known_from(nullptr, files[0]), rows);
  tell_where(rows, files[1], request);
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

void tell_where(const DataRows& rows, const std::string& file, const LoadRequest& request) {
  if (rows.on_disk())
    request.observer.warn(fmt::format(
        "{}: its rows take {} bytes and are kept in {} while this runs, as the memory limit is {}", file,
        rows.feature_bytes(), cache_directory().string(), memory_of(request.options)));
}

std::function<Source()> csv_opener(const std::string& file) {
  return [file] { return open_data(file); };
}

Dataset load_csv(Names files, const LoadRequest& request) {
  const auto& [options, known, observer] = request;
  ColumnRoles roles;
  CsvTable table = read_csv(
      csv_opener(files[0]), {options.table, option_names(options), memory_of(options)},
      [&, &known_table = known, &chosen = options, &watcher = observer](const CsvHeader& header) {
        roles = known_table == nullptr ? choose_roles(header, chosen)
                                       : match_roles(header, known_table->columns, chosen, true);
        warn_of_unknown(header, roles, watcher);
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
  const TakeOptions take = take_options(files[0], options);
  DataRows rows = encode_rows(table, roles, columns, take.memory);
  add_targets(table, roles, kind, known_from(known, files[0]), rows);
  tell_where(rows, files[0], request);
  if (drawn) {
    table = {};
    draw_parts(rows, options, set);
    return set;
  }
  set.train = narrowed(std::move(rows), take);
  set.test = test_rows(
      files, known == nullptr ? KnownColumns{columns, named, kind.columns, files[0]} : known->columns, kind,
      request);
  return set;
}

Dataset load_libsvm(Names files, const LoadRequest& request) {
  const auto& [options, known, observer] = request;
  LibsvmTable train = read_libsvm(csv_opener(files[0])(), observer, memory_of(options));
  if (train.features == 0) fail("{}: no row has any feature", files[0]);
  const CsvTable table = targets_of(files[0], train);
  const ColumnRoles roles{{}, {0}, {}};
  const TargetKind kind = find_targets(table, roles, options.task, known);
  const std::string from = known_from(known, files[0]);
  Dataset set = described(files[0], kind);
  if (files.size() == 1) {
    DataRows rows = features_of(train, train.features);
    add_targets(table, roles, kind, from, rows);
    tell_where(rows, files[0], request);
    draw_parts(rows, options, set);
    return set;
  }
  LibsvmTable test = read_libsvm(csv_opener(files[1])(), observer, memory_of(options));
  const Index features = std::max(train.features, test.features);
  const CsvTable test_table = targets_of(files[1], test);
  set.train = features_of(train, features);
  set.test = features_of(test, features);
  add_targets(table, roles, kind, from, set.train);
  add_targets(test_table, roles, kind, from, set.test);
  tell_where(set.train, files[0], request);
  tell_where(set.test, files[1], request);
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
