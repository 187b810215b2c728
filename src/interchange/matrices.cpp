// SPDX-License-Identifier: Apache-2.0
// Networks as one matrix a file: SciPy's npz, Matrix Market, and the text files of SNICIT's networks.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "base/error.h"
#include "interchange/stored_layers.h"
#include "interchange/text_matrices.h"
#include "io/atomic_file.h"
#include "io/npy.h"

namespace filigree::internal {

namespace {

namespace fs = std::filesystem;

// "layer-1.npz" of layer-1.npz.gz.
std::string without(std::string name, std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings)
    if (name.ends_with(ending)) name.erase(name.size() - ending.size());
  return name;
}

std::vector<double> numbers_of(const NpyArray& array, const std::string& name) {
  std::vector<double> numbers(array.bytes.begin(), array.bytes.end());
  numbers.insert(numbers.end(), array.floats.begin(), array.floats.end());
  std::size_t longest = 1;
  for (const std::uint64_t extent : array.shape) longest = std::max<std::size_t>(longest, extent);
  if (longest != numbers.size()) fail("{}: biases in more than one dimension", name);
  return numbers;
}

// Next to a matrix: its name with .bias.npy, _bias.npy or .bias.mtx.
std::vector<double> bias_beside(const fs::path& file) {
  const fs::path stem =
      file.parent_path() / without(file.filename().string(), {".gz", ".zst", ".npz", ".mtx"});
  for (const char* const ending : {".bias.npy", "_bias.npy"})
    if (const auto found = find_file(stem.string() + ending))
      return numbers_of(read_npy(Source(*found)), found->string());
  if (const auto found = find_file(stem.string() + ".bias.mtx")) {
    const Weights column = read_matrix_market(Source(*found));
    if (column.rows != 1 && column.cols != 1)
      fail("{}: biases of {} × {}", found->string(), column.rows, column.cols);
    std::vector<double> bias(std::max(column.rows, column.cols), 0.0);
    for (Index r = 0; r < column.rows; ++r)
      for (Offset e = column.row_begin[r]; e < column.row_begin[r + std::size_t{1}]; ++e)
        bias[column.rows == 1 ? column.column[e] : r] = column.value[e];
    return bias;
  }
  return {};
}

StoredLayer read_one(const fs::path& file) {
  StoredLayer layer{file.filename().string()};
  Source source(file);
  std::array<std::byte, 2> start{};
  if (source.read(start) == 2 && start[0] == std::byte{'P'} && start[1] == std::byte{'K'}) {
    NpzMatrix npz = read_npz_matrix(Source(file));
    layer.weights = to_weights(npz.matrix.view());
    if (npz.bias) layer.bias = numbers_of(*npz.bias, file.string());
  } else {
    layer.weights = read_matrix_market(Source(file));
  }
  if (std::vector<double> bias = bias_beside(file); !bias.empty()) {
    if (!layer.bias.empty()) fail("{}: biases in it, and next to it as well", file.string());
    layer.bias = std::move(bias);
  }
  return layer;
}

// Without zeros, one layer after the other.
Imported imported(std::vector<StoredLayer> layers, ModelForm form, const std::string& name,
                  const ImportOptions& options, std::vector<std::string> notes) {
  Offset stored = 0, zeros = 0;
  for (StoredLayer& layer : layers) {
    stored += std::ssize(layer.weights.column);
    drop_zeros(layer.weights, options.keep_zeros, zeros);
  }
  Network network = network_of(layers, options, name, notes);
  return {std::move(network), form, stored, zeros, std::move(notes)};
}

// What follows "weights-l" and a number in the name of a file: 3 and "sparse" of weights-l3-sparse.tsv.gz.
struct TextLayerName {
  int number = 0;
  bool sparse = false;
};
std::optional<TextLayerName> text_layer_name(const std::string& file) {
  constexpr std::string_view kStart = "weights-l";
  if (!file.starts_with(kStart)) return std::nullopt;
  TextLayerName name;
  const char* const begin = file.data() + kStart.size();
  const auto [end, status] = std::from_chars(begin, file.data() + file.size(), name.number);
  const std::string_view rest(end, file.data() + file.size());
  if (status != std::errc() || name.number < 1) return std::nullopt;
  name.sparse = rest.starts_with("-sparse.tsv");
  if (!name.sparse && !rest.starts_with("-dense.tsv")) return std::nullopt;
  return name;
}

Weights dense_by_input(const std::vector<double>& values, Index outputs, const std::string& name) {
  if (outputs == 0 || values.empty() || values.size() % outputs != 0)
    fail("{}: {} weights for {} outputs", name, values.size(), outputs);
  Weights weights{static_cast<Index>(values.size() / outputs), outputs};
  weights.value = values;
  for (Index r = 0; r < weights.rows; ++r) {
    for (Index c = 0; c < outputs; ++c) weights.column.push_back(c);
    weights.end_row();
  }
  return weights;
}

}  // namespace

