// SPDX-License-Identifier: Apache-2.0
#include "filigree/predict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "base/error.h"
#include "base/parallel.h"
#include "base/system.h"
#include "data/dataset_sources.h"
#include "data/table_encode.h"
#include "filigree/plan.h"
#include "infer/known_table.h"
#include "infer/outputs.h"
#include "io/atomic_file.h"
#include "io/csv.h"
#include "io/file_kind.h"
#include "io/idx.h"
#include "io/libsvm.h"
#include "io/npy.h"
#include "network/network.h"

namespace filigree {

using namespace internal;

namespace {

void set_shape(InputTable& table, const std::string& name, std::size_t rows, std::size_t values) {
  constexpr std::size_t kMost = 0x7fffffff;
  const std::size_t columns = rows == 0 ? 0 : values / rows;
  if (rows == 0 || columns == 0) fail("{}: no values", name);
  if (rows > kMost || columns > kMost) fail("{}: {} rows of {} values", name, rows, columns);
  table.rows = rows;
  table.columns = columns;
}

// Sparse rows as dense ones of `width` columns.
InputTable dense_rows(const DataRows& rows, std::size_t width, const std::string& name,
                      std::uint64_t memory_limit) {
  InputTable table;
  const std::uint64_t bytes = std::uint64_t{1} * rows.rows * width * sizeof(float);
  if (bytes > memory_limit)
    fail_for("memory_limit", "{}: {} rows of {} features take {} bytes, but the memory limit is {}", name,
             rows.rows, width, bytes, memory_limit);
  table.floats.assign(rows.rows * width, 0.0f);
  for (std::size_t r = 0; r + 1 < rows.row_begin.size(); ++r)
    for (Offset e = rows.row_begin[r]; e < rows.row_begin[r + 1]; ++e)
      table.floats[r * width + rows.column[e]] = rows.value[e];
  set_shape(table, name, rows.rows, table.floats.size());
  return table;
}

InputTable read_csv_inputs(const Network& network, const std::function<Source()>& open,
                           const InputOptions& options, std::uint64_t memory_limit,
                           const Observer& observer) {
  const KnownTable known = known_table(network);
  DataOptions data;
  data.label_column = options.leave_out;
  ColumnRoles roles;
  std::vector<std::string> names = option_names(data);
  CsvTable csv = read_csv(
      open, {options.table, names, memory_limit},
      [&](const CsvHeader& header) {
        roles = match_roles(header, known.columns, data, false);
        warn_of_unknown(header, roles, observer);
        return uses_of(header, roles, known.columns);
      },
      observer);
  DataRows rows = encode_rows(csv, roles, known.columns.inputs);
  if (rows.sparse()) return dense_rows(rows, rows.features, csv.header.file, memory_limit);
  InputTable table;
  table.floats.assign(rows.floats.begin(), rows.floats.end());
  set_shape(table, csv.header.file, rows.rows, table.floats.size());
  return table;
}

InputTable dense_table(NpyArray array, const std::string& name) {
  if (array.shape.size() < 2)
    fail("{}: {} dimensions, but rows and columns are needed", name, array.shape.size());
  InputTable table;
  table.bytes = std::move(array.bytes);
  table.floats = std::move(array.floats);
  set_shape(table, name, array.shape[0], table.bytes.size() + table.floats.size());
  return table;
}

InputTable read_table(const Network& network, FileKind kind, const std::function<Source()>& open,
                      const InputOptions& options, std::uint64_t memory_limit, const Observer& observer) {
  if (kind == FileKind::csv) return read_csv_inputs(network, open, options, memory_limit, observer);
  Source source = open();
  const std::string name = source.name();
  DataRows rows;
  switch (kind) {
    case FileKind::npy:
      return dense_table(read_npy(std::move(source)), name);
    case FileKind::npz: {
      NpzTable npz = read_npz(std::move(source));
      if (!npz.sparse()) return dense_table(std::move(npz.dense), name);
      rows.rows = std::ssize(npz.row_begin) - 1;
      rows.row_begin = std::move(npz.row_begin);
      rows.column = buffer_of(npz.column);
      rows.value = buffer_of(npz.value);
      return dense_rows(rows, npz.columns, name, memory_limit);
    }
    case FileKind::idx: {
      IdxArray array = read_idx(std::move(source));
      if (array.dims.size() < 2) fail("{}: one dimension, but rows and columns are needed", name);
      InputTable table;
      table.bytes = std::move(array.data);
      set_shape(table, name, array.dims[0], table.bytes.size());
      return table;
    }
    case FileKind::libsvm: {
      LibsvmTable sparse = read_libsvm(std::move(source), observer);
      rows.rows = std::ssize(sparse.line);
      rows.row_begin = std::move(sparse.row_begin);
      rows.column = std::move(sparse.column);
      rows.value = std::move(sparse.value);
      // Columns beyond a sparse file's last are zero.
      return dense_rows(rows, std::max(sparse.features, network.inputs()), name, memory_limit);
    }
    case FileKind::csv:
      break;
  }
  return {};
}

void check_columns(const Network& network, const InputTable& inputs, const std::string& name) {
  if (inputs.columns != network.inputs())
    fail("{}: rows of {} values, but the network has {} inputs", name, inputs.columns, network.inputs());
}

bool ends_with(const std::filesystem::path& path, std::string_view ending) {
  return path.filename().string().ends_with(ending);
}

// As a cell of a CSV file.
std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell.append(c == '"' ? 2 : 1, c);
  return cell + '"';
}

std::string header_of(const Predictions& p) {
  std::string text;
  switch (p.task) {
    case Task::classes:
      text = "class";
      break;
    case Task::labels:
      text = "labels";
      break;
    case Task::values:
      for (Index o = 0; o < p.outputs; ++o)
        text.append(o == 0 ? "" : ",").append(p.names.empty() ? fmt::format("y{}", o) : csv_cell(p.name(o)));
      return text;
  }
  for (Index o = 0; o < p.outputs; ++o)
    text += fmt::format(",{}", csv_cell(fmt::format("{}{}", p.probabilities ? 'p' : 'y', p.name(o))));
  return text;
}

// What comes before the numbers of a row.
std::string answer_of(const Predictions& p, Index row) {
  switch (p.task) {
    case Task::classes:
      return fmt::format("{},", p.best[row] < 0 ? "nan" : csv_cell(p.name(p.best[row])));
    case Task::labels: {
      std::string names;
      for (Index o = 0; o < p.outputs; ++o)
        if (p.holds(row, o)) names += fmt::format("{}{}", names.empty() ? "" : "|", p.name(o));
      return fmt::format("{},", csv_cell(names));
    }
    case Task::values:
      return "";
  }
  return "";
}

void write_csv(const std::filesystem::path& path, const Predictions& predictions) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  const std::size_t width = predictions.outputs;
  AtomicFile file(path);
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{}\n", header_of(predictions));
  for (Index r = 0; r < predictions.rows; ++r) {
    fmt::format_to(out, "{}", answer_of(predictions, r));
    for (std::size_t o = 0; o < width; ++o)
      fmt::format_to(out, "{}{}", o == 0 ? "" : ",", predictions.values[r * width + o]);
    text.push_back('\n');
    if (text.size() < kBlock) continue;
    file.write(std::string_view(text.data(), text.size()));
    text.clear();
  }
  file.write(std::string_view(text.data(), text.size()));
  file.commit();
}

}  // namespace

