// SPDX-License-Identifier: Apache-2.0
// Columns found by name: a file may hold those of the training data in another order, and others beside them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "filigree/vocabulary.h"

namespace filigree::internal {

// For each of the names that a model was trained with, its column among `given`; empty if the columns are as
// they should be, or if either side has no names. Throws Error that names what is missing or stands twice.
// `file` is for it.
std::vector<Index> column_order(std::span<const std::string> trained, std::span<const std::string> given,
                                const std::string& file);

}  // namespace filigree::internal
