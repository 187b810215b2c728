// SPDX-License-Identifier: Apache-2.0
// Matrices and vectors in text files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "interchange/flow.h"
#include "io/source.h"

namespace filigree::internal {

// Matrix Market: coordinate or array; real, integer or pattern; general, symmetric or skew-symmetric.
Weights read_matrix_market(Source source);
void write_matrix_market(const std::filesystem::path& path, const CsrView& matrix);

// One number a line.
std::vector<double> read_numbers(Source source);
// "row <TAB> column <TAB> value", counted from 0.
Weights read_triples(Source source, Index rows, Index cols);

}  // namespace filigree::internal
