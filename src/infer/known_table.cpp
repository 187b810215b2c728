// SPDX-License-Identifier: Apache-2.0
#include "infer/known_table.h"

#include <algorithm>

namespace filigree::internal {

KnownTable known_table(const Network& network) {
  const NetworkFacts& facts = network.facts();
  KnownTable known;
  known.task = network.task();
  known.names = facts.output_names;
  if (known.names.empty() && known.task == Task::classes)
    for (Index c = 0; c < std::max<Index>(2, network.outputs()); ++c)
      known.names.push_back(std::to_string(c));
  known.columns.named = !facts.input_names.empty();
  known.columns.targets = facts.target_columns;
  known.columns.inputs = facts.columns;
  if (!facts.columns.empty()) return known;
  known.columns.inputs.resize(network.inputs());  // numbers as they are
  for (std::size_t i = 0; i < facts.input_names.size(); ++i)
    known.columns.inputs[i].name = facts.input_names[i];
  return known;
}

}  // namespace filigree::internal
