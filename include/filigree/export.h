// SPDX-License-Identifier: Apache-2.0
// A network as a program of its own, for where this library is not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "filigree/network.h"

#pragma GCC visibility push(default)
namespace filigree {

// How a layer is written.
enum class CodeForm {
  straight,  // a statement for each output, weights in it: no index is ever read
  lists,     // by input, with the outputs it feeds; inputs of zero are skipped
  matrix,    // by input, all outputs; inputs of zero are skipped
};
template <>
struct Words<CodeForm> {
  static constexpr std::array<std::string_view, 3> kWords = {"straight", "lists", "matrix"};
};

struct ExportedProgram {
  // C++17, one file: extern "C" void NAME(const float* inputs, float* outputs). Where the data has names,
  // NAME_inputs[], and NAME_classes[] or NAME_outputs[] hold them.
  std::filesystem::path source;
  std::filesystem::path test;        // a program that compares it with the network: SOURCE_test.cpp
  std::vector<CodeForm> forms = {};  // of each layer
  Offset connections = 0;
};

// The network is compiled first. Throws std::invalid_argument if `name` is no name of C.
[[nodiscard]] ExportedProgram export_program(const Network& network, const std::filesystem::path& source,
                                             const std::string& name = "predict",
                                             const Observer& observer = {});

}  // namespace filigree
#pragma GCC visibility pop
