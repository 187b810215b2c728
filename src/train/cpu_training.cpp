// SPDX-License-Identifier: Apache-2.0
#include "train/cpu_training.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/packed.h"
#include "train/optimizer.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kLanes = kPanelRows;

std::size_t panels_of(std::size_t samples) {
  return (samples + kLanes - 1) / kLanes;
}

LossSum total(const std::vector<LossSum>& sums) {
  LossSum all;
  for (const LossSum& sum : sums) all += sum;
  return all;
}

}  // namespace

std::size_t slices_for(const TrainOptions& options) {
  const std::size_t panels = panels_of(options.run.batch);
  // Two from two panels on, more from 1024 samples on: each slice costs a copy of the gradients.
  const std::size_t wanted = options.run.slices > 0 ? static_cast<std::size_t>(options.run.slices)
                                                    : std::clamp<std::size_t>(panels / 8, 2, 16);
  return std::min(wanted, panels);
}

std::size_t slice_samples(const TrainOptions& options) {
  const std::size_t slices = slices_for(options);
  return (panels_of(options.run.batch) + slices - 1) / slices * kLanes;
}

CpuTraining::CpuTraining(const Dataset& data, TrainState& state) : data_(data), state_(state) {
  for (std::size_t s = 0; s < slices_for(state.options); ++s)
    passes_.push_back(std::make_unique<SlicePass>(state.layers, state.options, slice_samples(state.options)));
}

LossSum CpuTraining::add_gradients(const GradientRows& batch) {
  const TrainOptions& o = state_.options;
  const std::size_t whole = panels_of(o.run.batch) * kLanes;
  // Kept between topology updates (its pages cost more than what is written to them), and made anew where a
  // short batch would leave old samples in it.
  if (batch.keep && batch.number == 0 &&
      (record_ == nullptr || batch.rows.size() < static_cast<std::size_t>(o.run.batch)))
    record_ = std::make_unique<Record>(state_.layers, whole * o.evolution.growth_batches);
  Record* const record = batch.keep ? record_.get() : nullptr;
  if (record != nullptr) record->scaling = &state_.facts.scaling;
  const std::size_t slices = passes_.size(), size = batch.rows.size(), panels = panels_of(size);
  std::vector<LossSum> sums(slices);
  parallel_for(slices, 1, [&](std::size_t from, std::size_t to) {
    for (std::size_t s = from; s < to; ++s) {
      const std::size_t begin = std::min(size, panels * s / slices * kLanes);
      const std::size_t end = std::min(size, panels * (s + 1) / slices * kLanes);
      if (begin == end) continue;
      const Batch slice{data_.train, state_.facts.scaling, batch.rows.subspan(begin, end - begin),
                        state_.targets};
      // Key and position count samples from the start of the batch.
      sums[s] =
          passes_[s]->train(state_.layers, slice, size, s, batch.key, batch.number * whole + begin, record);
    }
  });
  return total(sums);
}

double CpuTraining::gradient_norm() {
  return combine_gradients(state_.layers);
}

void CpuTraining::descend(const DescentRates& rates) {
  update(state_.layers, rates);
}

void CpuTraining::get_gradients(std::vector<TrainLayer>& layers) {
  combine_gradients(layers);
}

void CpuTraining::clear_gradients() {
  for (TrainLayer& layer : state_.layers)
    resize_state(layer, state_.options.learning.optimizer, passes_.size());
}

std::unique_ptr<GrowthView> CpuTraining::growth() {
  return std::make_unique<RecordedGrowth>(state_.layers, *record_, data_.train);
}

LossSum CpuTraining::evaluate(const DataRows& data, std::span<const Index> rows,
                              const std::stop_token& stop) {
  const std::size_t slices = passes_.size();
  std::vector<LossSum> sums(slices);
  parallel_for(slices, 1, [&](std::size_t from, std::size_t to) {
    for (std::size_t s = from; s < to; ++s) {
      const std::size_t begin = rows.size() * s / slices, end = rows.size() * (s + 1) / slices;
      sums[s] = passes_[s]->evaluate(
          state_.layers, {data, state_.facts.scaling, rows.subspan(begin, end - begin), state_.targets},
          stop);
    }
  });
  return total(sums);
}

}  // namespace filigree::internal
