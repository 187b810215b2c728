// SPDX-License-Identifier: Apache-2.0
// What the fuzzers run, and the test suite over the corpus: each target reads bytes as one format.
#pragma once

#include <cstddef>
#include <span>

namespace filigree::fuzz {

// An Error is a fine answer to any bytes. A result that breaks its promises throws std::logic_error.
void layer_tsv(std::span<const std::byte> bytes);
void images_tsv(std::span<const std::byte> bytes);
void idx(std::span<const std::byte> bytes);
void csv(std::span<const std::byte> bytes);
void table(std::span<const std::byte> bytes);  // its first byte says how the others are read
void libsvm(std::span<const std::byte> bytes);
void npy(std::span<const std::byte> bytes);
void npz(std::span<const std::byte> bytes);
void safetensors(std::span<const std::byte> bytes);
void model(std::span<const std::byte> bytes);
void onnx(std::span<const std::byte> bytes);
void state_dict(std::span<const std::byte> bytes);
void matrix_market(std::span<const std::byte> bytes);
void npz_matrix(std::span<const std::byte> bytes);
void config(std::span<const std::byte> bytes);
void checkpoint(std::span<const std::byte> bytes);  // its sum is taken for right, as a forger would make it

}  // namespace filigree::fuzz
