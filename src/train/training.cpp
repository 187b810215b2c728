// SPDX-License-Identifier: Apache-2.0
#include "train/training.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "base/error.h"
#include "base/system.h"
#include "train/cpu_training.h"
#include "train/optimizer.h"
#include "train/settings.h"
#include "train/topology.h"

namespace filigree::internal {

namespace {

std::string shape_text(const std::vector<Index>& network) {
  std::string text;
  for (const Index n : network) text += fmt::format("{}{}", text.empty() ? "" : "-", n);
  return text;
}

void check_mixtures(const Dataset& data, const TrainOptions& options) {
  if (options.network.mixtures.empty()) return;
  if (options.network.active_experts > options.network.experts)
    fail("{} of {} experts cannot be active", options.network.active_experts, options.network.experts);
  if (options.network.dense) fail("experts are sparse, but the network is dense");
  if (data.train.sparse()) fail("mixtures need dense rows, but those of {} are sparse", data.name);
}

void check_targets(const Dataset& data) {
  for (const DataRows* part : {&data.train, &data.validation, &data.test}) {
    const std::size_t rows = part->rows;
    if (data.task != Task::classes) {
      if (part->target.size() != rows * data.targets)
        fail("{} has {} targets for {} rows of {}", data.name, part->target.size(), rows, data.targets);
      continue;
    }
    if (part->label.size() != rows) fail("{} has {} labels for {} rows", data.name, part->label.size(), rows);
    for (std::size_t r = 0; r < part->label.size(); ++r)
      if (part->label[r] < 0 || part->label[r] >= data.classes)
        fail("row {} of {} has label {}, but there are {} classes", r, data.name, part->label[r],
             data.classes);
  }
}

void check_fit(const Dataset& data, const TrainOptions& options) {
  const std::vector<Index>& network = options.network.neurons;
  const Loss loss = options.learning.loss;
  if (!fits(loss, data.task))
    fail("{} has {}, which are not learned by the loss {}; it may be {}", data.name, data.describe_targets(),
         word(loss), word(usual_loss(data.task)));
  if (data.task == Task::classes && loss == Loss::binary_cross_entropy && data.classes != 2)
    fail("{} has {} classes, but the loss {} tells two apart", data.name, data.classes, word(loss));
  const Index outputs = data.outputs(loss);
  if (network.size() < 2)
    fail("a network needs inputs and outputs, such as {}-256-{}", data.train.features, outputs);
  if (network.front() != data.train.features)
    fail("network {} has {} inputs, but {} has {} features", shape_text(network), network.front(), data.name,
         data.train.features);
  if (network.back() != outputs)
    fail("network {} has {} outputs, but {} has {}{}", shape_text(network), network.back(), data.name,
         data.describe_targets(),
         data.task == Task::classes && outputs == 1 ? ", for which the loss takes one output" : "");
  if (options.network.distribution == Distribution::densities && !options.network.dense &&
      options.network.densities.size() != network.size() - 1)
    fail("{} densities for the {} weight matrices of {}", options.network.densities.size(),
         network.size() - 1, shape_text(network));
  // What would do nothing is more likely a mistake than a wish.
  if (options.run.validation > 0 && data.validation.rows > 0)
    fail("{} has {} validation rows: a share of {} of its training rows cannot be others", data.name,
         data.validation.rows, options.run.validation);
  if (options.run.patience > 0 && options.run.validation == 0 && data.validation.rows == 0)
    fail("patience {} without validation rows to watch: set validation, to 0.1 for example",
         options.run.patience);
  if (!options.network.densities.empty() && options.network.distribution != Distribution::densities)
    fail("{} densities are given, but the distribution is {}", options.network.densities.size(),
         word(options.network.distribution));
  if (options.evolution.final_sparsity >= 0 &&
      (options.network.dense || options.evolution.rule == Evolve::none))
    fail("a final sparsity of {} is reached by evolution, but there is none",
         options.evolution.final_sparsity);
  if (options.evolution.rule == Evolve::prune && options.pruning.structure != Structure::n_of_m &&
      options.evolution.final_sparsity < 0)
    fail("pruning needs a final sparsity to reach");
  if (options.pruning.structure == Structure::n_of_m &&
      options.pruning.group_kept > options.pruning.group_size)
    fail("{} of {} inputs cannot be kept", options.pruning.group_kept, options.pruning.group_size);
  if (options.pruning.structure != Structure::none && options.evolution.rule != Evolve::prune)
    fail("a structure of {} is made by pruning, but evolve is {}", word(options.pruning.structure),
         word(options.evolution.rule));
  if (options.pruning.structure != Structure::none && options.pruning.by != PruneBy::magnitude)
    fail("groups are pruned by magnitude, not by {}", word(options.pruning.by));
  if (options.pruning.shrink + options.pruning.time_weight > 0 &&
      options.pruning.structure == Structure::none)
    fail("{} {} pulls at groups, but there is no structure",
         options.pruning.shrink > 0 ? "shrink" : "time-weight",
         options.pruning.shrink > 0 ? options.pruning.shrink : options.pruning.time_weight);
  if (options.pruning.time_weight > 0 && options.pruning.connection_cost == 0)
    fail("time-weight {} needs a connection-cost to tell the time from", options.pruning.time_weight);
  if (options.pruning.time_weight > 0 && options.pruning.structure == Structure::n_of_m)
    fail("time-weight {} pulls at neurons or blocks, not at {}", options.pruning.time_weight,
         word(options.pruning.structure));
  if (options.evolution.final_sparsity >= 0 && options.network.distribution != Distribution::densities) {
    TrainOptions last = options;
    last.network.sparsity = options.evolution.final_sparsity;
    connections_per_layer(last);  // fails if a layer would be left without
  }
  check_branches(options);
  check_mixtures(data, options);
  if (options.evolution.rule == Evolve::prune &&
      !(options.network.exits.empty() && options.network.mixtures.empty()))
    fail("pruning takes plain networks, but there are {}",
         options.network.exits.empty() ? "mixtures" : "exits");
  check_targets(data);
  try {
    check_settings(options);
  } catch (const std::invalid_argument& error) {
    fail("{}", error.what());
  }
}

// The first values that are not finite, for a message; "" if all are.
std::string find_not_finite(const std::vector<TrainLayer>& layers) {
  const auto odd = [](const std::vector<float>& values) {
    return std::any_of(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  };
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const TrainLayer& layer = layers[l];
    if (odd(layer.value) || odd(layer.bias)) return fmt::format("weights of layer {}", l + 1);
    if (odd(layer.first) || odd(layer.second) || odd(layer.bias_first) || odd(layer.bias_second))
      return fmt::format("moments of layer {}", l + 1);
  }
  for (std::size_t l = 0; l < layers.size(); ++l)  // NaN comes here from wherever it began
    if (odd(layers[l].gradient) || odd(layers[l].bias_gradient))
      return fmt::format("gradients of layer {}", l + 1);
  return "";
}

}  // namespace

Training::Training(const Dataset& data, const TrainOptions& options, const DevicePlace& place)
    : data_(data), rule_(rule_of(options)), slices_(slices_for(options)) {
  check_fit(data, options);
  state_.options = options;
  state_.data_fingerprint = fingerprint(data);
  state_.layers = make_layers(options, data.train.sparse(), slices_);
  split_rows();
  state_.facts.scaling = input_scaling(options.network.scaling, data.train, train_rows_, data.indicators);
  check_rule();
  make_backend(place);
}

Training::Training(const Dataset& data, TrainState state, const DevicePlace& place)
    : data_(data),
      state_(std::move(state)),
      rule_(rule_of(state_.options)),
      slices_(slices_for(state_.options)),
      from_network_(true) {
  check_fit(data, state_.options);
  if (state_.layers.front().by_input != (data.train.sparse() && !state_.options.network.dense))
    fail("the network was begun on {} rows, but those of {} are not",
         data.train.sparse() ? "dense" : "sparse", data.name);
  for (TrainLayer& layer : state_.layers) {
    resize_state(layer, state_.options.learning.optimizer, slices_);
    refresh_transposed(layer);
  }
  split_rows();
  if (state_.step_in_epoch > steps_per_epoch())
    fail("step {} of an epoch of {} steps", state_.step_in_epoch, steps_per_epoch());
  check_rule();
  make_backend(place);
}

void Training::split_rows() {
  set_facts(state_, data_);
  train_rows_.resize(data_.train.rows);
  std::iota(train_rows_.begin(), train_rows_.end(), 0);
  validation_rows_.resize(data_.validation.rows);
  std::iota(validation_rows_.begin(), validation_rows_.end(), 0);
  const std::size_t count = std::llround(state_.options.run.validation * train_rows_.size());
  if (count > 0) {
    Random random = random_stream(state_.options.run.seed, Stream::validation);
    random.shuffle(std::span(train_rows_));
    validation_rows_.assign(train_rows_.end() - static_cast<std::ptrdiff_t>(count), train_rows_.end());
    train_rows_.resize(train_rows_.size() - count);
    std::sort(train_rows_.begin(), train_rows_.end());
    std::sort(validation_rows_.begin(), validation_rows_.end());
  }
  if (train_rows_.empty()) fail("{} has no rows to train on", data_.name);
  choose_interval();
  choose_targets();
}

// A run that goes on has its scaling; layers of a network that was given are to be taken to it.
void Training::choose_targets() {
  const InputScaling before = std::move(state_.targets.scaling);
  state_.targets = targets_of(data_, state_.options.learning, train_rows_);
  if (!before.none()) {
    state_.targets.scaling = before;
    return;
  }
  for (std::size_t l = 0; l < state_.layers.size(); ++l)
    if (from_network_ && gives_outputs(state_.layers, l))
      to_scaled_units(state_.layers[l], state_.targets.scaling);
}

// Often enough for the topology to be found, also where the steps are few.
void Training::choose_interval() {
  TrainOptions& o = state_.options;
  if (o.evolution.update_every > 0) return;
  const std::int64_t evolving = o.evolution.stop * total_steps();
  const EvolutionRule& rule = rule_ == nullptr ? rigl_rule() : *rule_;
  o.evolution.update_every =
      std::clamp<std::int64_t>(evolving / rule.fewest_changes(), 1, rule.longest_interval());
}

void Training::check_rule() const {
  if (rule_ != nullptr) rule_->check(state_.layers, state_.options, moment());
}

void Training::make_backend(const DevicePlace& place) {
  if (place.backend == nullptr) {
    backend_ = std::make_unique<CpuTraining>(data_, state_);
  } else {
    backend_ = std::make_unique<CudaTraining>(place, data_, state_);
  }
  layers_changed();
}

void Training::layers_changed() {
  backend_->set_layers(state_.layers);
}

std::int64_t Training::steps_per_epoch() const {
  const std::size_t batch = state_.options.run.batch;
  return (train_rows_.size() + batch - 1) / batch;
}

double Training::learning_rate() const {
  const TrainOptions& o = state_.options;
  const double step = state_.step;
  const double per_epoch = steps_per_epoch();
  const double warmup = o.learning.warmup_epochs * per_epoch;
  if (step < warmup) return o.learning.lr * (step + 1) / warmup;
  switch (o.learning.schedule) {
    case Schedule::constant:
      return o.learning.lr;
    case Schedule::step:
      return o.learning.lr *
             std::pow(o.learning.step_factor, std::floor(step / per_epoch / o.learning.step_epochs));
    case Schedule::cosine: {
      const double left = total_steps() - warmup;
      return o.learning.lr / 2 * (1 + std::cos(std::numbers::pi * (step - warmup) / std::max(1.0, left)));
    }
  }
  return o.learning.lr;
}

bool Training::pulls_now() const {
  const std::int64_t every = rule_ == nullptr ? 0 : rule_->pulls_every(state_.options);
  return every > 0 && state_.step % every == 0 && state_.step < moment().last_step;
}

bool Training::changes_at_start() const {
  return rule_ != nullptr && rule_->once(state_.options);
}

bool Training::evolves_now() const {
  const TrainOptions& o = state_.options;
  if (rule_ == nullptr || changes_at_start() || state_.step % o.evolution.update_every != 0) return false;
  return state_.step < o.evolution.stop * total_steps();
}

void Training::add_batches(std::int64_t first, bool keep) {
  const TrainOptions& o = state_.options;
  Random random = random_stream(o.run.seed, Stream::growth_rows, state_.step);
  for (std::int64_t i = first; i < o.evolution.growth_batches; ++i) {
    std::vector<Index> rows(o.run.batch);
    for (Index& row : rows) row = train_rows_[random.below(train_rows_.size())];
    const std::uint64_t number = i;
    backend_->add_gradients(
        {rows, mix64(static_cast<std::uint64_t>(state_.step) ^ mix64(number)), keep, number});
  }
}

Moment Training::moment() const {
  return {state_.step, static_cast<std::int64_t>(std::ceil(state_.options.evolution.stop * total_steps())),
          learning_rate()};
}

void Training::measure_gradients() {
  add_batches(0, false);
  backend_->get_gradients(state_.layers);
}

void Training::change_topology() {
  const double started = seconds_now();
  const TrainOptions& o = state_.options;
  const RuleNeeds needs = rule_->needs(o);
  if (needs == RuleNeeds::samples && o.evolution.growth_batches > 1) {
    add_batches(1, true);  // the batch just trained on is the first
    backend_->clear_gradients();
  }
  if (needs == RuleNeeds::gradients) measure_gradients();
  backend_->get_layers(state_.layers);
  const std::unique_ptr<GrowthView> growth = needs == RuleNeeds::samples ? backend_->growth() : nullptr;
  const Evolution evolution = evolve(state_.layers, o, moment(), growth.get(), slices_);
  if (needs == RuleNeeds::gradients)
    for (TrainLayer& layer : state_.layers) resize_state(layer, o.learning.optimizer, slices_);
  layers_changed();
  state_.epoch.dropped += evolution.dropped;
  state_.epoch.grown += evolution.grown;
  state_.epoch.evolve_seconds += seconds_now() - started;
}

void Training::pull(double lr) {
  const TrainOptions& o = state_.options;
  backend_->get_layers(state_.layers);
  rule_->pull(state_.layers, o, lr * rule_->pulls_every(o));
  layers_changed();
}

void Training::report_not_finite(double loss) {
  backend_->get_layers(state_.layers);
  const std::string found = find_not_finite(state_.layers);
  fail("step {} (epoch {}): the loss is {}; the first values that are not finite are the {}", state_.step + 1,
       state_.epoch.epoch, loss, found.empty() ? "outputs of the last layer" : found);
}

void Training::check_finite() {
  backend_->get_layers(state_.layers);
  const std::string found = find_not_finite(state_.layers);
  if (!found.empty())
    fail("step {} (epoch {}): the {} are not finite any more", state_.step, state_.epoch.epoch, found);
}

std::uint64_t Training::dropout_key() const {
  return mix64(state_.options.run.seed ^ mix64(static_cast<std::uint64_t>(state_.step) ^
                                               mix64(static_cast<std::uint64_t>(Stream::dropout))));
}

void Training::step(std::span<const Index> rows) {
  const TrainOptions& o = state_.options;
  const double lr = learning_rate();
  const std::uint64_t key = dropout_key();
  if (changes_at_start() && state_.step == 0) change_topology();
  ++state_.step;
  const bool evolves = evolves_now();
  const bool keep = evolves && rule_->needs(o) == RuleNeeds::samples;
  const LossSum sum = backend_->add_gradients({rows, key, keep});
  const double norm = backend_->gradient_norm();
  if (!std::isfinite(sum.loss) || !std::isfinite(norm)) {
    --state_.step;
    report_not_finite(sum.loss / rows.size());
  }
  const double scale =
      o.learning.clip_norm > 0 && norm > o.learning.clip_norm ? o.learning.clip_norm / norm : 1.0;
  backend_->descend(descent_rates(o, lr, scale, state_.step));
  if (pulls_now()) pull(lr);
  state_.epoch.train_loss += sum.loss;
  state_.epoch.train_score += sum.score;
  state_.epoch.lr = lr;
  if (evolves) change_topology();
}

LossSum Training::evaluate(const DataRows& data, std::span<const Index> rows, const std::stop_token& stop) {
  LossSum sum = backend_->evaluate(data, rows, stop);
  if (stop.stop_requested()) throw Cancelled();
  if (data_.task != Task::values) return sum;
  // Until here errors were compared with the spread of the training rows.
  const double count = static_cast<double>(rows.size());
  const double spread = spread_of(data, state_.targets.scaling, rows);
  if (spread > 0) sum.score = count - (count - sum.score) / spread;
  return sum;
}

RowOrder Training::shuffled_rows(std::int64_t epoch) const {
  Random random = random_stream(state_.options.run.seed, Stream::shuffle, epoch);
  return {data_.train, train_rows_, random};
}

}  // namespace filigree::internal
