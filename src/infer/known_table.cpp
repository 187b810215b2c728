// SPDX-License-Identifier: Apache-2.0
#include "infer/known_table.h"

namespace filigree::internal {

KnownTable known_table(const Network& network) {
  const NetworkFacts& facts = network.facts();
  KnownTable known;
  known.task = network.task();
  known.names = facts.output_names;
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
