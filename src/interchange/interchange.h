// SPDX-License-Identifier: Apache-2.0
// What readers and writers of other programs' files share.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "filigree/interchange.h"
#include "io/source.h"
#include "io/target.h"
#include "network/network.h"

namespace filigree::internal {

// Readers, one for each form. `name` stands for the file in messages.
Imported read_onnx(std::span<const std::byte> bytes, const std::string& name,
                   const std::filesystem::path& directory, const ImportOptions& options);
Imported read_state_dict(Source source, const ImportOptions& options);
// Files of one matrix each, in the order of the layers; biases next to them.
std::vector<std::filesystem::path> matrix_files(const std::filesystem::path& directory);  // in their order
Imported read_matrices(const std::vector<std::filesystem::path>& files, const ImportOptions& options);
// weights-lK-sparse.tsv or weights-lK-dense.tsv, and biases-lK-….tsv.
bool is_text_layers(const std::filesystem::path& directory);
Imported read_text_layers(const std::filesystem::path& directory, const ImportOptions& options);

// Writers.
void write_onnx(Target target, const Network& network, const ExportOptions& options);
void write_state_dict(Target target, const Network& network, const ExportOptions& options);
void write_matrices(const std::filesystem::path& directory, const Network& network,
                    const ExportOptions& options);

// The same function as layers alone: a network that maps its inputs and outputs gets layers that do so.
// Throws Error where there are exits or mixtures; `what`: what takes neither.
std::vector<LayerPointer> plain_layers(const Network& network, const char* what);

}  // namespace filigree::internal
