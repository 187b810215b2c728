// SPDX-License-Identifier: Apache-2.0
// Tests of what an analysis says: shapes, structure, advice. Times are not looked at.
#include <gtest/gtest.h>

#include "filigree/analyze.h"
#include "io/test_files.h"
#include "network/test_networks.h"

namespace filigree {
namespace {

using namespace internal;

// Entries where `exists` says, all different.
template <typename Exists>
Layer layer_with(Index outputs, Index inputs, const Exists& exists) {
  Layer layer;
  layer.weights.rows = outputs;
  layer.weights.cols = inputs;
  for (Index r = 0; r < outputs; ++r) {
    for (Index c = 0; c < inputs; ++c)
      if (exists(r, c)) {
        layer.weights.column.push_back(c);
        layer.weights.value.push_back(1.0f + static_cast<float>(r * inputs + c));
      }
    layer.weights.row_begin.push_back(layer.weights.nnz());
    layer.bias.push_back(static_cast<float>(r));
  }
  return layer;
}

LayerAnalysis analysis_of(Layer layer) {
  const Network network = in_memory({std::move(layer)});
  const Analysis analysis = analyze(network, {.batches = {1, 40}, .seconds = 0.002});
  EXPECT_EQ(analysis.layers.size(), 1u);
  EXPECT_EQ(analysis.network.size(), 2u);
  EXPECT_GT(analysis.dense_rate, 0);
  EXPECT_GT(analysis.copy_rate, 0);
  EXPECT_TRUE(analysis.summary.starts_with("runs ")) << analysis.summary;
  EXPECT_TRUE(analysis.summary.ends_with("at 1 and 40 rows")) << analysis.summary;
  return analysis.layers.front();
}

TEST(Analyze, SaysWhichStructureALayerHas) {
  EXPECT_EQ(analysis_of(layer_with(8, 16, [](Index, Index) { return true; })).structure, "full");
  EXPECT_EQ(
      analysis_of(layer_with(8, 16, [](Index r, Index c) { return (r / 4 + c / 4) % 2 == 0; })).structure,
      "blocks of 4 × 4");
  EXPECT_EQ(analysis_of(layer_with(8, 16, [](Index r, Index c) { return (c + r) % 4 < 2; })).structure,
            "2 of 4 inputs");
  EXPECT_EQ(analysis_of(layer_with(7, 13, [](Index r, Index c) { return (r * 5 + c * c + r * c) % 7 < 2; }))
                .structure,
            "none");
}

TEST(Analyze, CountsWhatExists) {
  const LayerAnalysis layer =
      analysis_of(layer_with(10, 20, [](Index r, Index c) { return (r * 3 + c) % 10 == 0; }));
  EXPECT_EQ(layer.inputs, 20);
  EXPECT_EQ(layer.outputs, 10);
  EXPECT_EQ(layer.connections, 20);
  EXPECT_DOUBLE_EQ(layer.sparsity, 0.9);
  ASSERT_EQ(layer.timings.size(), 2u);
  for (const BatchTiming& timing : layer.timings) {
    EXPECT_GT(timing.seconds, 0);
    EXPECT_GT(timing.dense_seconds, 0);
  }
}

TEST(Analyze, RefusesWhatCannotBeMeasured) {
  const Network network = in_memory({layer_with(2, 3, [](Index, Index) { return true; })});
  EXPECT_THROW((void)analyze(network, {.batches = {}}), std::invalid_argument);
  EXPECT_THROW((void)analyze(network, {.batches = {0}}), std::invalid_argument);
  EXPECT_THROW((void)analyze(network, {.seconds = 0}), std::invalid_argument);
}

TEST(Analyze, DrawsTheBoundsAndEveryLayer) {
  const TestDirectory dir;
  const Network network = in_memory({layer_with(8, 16, [](Index r, Index c) { return (r + c) % 3 == 0; })});
  plot_roofline(analyze(network, {.batches = {64}, .seconds = 0.002}), dir / "roof.svg");
  const std::string svg = file_content(dir / "roof.svg");
  EXPECT_NE(svg.find("layer 1"), std::string::npos);
  EXPECT_NE(svg.find("operations a byte"), std::string::npos);
}

}  // namespace
}  // namespace filigree
