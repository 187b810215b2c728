// SPDX-License-Identifier: Apache-2.0
// Evaluation of rows that are no part of a public Data.
#pragma once

#include <span>

#include "data/dataset.h"
#include "filigree/evaluate.h"

namespace filigree::internal {

// `data` says what the rows are: names, task, classes.
Evaluation evaluate_rows(const Plan& plan, const Dataset& data, std::span<const DataRows* const> parts,
                         bool ranks = true, const Observer& observer = {});

// Whether more of the metric by this name is better than less.
bool higher_is_better(std::string_view metric);

}  // namespace filigree::internal
