// SPDX-License-Identifier: Apache-2.0
// Tests of lottery tickets.
#include "train/lottery.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "train/test_pruning.h"
#include "train/topology.h"

namespace filigree {
namespace {

Model random_model(const TrainOptions& options, std::uint64_t seed) {
  TrainOptions own = options;
  own.seed = seed;
  Model model;
  for (const TrainLayer& layer : make_layers(own, false, 1)) model.layers.push_back(to_layer(layer));
  model.loss = "cross-entropy";
  return model;
}

// Each connection with its value.
using Connection = std::tuple<std::size_t, Index, Index, float>;
std::vector<Connection> connections(const Model& model) {
  std::vector<Connection> all;
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const CsrView w = model.layers[l].weights.view();
    for (Index r = 0; r < w.rows; ++r)
      for (std::size_t e = 0; e < w.row_columns(r).size(); ++e)
        all.emplace_back(l, r, w.row_columns(r)[e], w.row_values(r)[e]);
  }
  return all;
}

TEST(DrawTicket, KeepsWhatEndedLargeWithTheValuesItHad) {
  rc::check([] {
    TrainOptions options = pruning({*rc::gen::inRange(6, 25), *rc::gen::inRange(6, 25), 5}, 0, 0.6);
    const Model early = random_model(options, *rc::gen::arbitrary<std::uint64_t>());
    Model trained = early;
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    for (Layer& layer : trained.layers)
      for (float& v : layer.weights.value) v = static_cast<float>(random.normal());
    const Model ticket = draw_ticket(trained, early, options);
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
    for (std::size_t l = 0; l < ticket.layers.size(); ++l)
      RC_ASSERT(ticket.layers[l].bias == early.layers[l].bias);
  });
}

TEST(WithFreshValues, DrawsByTheSeedAndKeepsTheConnections) {
  TrainOptions options = pruning({20, 15, 5}, 0.4, 0.6);
  const Model model = random_model(options, 7);
  options.seed = 3;
  const Model fresh = with_fresh_values(model, options);
  ASSERT_EQ(fresh.layers.size(), model.layers.size());
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    EXPECT_EQ(fresh.layers[l].weights.column, model.layers[l].weights.column);
    EXPECT_EQ(fresh.layers[l].weights.row_begin, model.layers[l].weights.row_begin);
    EXPECT_NE(fresh.layers[l].weights.value, model.layers[l].weights.value);
  }
  EXPECT_EQ(with_fresh_values(fresh, options).layers, fresh.layers);
  options.seed = 4;
  EXPECT_NE(with_fresh_values(fresh, options).layers, fresh.layers);
}

}  // namespace
}  // namespace filigree
