// SPDX-License-Identifier: Apache-2.0
// Networks from files and into them, whatever they are kept in: the form is told by what a file holds.
#include <array>
#include <cstring>

#include "base/error.h"
#include "interchange/interchange.h"
#include "interchange/onnx_model.h"
#include "io/challenge_files.h"
#include "io/safetensors.h"
#include "network/challenge.h"
#include "network/model_file.h"

namespace filigree {

using namespace internal;

namespace {

namespace fs = std::filesystem;

// The neurons of the only network that a directory in the official layout holds.
Index only_size(const fs::path& directory) {
  const std::vector<Index> sizes = challenge_sizes(directory);
  if (sizes.size() == 1) return sizes.front();
  if (sizes.empty())
    fail(
        "{}: neither a model.safetensors, layers of a challenge (neuronN/nN-l1.tsv), matrices (npz, mtx) nor "
        "weights-l1-….tsv are in this directory",
        directory.string());
  throw std::invalid_argument(fmt::format("{}: holds networks of {} neurons; choose one of them",
                                          directory.string(), fmt::join(sizes, ", ")));
}

Imported challenge(const fs::path& directory, Index neurons, Index layers) {
  if (neurons == 0) neurons = only_size(directory);
  return {Network({std::make_shared<ChallengeFiles>(directory, neurons, layers)}), ModelForm::challenge};
}

// Safetensors of our own, or a state dict.
Imported from_safetensors(const fs::path& path, const ImportOptions& options) {
  bool ours = false;
  try {
    (void)read_safetensors(Source(path), [&](const TensorFile& header) {
      ours = header.metadata().contains("format") && header.metadata("format").starts_with("filigree");
      throw Cancelled();  // the header was enough
    });
  } catch (const Cancelled&) {  // NOLINT(bugprone-empty-catch)
  }
  if (ours) return {read_model(path), ModelForm::filigree};
  return read_state_dict(Source(path), options);
}

Imported from_directory(const fs::path& path, const ImportOptions& options) {
  if (fs::exists(path / "model.safetensors")) return import_network(path / "model.safetensors", options);
  if (!challenge_sizes(path).empty()) return challenge(path, 0, 0);
  if (is_text_layers(path)) return read_text_layers(path, options);
  if (const std::vector<fs::path> files = matrix_files(path); !files.empty())
    return read_matrices(files, options);
  return challenge(path, 0, 0);  // says what could be there
}

bool begins_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

ModelForm form_of(const fs::path& path, const ExportOptions& options) {
  if (options.form) return *options.form;
  const std::string name = path.filename().string();
  if (name.ends_with(".onnx")) return ModelForm::onnx;
  if (name.ends_with(".safetensors")) return ModelForm::filigree;
  if (path.extension().empty()) return ModelForm::scipy;
  throw std::invalid_argument(fmt::format(
      "{}: a network is written as .safetensors, as .onnx, or as a directory of matrices", path.string()));
}

}  // namespace

namespace {

Imported read_any(const fs::path& path, const ImportOptions& options) {
  if (fs::is_directory(path)) return from_directory(path, options);
  std::array<std::byte, 16> start{};
  Source source(path);
  const std::span<const std::byte> seen = std::span(start).first(source.read(start));
  constexpr std::string_view kArchive = "PK\x03\x04", kMarket = "%%MatrixMarket", kPickle = "\x80\x02";
  if (begins_with(seen, kArchive)) {
    const std::string name = path.filename().string();
    if (name.ends_with(".pt") || name.ends_with(".pth"))
      fail("{}: files of torch.save are read in Python alone: filigree_nn.torch.load_state_dict",
           path.string());
    if (name.ends_with(".keras"))
      fail("{}: files of Keras are read in Python: filigree_nn.keras.from_keras", path.string());
    return read_matrices({path}, options);
  }
  if (begins_with(seen, kMarket)) return read_matrices({path}, options);
  if (begins_with(seen, kPickle))
    fail("{}: files of torch.save are read in Python alone: filigree_nn.torch.load_state_dict",
         path.string());
  if (seen.size() > 8 && seen[8] == std::byte{'{'}) return from_safetensors(path, options);
  if (looks_like_onnx(seen)) {
    Source whole(path);
    const ByteString bytes = read_all(whole);
    return read_onnx(bytes.view(), path.string(), path.has_parent_path() ? path.parent_path() : ".", options);
  }
  return {read_model(path), ModelForm::filigree};  // says what is wrong
}

Imported with_scaled_inputs(Imported imported, double scale) {
  Network::Parts parts = imported.network.parts();
  if (!parts.facts.scaling.none())
    fail("the network scales its inputs already: an input scale of {} has no place", scale);
  parts.facts.scaling.scale = {static_cast<float>(scale)};
  imported.network = Network(std::move(parts));
  return imported;
}

}  // namespace

Imported import_network(const fs::path& path, const ImportOptions& options) {
  Imported imported = read_any(path, options);
  return options.input_scale == 1 ? imported : with_scaled_inputs(std::move(imported), options.input_scale);
}

Network load(const fs::path& path, Index neurons, Index layers, const Observer& observer) {
  if (neurons < 0 || layers < 0)
    throw std::invalid_argument(fmt::format("{} layers of {} neurons", layers, neurons));
  if (neurons != 0 || layers != 0) {
    if (fs::is_directory(path)) return challenge(path, neurons, layers).network;
    throw std::invalid_argument(
        fmt::format("{} is a model file: it knows its own neurons and layers", path.string()));
  }
  Imported imported = import_network(path);
  for (const std::string& note : imported.notes) observer.warn(fmt::format("{}: {}", path.string(), note));
  return std::move(imported.network);
}

void save(const Network& network, const fs::path& path, const Observer& observer) {
  write_model(path, network, observer);
}

std::vector<std::byte> to_bytes(const Network& network) {
  std::vector<std::byte> bytes;
  write_model(bytes, network);
  return bytes;
}

Network from_bytes(std::span<const std::byte> bytes) {
  constexpr const char* kName = "model in memory";
  if (looks_like_onnx(bytes)) return read_onnx(bytes, kName, {}, {}).network;
  return read_model(Source(bytes, kName));
}

void export_network(const Network& network, const fs::path& path, const ExportOptions& options) {
  switch (form_of(path, options)) {
    case ModelForm::filigree:
      return save(network, path);
    case ModelForm::onnx:
      return write_onnx(path, network, options);
    case ModelForm::state_dict:
      return write_state_dict(path, network, options);
    case ModelForm::scipy:
    case ModelForm::matrix_market:
      return write_matrices(path, network, options);
    case ModelForm::text:
    case ModelForm::challenge:
      break;
  }
  throw std::invalid_argument("networks are read in that form, but not written");
}

}  // namespace filigree

