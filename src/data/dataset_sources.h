// SPDX-License-Identifier: Apache-2.0
// The kinds of sources behind load_dataset. A loader takes the names after the scheme's colon, none of them
// empty and as many as its form in dataset.cpp allows.
#pragma once

#include <span>
#include <string>

#include "data/dataset.h"

namespace filigree::internal {

using Names = std::span<const std::string>;

// Bytes (image_sets.cpp).
Dataset load_mnist(Names directory, const DataOptions& options, const Observer& observer);
Dataset load_fashion(Names directory, const DataOptions& options, const Observer& observer);
Dataset load_idx(Names files, const DataOptions& options, const Observer& observer);
Dataset load_digits(Names train_rows, const DataOptions& options, const Observer& observer);

// Floats (contexts.cpp).
Dataset load_contexts(Names train_rows, const DataOptions& options, const Observer& observer);

// The number of training rows of data that is made, if one is named.
Index rows_named(Names train_rows, std::string_view scheme, Index otherwise);
// Throws Error if `train_rows` and a fifth of them for testing take more memory than they may.
void check_memory(std::string_view scheme, Index train_rows, std::size_t bytes_a_row,
                  const DataOptions& options);

// Images 0 … count-1 of the set `seed` of digits.h, 28×28.
DataRows drawn_digits(Index count, std::uint64_t seed, const Observer& observer);

// Floats and sparse rows (table_sets.cpp).
Dataset load_csv(Names files, const DataOptions& options, const Observer& observer);
Dataset load_libsvm(Names files, const DataOptions& options, const Observer& observer);

Dataset load_csv_for(const KnownTable& known, Names files, const DataOptions& options,
                     const Observer& observer);

// The names of columns that the options hold: a line with one of them is a header.
std::vector<std::string> option_names(const DataOptions& options);

}  // namespace filigree::internal
