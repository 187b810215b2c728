// SPDX-License-Identifier: Apache-2.0
// A network as a C++17 program of one file: structure and weights are part of the code.
#pragma once

#include <string>
#include <vector>

#include "filigree/export.h"
#include "network/network.h"

namespace filigree::internal {

struct ExportedCode {
  std::string source;           // extern "C" void NAME(const float* inputs, float* outputs), and names
  std::string test;             // a program that includes `source_name` and compares with what is expected
  std::vector<CodeForm> forms;  // per layer
  Offset connections = 0;
};

// Scaling of inputs becomes part of the first layer where that loses nothing. `source_name`: the file the
// test includes.
ExportedCode export_cpp(const Network& network, const std::string& name, const std::string& source_name,
                        const std::string& description);

}  // namespace filigree::internal