bool is_text_layers(const fs::path& directory) {
  return find_file(directory / "weights-l1-sparse.tsv") || find_file(directory / "weights-l1-dense.tsv");
}

std::vector<fs::path> matrix_files(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = without(entry.path().filename().string(), {".gz", ".zst"});
    const bool matrix = name.ends_with(".npz") || name.ends_with(".mtx");
    if (matrix && !name.ends_with(".bias.mtx")) files.push_back(entry.path());
  }
  std::ranges::sort(
      files, [](const fs::path& a, const fs::path& b) { return in_natural_order(a.string(), b.string()); });
  return files;
}

Imported read_matrices(const std::vector<fs::path>& files, const ImportOptions& options) {
  std::vector<StoredLayer> layers;
  bool market = true;
  for (const fs::path& file : files) {
    layers.push_back(read_one(file));
    market &= file.string().find(".mtx") != std::string::npos;
  }
  std::vector<std::string> notes;
  const std::string name = files.size() == 1 ? files.front().string() : files.front().parent_path().string();
  try {
    orient(layers, options, notes);
  } catch (const Error& error) {
    if (error.setting() != nullptr && *error.setting() != 0)
      fail_for(error.setting(), "{}: {}", name, error.what());
    fail("{}: {}", name, error.what());
  }
  return imported(std::move(layers), market ? ModelForm::matrix_market : ModelForm::scipy, name, options,
                  std::move(notes));
}

Imported read_text_layers(const fs::path& directory, const ImportOptions& options) {
  std::map<int, std::pair<fs::path, bool>> files;
  for (const auto& entry : fs::directory_iterator(directory))
    if (const auto name = text_layer_name(entry.path().filename().string()))
      if (!files.emplace(name->number, std::pair(entry.path(), name->sparse)).second)
        fail("{}: two files of weights of layer {}", directory.string(), name->number);
  std::vector<StoredLayer> layers;
  Index width = 0;
  for (const auto& [number, file] : files) {
    if (number != static_cast<int>(layers.size()) + 1)
      fail("{}: layer {} follows layer {}", directory.string(), number, layers.size());
    const std::string stem = fmt::format("biases-l{}-{}.tsv", number, file.second ? "sparse" : "dense");
    const auto biases = find_file(directory / stem);
    if (!biases) fail("{}: there is no {}", directory.string(), stem);
    StoredLayer layer{file.first.filename().string()};
    layer.bias = read_numbers(Source(*biases));
    const auto outputs = static_cast<Index>(layer.bias.size());
    if (file.second && width == 0) fail("{}: how many inputs there are is not known", file.first.string());
    layer.weights = file.second
                        ? read_triples(Source(file.first), width, outputs)
                        : dense_by_input(read_numbers(Source(file.first)), outputs, file.first.string());
    layer.weights = transposed(layer.weights);
    if (width != 0 && layer.weights.cols != width)
      fail("{}: {} inputs, but the layer before has {} outputs", file.first.string(), layer.weights.cols,
           width);
    width = outputs;
    layers.push_back(std::move(layer));
  }
  return imported(std::move(layers), ModelForm::text, directory.string(), options, {});
}

void write_matrices(const fs::path& directory, const Network& network, const ExportOptions& options) {
  const std::vector<LayerPointer> layers = plain_layers(network, "a directory of matrices");
  if (!network.facts().scaling.none()) fail("matrices have no place for the scaling of inputs: export ONNX");
  make_directory(directory);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const fs::path stem = directory / fmt::format("layer-{}", l + 1);
    if (options.form == ModelForm::matrix_market)
      write_matrix_market(stem.string() + ".mtx", layers[l]->weights.view());
    else
      write_npz_matrix(stem.string() + ".npz", layers[l]->weights.view());
    write_npy(stem.string() + ".bias.npy", layers[l]->bias, 1);
  }
}

}  // namespace filigree::internal
