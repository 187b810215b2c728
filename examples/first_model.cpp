// SPDX-License-Identifier: Apache-2.0
// Trains a sparse classifier in memory, saves it, loads it, and asks it about a row.
#include <filigree/filigree.h>

#include <cstdio>
#include <vector>

int main() {
  // Two classes: inside or outside of a ring.
  std::vector<float> values;
  std::vector<filigree::Index> labels;
  for (int row = 0; row < 4000; ++row) {
    const float x = static_cast<float>(row % 63) / 31 - 1, y = static_cast<float>(row / 63) / 31 - 1;
    values.insert(values.end(), {x, y});
    labels.push_back(x * x + y * y > 0.5f ? 1 : 0);
  }
  const filigree::Data data = filigree::make_data(values, labels, 2);
  // Four fifths of the weights never exist.
  const filigree::TrainRun run = filigree::train(data, {.network = {.hidden = {64, 64}, .sparsity = 0.8}});
  filigree::save(run.network, "ring.safetensors");

  const filigree::Network network = filigree::load("ring.safetensors");
  const filigree::Plan plan = filigree::compile(network);
  const std::vector<float> row = {0.1f, 0.2f};
  const std::vector<float> outputs = plan.run(row);
  std::printf("%lld connections; inside: %s\n", static_cast<long long>(run.connections),
              outputs[0] > outputs[1] ? "yes" : "no");
  return outputs[0] > outputs[1] ? 0 : 1;
}
