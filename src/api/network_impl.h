// What a public Network holds.
#pragma once

#include <memory>
#include <vector>

#include "filigree/network.h"
#include "network/layer_source.h"

namespace filigree {

struct Network::Impl {
  std::shared_ptr<const LayerSource> source;
  // Of compiled networks; see Model.
  std::vector<Index> input_of;
  std::vector<Index> output_of;
  std::vector<float> output_constant;
};

}  // namespace filigree