InputTable read_inputs(const Network& network, const std::filesystem::path& path, const InputOptions& options,
                       const Observer& observer) {
  const std::uint64_t memory_limit = memory_limit_or_usual(options.memory_limit);
  const std::filesystem::path found = find_file(path).value_or(path);
  const std::string name = path == "-" ? "standard input" : path.string();
  ByteString contents;  // of a pipe, which can be read only once
  std::function<Source()> open = [&] { return open_data(path.string(), memory_limit); };
  if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found)) {
    Source source(found, memory_limit);
    contents = read_all(source);
    open = [&] { return Source(contents.view(), name, memory_limit); };
  }
  InputTable inputs = read_table(network, file_kind(open()), open, options, memory_limit, observer);
  check_columns(network, inputs, name);
  return inputs;
}

Predictions predict(const Plan& plan, const InputTable& inputs, const PredictOptions& options,
                    const Observer& observer) {
  if (inputs.columns != plan.inputs())
    fail("rows of {} values, but the network has {} inputs", inputs.columns, plan.inputs());
  const std::size_t size = static_cast<std::size_t>(inputs.rows) * inputs.columns;
  if (inputs.bytes.size() + inputs.floats.size() != size || (!inputs.bytes.empty() && !inputs.floats.empty()))
    throw std::invalid_argument(fmt::format("{} bytes and {} floats for {} rows of {}", inputs.bytes.size(),
                                            inputs.floats.size(), inputs.rows, inputs.columns));
  const std::optional<Loss> loss = plan.facts().loss;
  Predictions result;
  result.task = task_of(plan.facts(), plan.outputs());
  result.rows = inputs.rows;
  result.outputs = plan.outputs();
  result.names = plan.facts().output_names;
  result.probabilities = !options.raw && loss.has_value() && result.task != Task::values;
  result.values = inputs.bytes.empty() ? plan.run(std::span(inputs.floats), observer)
                                       : plan.run(std::span(inputs.bytes), observer);
  const std::size_t width = result.outputs;
  if (!options.any_value)
    for (std::size_t i = 0; i < result.values.size(); ++i)
      if (!std::isfinite(result.values[i]))
        fail("output {} of row {} is {}: the input is too large for the network, or the network is damaged",
             i % width, i / width + 1, result.values[i]);
  const bool by_one = result.probabilities && result.task == Task::classes && width == 1;
  if (by_one) result.outputs = 2;
  if (result.task == Task::classes) result.best.resize(inputs.rows);
  std::vector<float> both(by_one ? 2 * result.best.size() : 0);
  parallel_for(inputs.rows, 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const auto row = std::span(result.values).subspan(r * width, width);
      if (result.task == Task::classes) result.best[r] = best_class(row, result.outputs);
      if (by_one)
        class_probabilities(output_link(*loss), row, std::span(both).subspan(2 * r, 2));
      else if (result.probabilities)
        apply_link(output_link(*loss), row);
    }
  });
  if (by_one) result.values = std::move(both);
  return result;
}

bool Predictions::holds(Index row, Index label) const {
  return values[row * std::size_t{1} * outputs + label] > (probabilities ? 0.5f : 0.0f);
}

void write_predictions(const std::filesystem::path& path, const Predictions& predictions) {
  if (ends_with(path, ".npy") || ends_with(path, ".npy.gz")) {
    write_npy(path, predictions.values, predictions.outputs);
  } else {
    write_csv(path, predictions);
  }
}

}  // namespace filigree
