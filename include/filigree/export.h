// SPDX-License-Identifier: Apache-2.0
// A network as a program of its own, for where this library is not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "filigree/network.h"

#pragma GCC visibility push(default)
namespace filigree {

struct ExportedProgram {
  std::filesystem::path source;  // C++17, one file: extern "C" void NAME(const float* inputs, float* outputs)
  std::filesystem::path test;    // a program that compares it with the network: SOURCE_test.cpp
  std::vector<std::string> forms = {};  // how each layer is written: "straight", "lists", "matrix"
  Offset connections = 0;
};

// The network is compiled first. Throws std::invalid_argument if `name` is no name of C.
ExportedProgram export_program(const Network& network, const std::filesystem::path& source,
                               const std::string& name = "predict", const Observer& observer = {});

}  // namespace filigree
#pragma GCC visibility pop
