// Where new connections go: the largest gradients among places that have none, or places at random.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/pass.h"

namespace filigree {

// A place in a layer's pattern and the gradient of the mean loss there.
struct Candidate {
  float gradient = 0;
  std::uint32_t row = 0, column = 0;
};

// Largest first; equal ones in the order of their places, so that the choice is one.
bool larger(const Candidate& a, const Candidate& b);

// The `count` largest gradients (by magnitude, none of them zero) at places that `taken` does not hold,
// in any order. The dense gradient never exists: blocks of it are computed and forgotten, and what cannot be
// large (by the Cauchy–Schwarz bound on norms) is not even computed. `outputs`: only to
// these neurons.
std::vector<Candidate> largest_gradients(const TrainLayer& layer, const Record::LayerRecord& record,
                                         const Record& samples, const DataRows& data, const Pattern& taken,
                                         std::size_t count, std::span<const std::uint32_t> outputs);

// The k neurons with the highest cost, the sum of |gradient| at their output over the samples; ascending.
std::vector<std::uint32_t> costliest_neurons(const TrainLayer& layer, const Record::LayerRecord& record,
                                             std::size_t width, std::size_t k);

// `count` places at random that neither `taken` nor `chosen` holds, appended to `chosen`; fewer if there are
// fewer.
void choose_at_random(const Pattern& taken, std::size_t count, Random& random,
                      std::vector<Candidate>& chosen);

}  // namespace filigree
