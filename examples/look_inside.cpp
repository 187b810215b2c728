// SPDX-License-Identifier: Apache-2.0
// A network made from arrays, as another program may have them, and its weights read back where they are.
#include <filigree/filigree.h>

#include <cstdio>

int main() {
  // Two layers in compressed sparse rows, one row a neuron: 4 inputs, 3 hidden neurons, 2 outputs. Inputs are
  // scaled by the network, and classes are called 3 and 8.
  filigree::NetworkFacts facts;
  facts.scaling.scale = {0.1f};
  facts.loss = filigree::Loss::cross_entropy;
  facts.output_names = {"three", "eight"};
  const filigree::Network network = filigree::make_network({{.inputs = 4,
                                                             .outputs = 3,
                                                             .row_begin = {0, 2, 4, 5},
                                                             .column = {0, 1, 2, 3, 0},
                                                             .value = {1, -1, 0.5f, 0.5f, 2},
                                                             .bias = {0, 0.1f, -1},
                                                             .activation = filigree::Activation::relu},
                                                            {.inputs = 3,
                                                             .outputs = 2,
                                                             .row_begin = {0, 2, 4},
                                                             .column = {0, 1, 1, 2},
                                                             .value = {1, -2, 1, 1},
                                                             .bias = {0, 0},
                                                             .activation = filigree::Activation::identity}},
                                                           facts);

  for (filigree::Index l = 0; l < network.layers(); ++l) {
    const filigree::LayerView layer = network.layer(l);  // spans, no copy
    std::printf("layer %d: %d to %d neurons, %zu connections\n", l + 1, layer.inputs, layer.outputs,
                layer.value.size());
    for (filigree::Index n = 0; n < layer.outputs; ++n) {
      std::printf("  neuron %d reads", n);
      for (filigree::Offset e = layer.row_begin[n]; e < layer.row_begin[n + 1]; ++e)
        std::printf(" %d (%g)", layer.column[e], layer.value[e]);
      std::printf("\n");
    }
  }
  filigree::save(network, "small.safetensors");
  const auto predictions =
      filigree::predict(filigree::compile(filigree::load("small.safetensors")),
                        {.rows = 1, .columns = 4, .bytes = {}, .floats = {30, 10, 0, 0}});
  std::printf("class %s, probability %.3f\n", predictions.name(predictions.best[0]).c_str(),
              predictions.values[predictions.best[0]]);
  return predictions.name(predictions.best[0]) == "eight" ? 0 : 1;
}
