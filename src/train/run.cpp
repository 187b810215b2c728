// SPDX-License-Identifier: Apache-2.0
// A whole training run: epochs until it is done, and the files it leaves.
#include <numeric>

#include "train/start.h"
#include "train/training.h"

namespace filigree::internal {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Training started(const Dataset& data, const TrainOptions& options, const RunFiles& files, const RunLog& log,
                 const TrainObserver& observer, const Network* network, const DevicePlace& place) {
  if (files.resume) return Training(data, log.resumed(options, data, observer), place);
  if (network != nullptr) return Training(data, start_from(*network, data, options), place);
  return Training(data, options, place);
}

}  // namespace

TrainOutcome run_training(const Dataset& data, const TrainOptions& options, const RunFiles& files,
                          const TrainObserver& observer, const Network* start, const DevicePlace& place) {
  const RunLog log(files);
  Training trainer = started(data, options, files, log, observer, start, place);
  TrainState& state = trainer.state();
  std::vector<Index> test_rows(data.test.rows);
  std::iota(test_rows.begin(), test_rows.end(), 0);
  const double rows = test_rows.size();
  log.begin(state);
  while (!trainer.done()) {
    try {
      log.guard(data, state.options, [&] { trainer.epoch(observer); });
    } catch (const Cancelled&) {
      if (!files.directory.empty()) {
        log.guard(data, state.options, [&] { trainer.check_finite(); });
        log.after_stop(state);
      }
      throw;
    }
    if (files.test_every_epoch && !test_rows.empty())
      state.history.back().test_score = trainer.evaluate(data.test, test_rows).score / rows;
    log.after_epoch(state);
    if (observer.epoch) observer.epoch(state.history.back());
  }
  trainer.use_best();
  TrainOutcome outcome;
  const LossSum test = trainer.evaluate(data.test, test_rows);
  outcome.test_score = test_rows.empty() ? kNone : test.score / rows;
  outcome.test_loss = test_rows.empty() ? kNone : test.loss / rows;
  outcome.stopped_early = trainer.out_of_patience();
  if (!state.history.empty()) state.history.back().test_score = outcome.test_score;
  log.end(state);
  outcome.state = std::move(state);
  return outcome;
}

}  // namespace filigree::internal
