// SPDX-License-Identifier: Apache-2.0
// The kinds of sources behind load_dataset. A loader takes the names after the scheme's colon, none of them
// empty and as many as its form in dataset.cpp allows.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "data/dataset.h"
#include "io/source.h"

namespace filigree::internal {

using Names = std::span<const std::string>;
struct LoadRequest {
  const DataOptions& options;
  const KnownTable* known = nullptr;  // the data is for a network that was trained on this
  const Observer& observer;
};
using LoadDataset = Dataset (*)(Names names, const LoadRequest& request);

// Bytes (image_sets.cpp).
Dataset load_mnist(Names directory, const LoadRequest& request);
Dataset load_fashion(Names directory, const LoadRequest& request);
Dataset load_idx(Names files, const LoadRequest& request);
Dataset load_digits(Names train_rows, const LoadRequest& request);

// Floats (contexts.cpp).
Dataset load_contexts(Names train_rows, const LoadRequest& request);

// The number of training rows of data that is made, if one is named.
Index rows_named(Names train_rows, std::string_view scheme, Index otherwise);
// Throws Error if `train_rows` and a fifth of them for testing take more memory than they may.
void check_memory(std::string_view scheme, Index train_rows, std::size_t bytes_a_row,
                  const DataOptions& options);

// Images 0 … count-1 of the set `seed` of digits.h, 28×28.
DataRows drawn_digits(Index count, std::uint64_t seed, const Observer& observer);

// Floats and sparse rows (table_sets.cpp, numpy_sets.cpp).
Dataset load_csv(Names files, const LoadRequest& request);
Dataset load_libsvm(Names files, const LoadRequest& request);
Dataset load_npy(Names files, const LoadRequest& request);
Dataset load_npz(Names files, const LoadRequest& request);

// Says where the rows of a file are, if that is on disk.
void tell_where(const DataRows& rows, const std::string& file, const LoadRequest& request);

// Opens a text file, again and again.
std::function<Source()> csv_opener(const std::string& file);

// The names of columns that the options hold: a line with one of them is a header.
std::vector<std::string> option_names(const DataOptions& options);

}  // namespace filigree::internal
