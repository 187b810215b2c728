// SPDX-License-Identifier: Apache-2.0
// Model files: a network as one safetensors file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "io/source.h"
#include "network/layer.h"

namespace filigree {

// A head that may end the computation early: it reads what the first `after` layers make of a row.
struct ExitHead {
  Index after = 0;
  Layer layer;
};

// The contents of a model file. A compiled model maps the outer inputs and outputs onto its own; in others
// the maps are empty.
struct Model {
  std::vector<Layer> layers;
  std::vector<Index> input_of;         // per outer input: the input it is added to, or -1
  std::vector<Index> output_of;        // per outer output: the neuron that holds it, or -1
  std::vector<float> output_constant;  // its value where output_of is -1
  // What is done to each outer input before everything else: (x - mean) * scale. Each is empty, one value for
  // all inputs, or one per outer input.
  std::vector<float> input_mean = {}, input_scale = {};
  std::string loss = {};  // what it was trained for: "cross-entropy", "mse", or "" if that is not known
  std::vector<Index> class_label = {};  // what its data called each class; empty: 0, 1, …
  std::vector<ExitHead> exits = {};     // in the order of the layers; with the outputs of the network
  DataOrigin origin = {};               // of its training data

  std::size_t inputs() const {  // outer ones
    return input_of.empty() ? static_cast<std::size_t>(layers.front().inputs()) : input_of.size();
  }
  std::size_t outputs() const {
    return input_of.empty() ? static_cast<std::size_t>(layers.back().outputs()) : output_of.size();
  }
};

// Per layer K, counted from 0: layers.K.row_begin and .column (the smallest of U8, U16, U32, I32 and I64 that
// fits), .value (F32; a single one if all are equal), .bias (the same). A layer with all its connections has
// neither row_begin nor column: its value is a matrix [outputs, inputs]. input.mean and input.scale (F32)
// where inputs are scaled, class.label (I32) where classes are not called 0, 1, …. The metadata holds the
// format's name and version, the loss, and per layer the inputs, the activation, the cap, and the slope of a
// leaky-relu. A mixture's experts are stored as one layer, and gates.K.* are the tensors of its gate;
// exits.K.* are the tensors of the head behind layer K.
Model read_model(const std::filesystem::path& path);
Model read_model(Source source);
void write_model(const std::filesystem::path& path, const Model& model);

}  // namespace filigree
