// SPDX-License-Identifier: Apache-2.0
// Tests of lottery tickets.
#include "train/lottery.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "network/test_networks.h"
#include "train/test_pruning.h"
#include "train/topology.h"

namespace filigree::internal {
namespace {

std::vector<Layer> random_layers(const TrainOptions& options, std::uint64_t seed) {
  TrainOptions own = options;
  own.run.seed = seed;
  std::vector<Layer> layers;
  for (const TrainLayer& layer : make_layers(own, false, 1)) layers.push_back(to_layer(layer));
  return layers;
}

Network classifier(const std::vector<Layer>& layers) {
  return in_memory(layers, {.loss = Loss::cross_entropy});
}

// Each connection with its value.
using Connection = std::tuple<std::size_t, Index, Index, float>;
std::vector<Connection> connections(const std::vector<Layer>& layers) {
  std::vector<Connection> all;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const CsrView w = layers[l].weights.view();
    for (Index r = 0; r < w.rows; ++r)
      for (std::size_t e = 0; e < w.row_columns(r).size(); ++e)
        all.emplace_back(l, r, w.row_columns(r)[e], w.row_values(r)[e]);
  }
  return all;
}

TEST(DrawTicket, KeepsWhatEndedLargeWithTheValuesItHad) {
  rc::check([] {
    TrainOptions options = pruning({*rc::gen::inRange(6, 25), *rc::gen::inRange(6, 25), 5}, 0, 0.6);
    const std::vector<Layer> early = random_layers(options, *rc::gen::arbitrary<std::uint64_t>());
    std::vector<Layer> trained = early;
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    for (Layer& layer : trained)
      for (float& v : layer.weights.value) v = random.normal();
    const std::vector<Layer> ticket =
        copied_layers(draw_ticket(classifier(trained), classifier(early), options));
    const std::vector<Connection> before = connections(early), ended = connections(trained),
                                  kept = connections(ticket);
    RC_ASSERT(kept.size() ==
              static_cast<std::size_t>(std::llround(0.4 * static_cast<double>(before.size()))));
    const std::set<Connection> early_values(before.begin(), before.end());
    std::set<std::tuple<std::size_t, Index, Index>> places;
    for (const Connection& c : kept) {
      RC_ASSERT(early_values.contains(c));
      places.insert({std::get<0>(c), std::get<1>(c), std::get<2>(c)});
    }
    float smallest_kept = 1e9f, largest_gone = 0;
    for (const auto& [l, r, c, v] : ended) {
      const bool stays = places.contains({l, r, c});
      float& bound = stays ? smallest_kept : largest_gone;
      bound = stays ? std::min(bound, std::fabs(v)) : std::max(bound, std::fabs(v));
    }
    RC_ASSERT(smallest_kept >= largest_gone);
    for (std::size_t l = 0; l < ticket.size(); ++l) RC_ASSERT(ticket[l].bias == early[l].bias);
  });
}

TEST(WithFreshValues, DrawsByTheSeedAndKeepsTheConnections) {
  TrainOptions options = pruning({20, 15, 5}, 0.4, 0.6);
  const std::vector<Layer> model = random_layers(options, 7);
  options.run.seed = 3;
  const Network drawn = with_fresh_values(classifier(model), options);
  const std::vector<Layer> fresh = copied_layers(drawn);
  ASSERT_EQ(fresh.size(), model.size());
  for (std::size_t l = 0; l < model.size(); ++l) {
    EXPECT_EQ(fresh[l].weights.column, model[l].weights.column);
    EXPECT_EQ(fresh[l].weights.row_begin, model[l].weights.row_begin);
    EXPECT_NE(fresh[l].weights.value, model[l].weights.value);
  }
  EXPECT_EQ(copied_layers(with_fresh_values(drawn, options)), fresh);
  options.run.seed = 4;
  EXPECT_NE(copied_layers(with_fresh_values(drawn, options)), fresh);
}

}  // namespace
}  // namespace filigree::internal
