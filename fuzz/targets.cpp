// SPDX-License-Identifier: Apache-2.0
// The fuzz targets: read, then check what every caller relies on.
#include "fuzz/targets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "data/table_columns.h"
#include "data/table_encode.h"
#include "data/table_targets.h"
#include "interchange/interchange.h"
#include "interchange/text_matrices.h"
#include "io/challenge_files.h"
#include "io/csv.h"
#include "io/idx.h"
#include "io/libsvm.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "network/model_file.h"
#include "train/config.h"
#include "train/settings.h"
#include "train/state.h"

namespace filigree::fuzz {

using namespace internal;
namespace {

void require(bool condition, const char* promise) {
  if (!condition) throw std::logic_error(promise);
}

template <typename Columns>
bool sound_row(const Columns& columns, Index cols) {
  const bool ascending =
      std::adjacent_find(columns.begin(), columns.end(), std::greater_equal<>()) == columns.end();
  return ascending && (columns.empty() || (columns.front() >= 0 && columns.back() < cols));
}

void check_images(const InputRows& images, Index most) {
  require(images.rows <= most, "no more rows than there are images");
  require(images.row_begin.size() == static_cast<std::size_t>(images.rows) + 1,
          "one offset a row and one more");
  require(images.row_begin.front() == 0, "the first row begins at 0");
  require(static_cast<std::size_t>(images.nnz()) <= images.column.size(), "as many columns as entries");
  for (Index row = 0; row < images.rows; ++row) {
    require(sound_row(images.row_columns(row), images.cols), "columns ascend within range");
  }
}

template <typename Values>
void check_finite(const Values& values) {
  require(std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }),
          "values are finite");
}

void check_targets(const TargetCells& target, const std::vector<Offset>& line) {
  require(!line.empty() && target.number.size() == line.size(), "one target and one line a row");
  require(
      line.front() >= 1 && std::adjacent_find(line.begin(), line.end(), std::greater_equal<>()) == line.end(),
      "lines ascend from 1");
  require(target.many || target.words.code.size() == line.size(), "one word a row");
  for (const std::int32_t code : target.words.code)
    require(code >= -1 && code < static_cast<std::int32_t>(target.words.word.size()), "words are known");
}

}  // namespace

