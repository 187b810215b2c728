// SPDX-License-Identifier: Apache-2.0
// The text files of the Sparse DNN Graph Challenge: layers, images, categories, and where they lie.
//
// Readers take any order of lines, tabs or spaces, CRLF, blank lines at the end, a missing last newline, and
// a compressed file (.gz, .zst) in place of the plain one. Everything else is an Error "file:line: what is
// wrong". A file without entries is an error too: nobody can tell it from a failed download.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "filigree/sparse.h"
#include "filigree/vocabulary.h"
#include "io/source.h"
#include "sparse/input_rows.h"

namespace filigree::internal {

// Image numbers above this are taken for damage unless the caller says how many images there are.
inline constexpr Index kMaxImages = Index{1} << 24;

// Lines `input TAB output TAB weight`, 1-based. Rows of the result are outputs, columns are inputs.
CsrMatrix read_layer(const std::filesystem::path& path, Index neurons);
CsrMatrix read_layer(Source source, Index neurons);

// Lines `image TAB pixel TAB value`, 1-based. `images` is how many there are; without it the largest number
// in the file says so. `limit` keeps the first ones only. Images without a pixel are empty rows.
InputRows read_images(const std::filesystem::path& path, Index pixels, std::optional<Index> limit = {},
                      std::optional<Index> images = {});
InputRows read_images(Source source, Index pixels, std::optional<Index> limit = {},
                      std::optional<Index> images = {});

// 1-based row numbers, one a line, further columns ignored. The result is 0-based and ascending.
std::vector<Index> read_categories(const std::filesystem::path& path, Index rows);
std::vector<Index> read_categories(Source source, Index rows);

// The official text, byte for byte. A weight that seven digits cannot hold gets nine, so that reading gives
// it back. A layer or images without entries are refused, because no reader would take the file.
void write_layer(const std::filesystem::path& path, const CsrView& layer);
void write_images(const std::filesystem::path& path, const InputRows& images);
void write_categories(const std::filesystem::path& path, std::span<const Index> categories);  // 0-based

// Official names below a directory; `layer` counts from 1.
std::filesystem::path layer_path(const std::filesystem::path& directory, Index neurons, Index layer);
// The sizes of the networks in a directory: N where neuronN holds a first layer, ascending.
std::vector<Index> challenge_sizes(const std::filesystem::path& directory);
std::filesystem::path images_path(const std::filesystem::path& directory, Index pixels);
std::filesystem::path categories_path(const std::filesystem::path& directory, Index neurons, Index layers);

// How many layers there are, 0 if none; a gap (layer 8 without layer 7) is an Error.
Index count_layers(const std::filesystem::path& directory, Index neurons);

}  // namespace filigree::internal
