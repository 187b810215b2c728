// SPDX-License-Identifier: Apache-2.0
// Rows of a data set as a plan reads them.
#pragma once

#include "data/dataset.h"
#include "infer/plan.h"

namespace filigree::internal {

// Rows [first, first + count).
inline MakeLoader loader_of(const DataRows& rows, std::size_t first, std::size_t count,
                            const Plan::Impl& plan) {
  const std::size_t width = rows.features;
  if (rows.sparse())
    return sparse_loader({std::span(rows.row_begin).subspan(first, count + 1), rows.column, rows.value},
                         plan.facts.scaling, plan.input_map);
  if (!rows.bytes.empty())
    return dense_loader(std::span<const std::uint8_t>(rows.bytes).subspan(first * width, count * width),
                        plan.facts.scaling, plan.input_map);
  return dense_loader(std::span<const float>(rows.floats).subspan(first * width, count * width),
                      plan.facts.scaling, plan.input_map);
}

}  // namespace filigree::internal