void layer_tsv(std::span<const std::byte> bytes) try {
  constexpr Index kNeurons = 64;
  const CsrMatrix layer = read_layer(Source(bytes, "fuzz"), kNeurons);
  require(layer.row_begin.size() == kNeurons + 1 && layer.row_begin.front() == 0,
          "one offset a row and one more");
  require(layer.row_begin.back() == layer.nnz() && layer.value.size() == layer.column.size(), "arrays agree");
  for (Index row = 0; row < kNeurons; ++row) {
    require(sound_row(layer.view().row_columns(row), kNeurons), "columns ascend within range");
  }
  check_finite(layer.value);
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

void images_tsv(std::span<const std::byte> bytes) try {
  constexpr Index kPixels = 300, kImages = 1000, kLimit = 7;
  const InputRows all = read_images(Source(bytes, "fuzz"), kPixels, {}, kImages);
  check_images(all, kImages);
  const InputRows few = read_images(Source(bytes, "fuzz"), kPixels, kLimit, kImages);
  check_images(few, kLimit);
  for (Index row = 0; row < few.rows; ++row) {
    require(std::ranges::equal(few.row_columns(row), all.row_columns(row)),
            "a limit changes no row it keeps");
  }
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

void idx(std::span<const std::byte> bytes) try {
  const IdxArray array = read_idx(Source(bytes, "fuzz"));
  require(!array.dims.empty() && array.dims.size() <= 4, "1 to 4 dimensions");
  std::size_t elements = 1;
  for (const std::uint32_t dim : array.dims) elements *= dim;
  require(array.data.size() == elements, "as many elements as the dimensions say");
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

void csv(std::span<const std::byte> bytes) try {
  const CsvTable table = read_csv([&] { return Source(bytes, "fuzz"); }, {TableOptions()},
                                  [](const CsvHeader& header) {
                                    std::vector<ColumnUse> uses(header.columns, ColumnUse::feature);
                                    if (uses.size() > 1) uses[1] = ColumnUse::target;
                                    if (uses.size() > 3) uses[3] = ColumnUse::skip;
                                    return uses;
                                  },
                                  {});
  for (const TargetCells& target : table.target) check_targets(target, table.line);
  require(table.number.size() == table.rows() * table.numbers, "as many numbers as rows and columns");
  require(std::ranges::none_of(table.number, [](float x) { return std::isinf(x); }), "finite, or missing");
  for (const Words32& text : table.text) {
    require(text.code.size() == table.rows(), "one word a row");
    for (const std::int32_t code : text.code)
      require(code >= 0 && code < static_cast<std::int32_t>(text.word.size()), "words are known");
  }
  require(table.header.names.empty() || table.header.names.size() == table.columns.size(),
          "a header names every column");
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

namespace {

// Every choice that there is, by the bits of a byte.
DataOptions table_options(unsigned bits) {
  constexpr std::array<char, 4> kSeparators = {0, ';', '\t', '|'};
  constexpr std::array<Header, 4> kHeaders = {Header::automatic, Header::automatic, Header::yes, Header::no};
  constexpr std::array<Missing, 4> kMissing = {Missing::mean, Missing::median, Missing::constant,
                                               Missing::refuse};
  DataOptions options;
  options.table.separator = kSeparators[bits & 3];
  options.table.header = kHeaders[bits >> 2 & 3];
  options.table.missing = kMissing[bits >> 4 & 3];
  options.table.mark_missing = (bits & 64) != 0;
  options.table.decimal_comma = (bits & 128) != 0;
  return options;
}

}  // namespace

void table(std::span<const std::byte> bytes) try {
  if (bytes.empty()) return;
  const DataOptions options = table_options(std::to_integer<unsigned>(bytes[0]));
  ColumnRoles roles;
  CsvTable table = read_csv([&] { return Source(bytes.subspan(1), "fuzz"); }, {options.table},
                            [&](const CsvHeader& header) {
                              roles = choose_roles(header, options);
                              return uses_of(header, roles, options);
                            },
                            {});
  const TargetKind kind = find_targets(table, roles, {});
  std::vector<Index> all(table.rows());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<InputColumn> columns = fit_columns(table, roles, all, options.table, {});
  Index features = 0;
  for (const InputColumn& column : columns) features += column.inputs();
  require(columns.size() == roles.features.size(), "a recipe for each column");
  DataRows rows = encode_rows(table, roles, columns);
  add_targets(table, roles, kind, "fuzz", rows);
  require(rows.rows == static_cast<Index>(all.size()) && rows.features == features, "rows and features");
  require(kind.task != Task::classes || rows.label.size() == all.size(), "a class for each row");
  check_finite(rows.floats);
  check_finite(rows.value);
  for (std::size_t r = 0; r + 1 < rows.row_begin.size(); ++r)
    require(sound_row(
                std::span(rows.column).subspan(rows.row_begin[r], rows.row_begin[r + 1] - rows.row_begin[r]),
                features),
            "columns ascend within range");
} catch (const Error&) {                  // NOLINT(bugprone-empty-catch)
} catch (const std::invalid_argument&) {  // NOLINT(bugprone-empty-catch)
}

void libsvm(std::span<const std::byte> bytes) try {
  const LibsvmTable table = read_libsvm(Source(bytes, "fuzz"), {});
  check_targets(table.target, table.line);
  check_finite(table.value);
  require(table.row_begin.size() == table.line.size() + 1 && table.row_begin.front() == 0,
          "one offset a row and one more");
  require(static_cast<std::size_t>(table.row_begin.back()) == table.column.size() &&
              table.column.size() == table.value.size(),
          "arrays agree");
  for (std::size_t row = 0; row + 1 < table.row_begin.size(); ++row) {
    const std::size_t begin = table.row_begin[row];
    const std::size_t end = table.row_begin[row + 1];
    require(sound_row(std::span(table.column).subspan(begin, end - begin), table.features),
            "columns ascend within range");
  }
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

namespace {

void check_array(const NpyArray& array) {
  std::size_t elements = 1;
  for (const std::uint64_t extent : array.shape) elements *= extent;
  require(array.bytes.size() + array.floats.size() == elements, "as many elements as the shape says");
  require(array.bytes.empty() || array.floats.empty(), "bytes or floats");
  check_finite(array.floats);
}

}  // namespace

void npy(std::span<const std::byte> bytes) try {
  const NpyArray array = read_npy(Source(bytes, "fuzz"));
  check_array(array);
  const NpyRows rows = read_npy_rows(Source(bytes, "fuzz"), std::uint64_t{1} << 30);
  require(rows.shape == array.shape && std::ranges::equal(rows.bytes, array.bytes) &&
              std::ranges::equal(rows.floats, array.floats),
          "rows are read as arrays are");
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

void npz(std::span<const std::byte> bytes) try {
  const NpzTable table = read_npz(Source(bytes, "fuzz"));
  if (table.target) check_array(*table.target);
  if (!table.sparse()) {
    check_array(table.dense);
    return;
  }
  require(table.column.size() == table.value.size() &&
              table.row_begin.back() == static_cast<Offset>(table.column.size()),
          "as many columns as values");
  for (std::size_t r = 0; r + 1 < table.row_begin.size(); ++r)
    for (Offset e = table.row_begin[r]; e < table.row_begin[r + 1]; ++e)
      require(table.column[e] >= 0 && table.column[e] < table.columns &&
                  (e == table.row_begin[r] || table.column[e - 1] < table.column[e]),
              "columns ascend within a row");
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

void safetensors(std::span<const std::byte> bytes) try {
  const TensorFile file = read_safetensors(Source(bytes, "fuzz"));
  std::size_t total = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    std::size_t expected = element_size(tensor.dtype);
    for (const std::uint64_t extent : tensor.shape) expected *= extent;
    require(tensor.bytes.size() == expected, "as many bytes as the shape says");
    total += expected;
    if (tensor.dtype == DType::f32) {
      require(file.get<float>(name, tensor.shape).size() * sizeof(float) == expected,
              "typed access sees them all");
    }
  }
  require(total < bytes.size(), "no more data than the file");
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

void model(std::span<const std::byte> bytes) try {
  const Network network = read_model(Source(bytes, "fuzz"));
  const std::vector<LayerPointer> layers = all_layers(network);
  const Network::Parts& parts = network.parts();
  require(!layers.empty(), "a model has layers");
  const auto check = [](const CsrMatrix& weights, const std::vector<float>& bias) {
    for (Index row = 0; row < weights.rows; ++row)
      require(sound_row(weights.view().row_columns(row), weights.cols), "columns ascend within range");
    require(bias.size() == static_cast<std::size_t>(weights.rows), "one bias a neuron");
  };
  for (const LayerPointer& pointer : layers) {
    const Layer& layer = *pointer;
    check(layer.weights, layer.bias);
    if (!layer.gate) continue;
    check(layer.gate->weights, layer.gate->bias);
    require(layer.experts() * layer.outputs() == layer.weights.rows, "experts of one size");
    require(layer.gate->active >= 1 && layer.gate->active <= layer.experts(), "some experts are active");
  }
  for (const ExitHead& exit : parts.exits) {
    check(exit.layer.weights, exit.layer.bias);
    require(exit.after >= 1 && exit.after < network.layers(), "exits before the end");
    require(exit.layer.inputs() == network.width(exit.after) && exit.layer.outputs() == network.outputs(),
            "exits read their level and say what the network says");
  }
  for (const Index to : parts.ports.input_of) require(to < network.width(0), "inputs lead to inputs");
  for (const Index to : parts.ports.output_of)
    require(to < network.width(network.layers()), "outputs come from neurons");
  for (const auto* scaling : {&parts.facts.scaling.mean, &parts.facts.scaling.scale}) {
    check_finite(*scaling);
    require(scaling->size() <= 1 || scaling->size() == static_cast<std::size_t>(network.inputs()),
            "one scaling for all inputs or each");
  }
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

namespace {

// Sound layers, which go into a file and come back.
void check_imported(const Imported& imported) {
  const std::vector<LayerPointer> layers = all_layers(imported.network);
  require(!layers.empty(), "an imported network has layers");
  Index width = imported.network.inputs();
  for (const LayerPointer& layer : layers) {
    require(layer->weights.cols == width, "layers follow each other");
    width = layer->outputs();
    require(layer->bias.size() == static_cast<std::size_t>(width), "one bias a neuron");
    for (Index row = 0; row < width; ++row)
      require(sound_row(layer->weights.view().row_columns(row), layer->weights.cols), "columns ascend");
    check_finite(layer->weights.value);
    check_finite(layer->bias);
  }
  require(width == imported.network.outputs(), "the last layer gives the outputs");
  require(from_bytes(to_bytes(imported.network)).layers() == imported.network.layers(), "it can be kept");
}

}  // namespace

void onnx(std::span<const std::byte> bytes) try {
  check_imported(read_onnx(bytes, "fuzz", {}, {}));
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

void state_dict(std::span<const std::byte> bytes) try {
  check_imported(read_state_dict(Source(bytes, "fuzz"), {}));
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

void matrix_market(std::span<const std::byte> bytes) try {
  const Weights weights = read_matrix_market(Source(bytes, "fuzz"));
  require(weights.row_begin.size() == static_cast<std::size_t>(weights.rows) + 1,
          "one offset a row and one more");
  require(weights.row_begin.back() == static_cast<Offset>(weights.column.size()) &&
              weights.column.size() == weights.value.size(),
          "arrays agree");
  for (Index row = 0; row < weights.rows; ++row)
    require(sound_row(std::span(weights.column)
                          .subspan(weights.row_begin[row],
                                   weights.row_begin[row + std::size_t{1}] - weights.row_begin[row]),
                      weights.cols),
            "columns ascend within range");
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

void npz_matrix(std::span<const std::byte> bytes) try {
  const NpzMatrix npz = read_npz_matrix(Source(bytes, "fuzz", std::uint64_t{1} << 28));
  validate(npz.matrix.view());
  check_finite(npz.matrix.value);
  if (npz.bias) check_array(*npz.bias);
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

void config(std::span<const std::byte> bytes) try {
  const TrainConfig config = parse_config(Source(bytes, "fuzz"), {});
  check_settings(config.options);
  const std::string text = to_toml(config);
  TrainConfig again;
  try {
    again = parse_config(Source(std::as_bytes(std::span(text)), "written"), {});
  } catch (const Error& error) {
    throw std::logic_error(error.what());
  }
  require(again.options == config.options, "settings survive writing and reading");
  require(again.data.source == config.data.source && again.data.label_column == config.data.label_column &&
              again.data.test_share == config.data.test_share && again.data.seed == config.data.seed,
          "so does where the data come from");
} catch (const Error&) {  // NOLINT(bugprone-empty-catch)
}

void checkpoint(std::span<const std::byte> bytes) try {
  const TrainState state = checkpoint_state(read_safetensors(Source(bytes, "fuzz")), {});
  check_settings(state.options);
  require(!state.layers.empty(), "a checkpoint has layers");
  require(state.step >= 0 && state.step_in_epoch >= 0 && state.best_epoch >= 0, "counts are counts");
  for (const TrainLayer& layer : state.layers) check_finite(layer.bias);
} catch (const Error&) {                  // NOLINT(bugprone-empty-catch)
} catch (const std::invalid_argument&) {  // NOLINT(bugprone-empty-catch)
}

}  // namespace filigree::fuzz
