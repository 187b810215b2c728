// SPDX-License-Identifier: Apache-2.0
// What is done to each input before the first layer. A plain value: modules below the API may include this,
// as they may vocabulary.h.
#pragma once

#include <cstddef>
#include <vector>

namespace filigree {

// (x - mean) * scale, two roundings. Each holds one value for all inputs or one per input; an empty mean is
// 0, an empty scale 1.
struct InputScaling {
  std::vector<float> mean = {}, scale = {};

  bool none() const { return mean.empty() && scale.empty(); }
  float mean_of(std::size_t input) const { return value_of(mean, input, 0); }
  float scale_of(std::size_t input) const { return value_of(scale, input, 1); }
  bool operator==(const InputScaling&) const = default;

 private:
  static float value_of(const std::vector<float>& values, std::size_t input, float otherwise) {
    return values.empty() ? otherwise : values.size() == 1 ? values[0] : values[input];
  }
};

}  // namespace filigree
