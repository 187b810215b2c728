// SPDX-License-Identifier: Apache-2.0
#include "recipes/challenge_setup.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "base/system.h"
#include "data/challenge_images.h"
#include "data/digits.h"
#include "infer/reference.h"
#include "io/challenge_files.h"
#include "io/idx.h"
#include "network/challenge.h"

namespace filigree::internal {

namespace {

Index side_of(Index neurons) {
  const Index side = std::lround(std::sqrt(neurons));
  if (side * side != neurons)
    throw std::invalid_argument(
        fmt::format("images have √neurons × √neurons pixels, but {} is no square", neurons));
  return side;
}

InputRows images_from_mnist(const std::filesystem::path& directory, Index side, std::optional<Index> keep,
                            const Observer& observer) {
  if (side != 32 && side != 64 && side != 128 && side != 256)
    throw std::invalid_argument(
        fmt::format("MNIST becomes images of 1024, 4096, 16384 or 65536 pixels, not {}", side * side));
  const auto path = directory / "train-images-idx3-ubyte";
  const auto found = find_file(path);
  if (!found) fail("{}: no such file, nor .gz", path.string());
  const IdxArray array = read_idx(*found);
  if (array.dims.size() != 3 || array.dims[1] != 28 || array.dims[2] != 28)
    fail("{}: expected images of 28×28 pixels", found->string());
  const Index count = array.dims[0];
  if (keep.value_or(count) > count)
    fail("{}: {} images, but {} are asked for", found->string(), count, *keep);
  return challenge_images(array.data, count, side, keep.value_or(count), observer);
}

// Rows to check by the reference: what it may cost is bounded, and rows on both sides are among them.
std::vector<Index> sample_rows(const std::vector<Index>& categories, Index rows, Offset connections) {
  // A row that lives costs every connection, about a nanosecond each; one that dies costs a few layers.
  const auto live_budget =
      static_cast<std::size_t>(std::clamp<Offset>(4'000'000'000 / std::max<Offset>(1, connections), 2, 128));
  constexpr std::size_t kDead = 128;
  std::vector<Index> all(rows);
  std::iota(all.begin(), all.end(), 0);
  std::vector<Index> dead;
  std::ranges::set_difference(all, categories, std::back_inserter(dead));
  std::vector<Index> sample;
  const auto take = [&](const std::vector<Index>& from, std::size_t count) {
    const std::size_t step = std::max<std::size_t>(1, from.size() / std::max<std::size_t>(1, count));
    for (std::size_t i = 0; i < from.size() && i / step < count; i += step) sample.push_back(from[i]);
  };
  take(categories, live_budget);
  take(dead, kDead);
  std::ranges::sort(sample);
  return sample;
}

std::vector<Index> difference(const std::vector<Index>& a, const std::vector<Index>& b) {
  std::vector<Index> either;
  std::ranges::set_symmetric_difference(a, b, std::back_inserter(either));
  return either;
}

}  // namespace

InputRows load_challenge_images(const ChallengeInputs& source, std::string& described,
                                const Observer& observer) {
  if (source.inputs && *source.inputs < 1)
    throw std::invalid_argument(fmt::format("{} inputs; at least one is needed", *source.inputs));
  if (!source.data.empty()) {
    const auto path = images_path(source.data, source.neurons);
    const auto found = find_file(path);
    if (found) {
      described = found->string();
      InputRows images = read_images(*found, source.neurons, source.inputs);
      if (source.inputs && images.rows < *source.inputs)
        fail("{}: {} images, but {} are asked for", described, images.rows, *source.inputs);
      return images;
    }
    if (source.mnist.empty()) fail("{}: no such file, nor .gz", path.string());
  }
  const Index side = side_of(source.neurons);
  if (!source.mnist.empty()) {
    described = fmt::format("MNIST at {}×{}", side, side);
    return images_from_mnist(source.mnist, side, source.inputs, observer);
  }
  described = fmt::format("embedded digits at {}×{}, seed {}", side, side, source.seed);
  return digit_images(source.inputs.value_or(kChallengeInputs), side, source.seed, observer);
}

ChallengeData load_challenge(const ChallengeInputs& source, bool with_truth, const Observer& observer) {
  if (source.layers < 0) throw std::invalid_argument(fmt::format("{} layers", source.layers));
  ChallengeData data{
      source.data.empty()
          ? radix_net(source.neurons, source.layers == 0 ? 120 : source.layers, source.seed)
          : Network({std::make_shared<ChallengeFiles>(source.data, source.neurons, source.layers)}),
      {},
      {},
      {},
      {}};
  data.images = load_challenge_images(source, data.images_from, observer);
  if (data.images.binary()) data.bits = make_bit_panels(data.images);
  if (with_truth && !source.data.empty()) {
    const auto found = find_file(categories_path(source.data, source.neurons, data.network.layers()));
    if (found) {
      // The list is about all images of the file; a run of the first few is checked against its part of it.
      std::vector<Index> all = read_categories(*found, kMaxImages);
      if (!source.inputs && !all.empty() && all.back() >= data.images.rows)
        fail_for("inputs",
                 "{}: lists image {}, but there are only {}; if that is a part of the images on purpose, ask "
                 "for {} inputs",
                 found->string(), all.back() + 1, data.images.rows, data.images.rows);
      std::erase_if(all, [&](Index row) { return row >= data.images.rows; });
      data.truth = std::move(all);
    }
  }
  return data;
}

PreparedEngine prepare_engine(Engine engine, const Network& network, std::uint64_t memory_limit,
                              const Observer& observer) {
  const LayerSource& source = *network.parts().layers;
  PreparedEngine prepared;
  if (engine == Engine::plain) {
    auto packed = plan_as_is(source, memory_limit, observer);
    prepared.streamed = packed == nullptr;
    for (Index l = 0; packed != nullptr && l < packed->layers(); ++l)
      prepared.connections += packed->layer(l)->weights.nnz;
    if (packed == nullptr) {
      prepared.plan.ordered = std::make_unique<StreamedPlan>(source);
      for (Index l = 0; l < network.layers(); ++l) {
        observer.check_stop();
        prepared.connections += source.layer(l)->weights.nnz();
      }
    } else {
      prepared.plan.ordered = std::move(packed);
    }
    prepared.compiled_connections = prepared.connections;
    return prepared;
  }
  std::vector<std::shared_ptr<const PlanLayer>> ordered(network.layers());
  std::atomic<std::uint64_t> ordered_bytes{0};
  const auto keep_ordered = [&](Index l, const Layer& layer, const LayerFacts& facts,
                                const DistinctRows& distinct, const DistinctRows* before) {
    if (ordered_bytes > memory_limit / 4) return;
    auto made = std::make_shared<PlanLayer>(make_ordered_layer(layer, distinct, before, facts));
    // Beyond 65536 inputs a packed matrix has several tiles, and no order is kept across them.
    ordered_bytes += made->weights.tiles.size() > 1 ? memory_limit : made->bytes();
    ordered[l] = std::move(made);
  };
  Compiled compiled = compile_exactly(network, observer, keep_ordered);
  std::vector<LayerPointer> layers = all_layers(compiled.network);
  prepared.connections = compiled.connections_before;
  prepared.compiled_connections = connections_of(layers);
  prepared.plan.monotone =
      !compiled.biases_changed && std::ranges::all_of(compiled.facts, [](const LayerFacts& f) {
        return f.nonnegative && f.non_decreasing && f.zero_stays_zero && f.biases_negative;
      });
  prepared.plan.input_of = compiled.network.parts().ports.input_of;
  prepared.plan.compiled = plan_compiled(std::move(layers), compiled.facts, observer);
  if (ordered_bytes <= memory_limit / 4) {
    prepared.plan.ordered = std::make_unique<ResidentPlan>(std::move(ordered));
  } else {
    prepared.streamed = true;
    prepared.plan.ordered = std::make_unique<StreamedPlan>(source);
  }
  return prepared;
}

Verification verify_categories(const ChallengeData& data, const std::vector<Index>& categories,
                               Offset connections, Check check, const Observer& observer) {
  Verification result;
  if (check == Check::none) return result;
  if (data.truth) {
    result.verified = Verified::official;
    result.checked_rows = data.images.rows;
    result.mismatches = difference(categories, *data.truth);
    if (check == Check::automatic) return result;
  }
  std::vector<Index> rows(data.images.rows);
  std::iota(rows.begin(), rows.end(), 0);
  if (check == Check::automatic) rows = sample_rows(categories, data.images.rows, connections);
  const ReferenceVerdict verdict = reference_verdict(data.layers(), data.images, rows, observer);
  std::vector<Index> found;
  std::ranges::set_intersection(categories, rows, std::back_inserter(found));
  // Rows whose fate depends on rounding may go either way; all others may not.
  std::vector<Index> wrong = result.mismatches;
  std::ranges::set_difference(verdict.alive, found, std::back_inserter(wrong));
  std::ranges::set_difference(found, verdict.possibly_alive, std::back_inserter(wrong));
  if (!data.truth) {
    result.verified = Verified::reference;
    result.checked_rows = rows.size();
  }
  std::ranges::sort(wrong);
  wrong.erase(std::unique(wrong.begin(), wrong.end()), wrong.end());
  result.mismatches = std::move(wrong);
  return result;
}

}  // namespace filigree::internal
