// SPDX-License-Identifier: Apache-2.0
// Networks in the formats of other programs: ONNX, state dicts of PyTorch, matrices of SciPy, Matrix Market
// and text. load() reads them all as these functions do without options.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "filigree/network.h"

#pragma GCC visibility push(default)
namespace filigree {

enum class ModelForm {
  filigree,       // safetensors, as docs/FORMAT.md says
  onnx,           // one file
  state_dict,     // safetensors of PyTorch: 0.weight, 0.bias, …
  scipy,          // a directory of npz files, as scipy.sparse.save_npz writes them, or one
  matrix_market,  // a directory of mtx files, or one
  text,           // a directory of weights-lK-sparse.tsv, biases-lK-sparse.tsv, …
  challenge,      // a directory in the official layout of the Sparse DNN Graph Challenge
};
template <>
struct Words<ModelForm> {
  static constexpr std::array<std::string_view, 7> kWords = {"filigree",      "onnx", "state-dict", "scipy",
                                                             "matrix-market", "text", "challenge"};
};

// Which way a matrix stands in a file that does not say.
enum class Orientation {
  automatic,  // whichever lets the layers follow each other; outputs by inputs where both do
  out_in,     // a row for each output
  in_out,     // a row for each input
};
template <>
struct Words<Orientation> {
  static constexpr std::array<std::string_view, 3> kWords = {"auto", "out-in", "in-out"};
};

// What other programs' files do not say.
struct ImportOptions {
  ActivationFunction hidden =
      Activation::relu;  // of every layer but the last, where the file has no activations
  ActivationFunction last = Activation::identity;  // of the last one
  std::optional<Loss> loss = {};                   // what the outputs mean; else as the file says, if it does
  Orientation orientation = Orientation::automatic;
  bool bias_row = false;  // matrices: the last row (in-out) or column (out-in) holds the biases
  double epsilon = 1e-5;  // state dicts: of batch normalisation
  double input_scale =
      1;  // by which inputs are multiplied first: 1/255 for pixels that were trained on as 0 to 1
  bool keep_zeros = false;  // connections whose weight is zero stay
};

struct Imported {
  Network network;
  ModelForm form = ModelForm::filigree;
  Offset stored = 0;  // weights in the file
  Offset zeros = 0;   // of those, zeros: left out unless they were to be kept
  std::vector<std::string> notes =
      {};  // what was taken for granted, and what is not computed as it was there
};

// Recognises files by what they hold. Throws Error where something cannot be read, or not be computed here.
[[nodiscard]] Imported import_network(const std::filesystem::path& path, const ImportOptions& options = {});

struct ExportOptions {
  std::optional<ModelForm> form =
      {};                   // else by the name's end: .onnx, .safetensors, .npz; a directory: scipy
  std::int64_t opset = 17;  // of ONNX, from 13 on
  bool sparse = false;      // ONNX: weights as sparse initialisers; else full matrices
};
// Throws Error where the form cannot say what the network does.
void export_network(const Network& network, const std::filesystem::path& path,
                    const ExportOptions& options = {});

}  // namespace filigree
#pragma GCC visibility pop