namespace filigree::internal {

namespace {

// 0 and 1: which of `width` values each row is made of.
Layer choosing(Index rows, Index width, const std::vector<std::pair<Index, Index>>& entries) {
  CooMatrix chosen;
  chosen.rows = rows;
  chosen.cols = width;
  for (const auto& [row, column] : entries) {
    chosen.row.push_back(row);
    chosen.column.push_back(column);
    chosen.value.push_back(1);
  }
  return {to_csr(chosen), std::vector<float>(rows, 0.0f), Activation::identity};
}

}  // namespace

std::vector<LayerPointer> plain_layers(const Network& network, const char* what) {
  require_plain(network, what);
  std::vector<LayerPointer> layers = all_layers(network);
  const PortMap& ports = network.parts().ports;
  if (ports.empty()) return layers;
  std::vector<std::pair<Index, Index>> in, out;
  for (std::size_t i = 0; i < ports.input_of.size(); ++i)
    if (ports.input_of[i] >= 0) in.emplace_back(ports.input_of[i], static_cast<Index>(i));
  for (std::size_t o = 0; o < ports.output_of.size(); ++o)
    if (ports.output_of[o] >= 0) out.emplace_back(static_cast<Index>(o), ports.output_of[o]);
  Layer last = choosing(network.outputs(), layers.back()->outputs(), out);
  for (std::size_t o = 0; o < ports.output_of.size(); ++o)
    if (ports.output_of[o] < 0) last.bias[o] = ports.output_constant[o];
  layers.insert(layers.begin(),
                std::make_shared<const Layer>(choosing(layers.front()->inputs(), network.inputs(), in)));
  layers.push_back(std::make_shared<const Layer>(std::move(last)));
  return layers;
}

}  // namespace filigree::internal
