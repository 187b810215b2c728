// SPDX-License-Identifier: Apache-2.0
// Training step by step, for loops of the user's own.
#include "filigree/train.h"

#include <numeric>

#include "base/error.h"
#include "data/data.h"
#include "filigree/session.h"
#include "train/start.h"
#include "train/training.h"

namespace filigree {

using namespace internal;

struct Trainer::Impl {
  Data data;
  Session session;
  Training training;

  // `start`: settings or a state.
  template <typename Start>
  Impl(const Data& rows, Start start)
      : data(rows),
        session(Session::current()),
        training(data.impl().dataset, std::move(start), place_here()) {}
};

Trainer::Trainer(const Data& data, const TrainOptions& options)
    : impl_(std::make_unique<Impl>(data, internal::completed(options, data.impl().dataset))) {}

Trainer::Trainer(const Network& start, const Data& data, const TrainOptions& options)
    : impl_(std::make_unique<Impl>(data, start_from(start, data.impl().dataset, options))) {}

Trainer::Trainer(const Data& data, std::span<const std::byte> state)
    : impl_(std::make_unique<Impl>(data, read_checkpoint(Source(state, "state in memory"), {}))) {
  if (impl_->training.state().data_fingerprint != fingerprint(data.impl().dataset))
    fail("the state is of a run on other data than {}", data.impl().dataset.name);
}

Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

void Trainer::step(std::span<const Index> rows) {
  const Session::Use use(impl_->session);
  const Index count = impl_->data.train_rows();
  if (rows.empty() || rows.size() > static_cast<std::size_t>(options().run.batch))
    throw std::invalid_argument(
        fmt::format("a step of {} rows, but it takes 1 to {}", rows.size(), options().run.batch));
  for (const Index row : rows)
    if (row < 0 || row >= count)
      throw std::invalid_argument(fmt::format("row {} of {} training rows", row, count));
  const EpochReport before = impl_->training.state().epoch;  // epochs add up their own steps
  impl_->training.step(rows);
  impl_->training.state().epoch = before;
}

void Trainer::go_on_with(const Data& data, std::int64_t epochs) {
  const Session::Use use(impl_->session);
  if (epochs < 1) throw std::invalid_argument(fmt::format("{} epochs", epochs));
  const Dataset &before = impl_->data.impl().dataset, &next = data.impl().dataset;
  if (next.task != before.task || next.classes != before.classes || next.targets != before.targets)
    fail("{} has {}, but the network learns to tell {}", next.name, next.describe_targets(),
         before.describe_targets());
  impl_->training.check_finite();  // and what a device has is copied to the host
  TrainState state = impl_->training.state();
  state.data_fingerprint = fingerprint(next);
  state.options.run.epochs = static_cast<std::int64_t>(state.history.size()) + epochs;
  state.epoch = {};
  state.step_in_epoch = 0;
  const NetworkFacts facts = state.facts;
  auto impl = std::make_unique<Impl>(data, std::move(state));
  impl->training.state().facts = facts;
  impl_ = std::move(impl);
}

EpochReport Trainer::epoch(const TrainObserver& observer) {
  const Session::Use use(impl_->session);
  if (done()) throw std::invalid_argument(fmt::format("all {} epochs are done", options().run.epochs));
  return impl_->training.epoch(observer);
}

bool Trainer::done() const {
  return impl_->training.done();
}

TrainScore Trainer::evaluate(Part part, const Observer& observer) {
  const Session::Use use(impl_->session);
  const Dataset& set = impl_->data.impl().dataset;
  TrainScore score;
  for (const DataRows* rows : {&set.train, &set.test}) {
    if (part != Part::all && (part == Part::train) != (rows == &set.train)) continue;
    std::vector<Index> all(rows->rows);
    std::iota(all.begin(), all.end(), 0);
    const LossSum sum = impl_->training.evaluate(*rows, all, observer.stop);
    score.rows += rows->rows;
    score.score += sum.score;
    score.loss += sum.loss;
  }
  if (score.rows == 0) fail("{}: there are no rows to evaluate on", set.name);
  score.score /= score.rows;
  score.loss /= score.rows;
  return score;
}

Network Trainer::network() {
  const Session::Use use(impl_->session);
  impl_->training.check_finite();
  return network_of(impl_->training.state());
}

const TrainOptions& Trainer::options() const {
  return impl_->training.state().options;
}

void Trainer::use_best() {
  const Session::Use use(impl_->session);
  impl_->training.use_best();
}

void Trainer::set_peak_learning_rate(double lr) {
  apply_setting(impl_->training.state().options, "lr", fmt::format("{}", lr));
}

double Trainer::learning_rate() const {
  return impl_->training.learning_rate();
}

std::int64_t Trainer::steps() const {
  return impl_->training.state().step;
}

const std::vector<EpochReport>& Trainer::history() const {
  return impl_->training.state().history;
}

std::vector<std::byte> Trainer::state() {
  const Session::Use use(impl_->session);
  impl_->training.check_finite();
  std::vector<std::byte> bytes;
  write_checkpoint(bytes, impl_->training.state());
  return bytes;
}

}  // namespace filigree
