// SPDX-License-Identifier: Apache-2.0
// Data sets from NumPy's and SciPy's files: rows in one array, what is to be told of each in another.
#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/system.h"
#include "data/dataset_sources.h"
#include "data/split.h"
#include "data/table_targets.h"
#include "io/file_kind.h"
#include "io/npy.h"

namespace filigree::internal {
namespace {

Source source_of(const std::string& file, const DataOptions& options) {
  return open_data(file, memory_limit_or_usual(options.memory_limit));
}

DataRows dense_rows(NpyRows array, const std::string& file) {
  constexpr std::size_t kMost = std::numeric_limits<Index>::max();
  const std::size_t values = array.bytes.size() + array.floats.size();
  if (array.shape.size() < 2 || values == 0)
    fail("{}: {} dimensions and {} values, but rows and columns are needed", file, array.shape.size(),
         values);
  if (array.shape[0] > kMost || values / array.shape[0] > kMost)
    fail("{}: {} rows of {} values", file, array.shape[0], values / array.shape[0]);
  DataRows rows;
  rows.rows = static_cast<Index>(array.shape[0]);
  rows.features = static_cast<Index>(values / array.shape[0]);
  rows.bytes = std::move(array.bytes);
  rows.floats = std::move(array.floats);
  return rows;
}

DataRows rows_of(NpzTable& table, const std::string& file) {
  if (!table.sparse())
    return dense_rows({table.dense.shape, buffer_of(table.dense.bytes), buffer_of(table.dense.floats)}, file);
  DataRows rows;
  rows.rows = static_cast<Index>(table.row_begin.size()) - 1;
  rows.features = table.columns;
  rows.row_begin = std::move(table.row_begin);
  rows.column = buffer_of(table.column);
  rows.value = buffer_of(table.value);
  return rows;
}

// Targets as the columns of a table: a row of the array stands for a line.
CsvTable targets_of(const NpyArray& array, Index rows, const std::string& file) {
  const std::size_t values = array.bytes.size() + array.floats.size();
  const std::size_t columns = rows < 1 ? 0 : values / static_cast<std::size_t>(rows);
  if (columns == 0 || array.shape.empty() || array.shape.size() > 2 ||
      array.shape[0] != static_cast<std::uint64_t>(rows))
    fail("{}: targets of shape {} for {} rows", file, fmt::join(array.shape, "x"), rows);
  CsvTable table;
  table.header = {file, 0, columns, {}};
  table.target.resize(columns);
  for (std::size_t c = 0; c < columns; ++c) table.columns.push_back({ColumnUse::target, c});
  for (std::size_t i = 0; i < values; ++i)
    table.target[i % columns].add_number(array.bytes.empty() ? array.floats[i] : array.bytes[i]);
  for (Index r = 0; r < rows; ++r) table.line.push_back(r);
  return table;
}

// Rows and targets of one part, from an archive or two files.
struct NumpyPart {
  DataRows rows;
  CsvTable targets;
};

NumpyPart part_of(DataRows rows, const NpyArray& target, const std::string& target_file) {
  NumpyPart part;
  part.rows = std::move(rows);
  part.targets = targets_of(target, part.rows.rows, target_file);
  return part;
}

NumpyPart read_npz_part(const std::string& file, const DataOptions& options) {
  NpzTable table = read_npz(source_of(file, options));
  if (!table.target)
    fail(
        "{}: no array is called y, label or target, which would say what there is to learn; "
        "npy:ROWS,TARGETS takes it from a file of its own",
        file);
  return part_of(rows_of(table, file), *table.target, file);
}

NumpyPart read_npy_part(const std::string& file, const std::string& target_file, const DataOptions& options) {
  const NpyArray target = read_npy(source_of(target_file, options));
  if (file_kind(open_data(file)) == FileKind::npz) {
    NpzTable table = read_npz(source_of(file, options));
    return part_of(rows_of(table, file), target, target_file);
  }
  NpyRows rows = read_npy_rows(open_data(file), memory_limit_or_usual(options.memory_limit) / 4);
  return part_of(dense_rows(std::move(rows), file), target, target_file);
}

Dataset set_of(NumpyPart train, std::optional<NumpyPart> test, const std::string& file,
               const LoadRequest& request) {
  ColumnRoles roles;
  for (std::size_t c = 0; c < train.targets.columns.size(); ++c) roles.targets.push_back(c);
  const TargetKind kind = find_targets(train.targets, roles, request.options.task, request.known);
  Dataset set = described(file, kind);
  const std::string known = known_from(request.known, train.targets.header.file);
  add_targets(train.targets, roles, kind, known, train.rows);
  tell_where(train.rows, file, request);
  if (!test) {
    draw_parts(train.rows, request.options, set);
    return set;
  }
  if (test->rows.features != train.rows.features)
    fail("{}: rows of {} values, but {} has {}", test->targets.header.file, test->rows.features, file,
         train.rows.features);
  if (test->targets.columns.size() != train.targets.columns.size())
    fail("{}: {} targets a row, but {} has {}", test->targets.header.file, test->targets.columns.size(), file,
         train.targets.columns.size());
  add_targets(test->targets, roles, kind, known, test->rows);
  set.train = std::move(train.rows);
  set.test = std::move(test->rows);
  return set;
}

}  // namespace

Dataset load_npy(Names files, const LoadRequest& request) {
  const DataOptions& options = request.options;
  NumpyPart train = read_npy_part(files[0], files[1], options);
  request.observer.check_stop();
  std::optional<NumpyPart> test;
  if (files.size() > 2) test = read_npy_part(files[2], files[3], options);
  return set_of(std::move(train), std::move(test), files[0], request);
}

Dataset load_npz(Names files, const LoadRequest& request) {
  const DataOptions& options = request.options;
  NumpyPart train = read_npz_part(files[0], options);
  request.observer.check_stop();
  std::optional<NumpyPart> test;
  if (files.size() > 1) test = read_npz_part(files[1], options);
  return set_of(std::move(train), std::move(test), files[0], request);
}

}  // namespace filigree::internal
