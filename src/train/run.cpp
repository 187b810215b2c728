// SPDX-License-Identifier: Apache-2.0
// A whole training run: epochs, validation, early stopping, and the files it leaves.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/system.h"
#include "io/atomic_file.h"
#include "io/directory_lock.h"
#include "kernels/simd.h"
#include "train/config.h"
#include "train/connections.h"
#include "train/start.h"
#include "train/trainer.h"

namespace filigree {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kStepReportSeconds = 0.1;

void write_text(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::filesystem::path checkpoint_path(const RunFiles& files) {
  return files.directory / "checkpoint.safetensors";
}

// Names the first setting that differs.
void check_same_settings(const TrainOptions& asked, const TrainOptions& saved,
                         const std::filesystem::path& path) {
  const TrainConfig a{{}, asked}, b{{}, saved};
  const std::string left = to_toml(a), right = to_toml(b);
  if (left == right) return;
  std::size_t line_begin = 0;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()) && left[i] == right[i]; ++i)
    if (left[i] == '\n') line_begin = i + 1;
  const auto line = [&](const std::string& text) {  // without its comment
    const std::size_t end = std::min(text.find('#', line_begin), text.find('\n', line_begin));
    return text.substr(line_begin, text.find_last_not_of(' ', end - 1) + 1 - line_begin);
  };
  fail("{}: was written by a run with other settings: there {}, now {}", path.string(), line(right),
       line(left));
}

class Run {
 public:
  Run(const Dataset& data, const TrainOptions& options, const RunFiles& files, const TrainObserver& observer,
      const Model* network, const DevicePlace& place)
      : data_(data),
        files_(files),
        observer_(observer),
        lock_(lock_of(files)),
        trainer_(start(data, options, files, observer, network)) {
    if (place.backend != nullptr) trainer_.move_to(place);
    test_rows_.resize(static_cast<std::size_t>(data.test.rows));
    std::iota(test_rows_.begin(), test_rows_.end(), 0);
  }

  TrainOutcome operator()() {
    TrainState& state = trainer_.state();
    write_config();
    bool early = out_of_patience();  // before a resume
    const auto done = static_cast<std::int64_t>(state.history.size());
    if (state.step == 0) keep_early(0);
    for (std::int64_t epoch = done; epoch < state.options.epochs && !early; ++epoch) {
      run_epoch(epoch);
      early = finish_epoch();
      keep_early(epoch + 1);
      if (!files_.directory.empty()) {
        write_metrics();
        write_checkpoint(checkpoint_path(files_), state);
      }
      if (observer_.epoch) observer_.epoch(state.history.back());
    }
    if (state.options.patience > 0 && !state.best.empty() && best_is_not_last()) use_best();
    TrainOutcome outcome;
    const LossSum test = trainer_.evaluate(data_.test, test_rows_);
    const auto rows = static_cast<double>(test_rows_.size());
    outcome.test_accuracy = test_rows_.empty() ? kNone : static_cast<double>(test.correct) / rows;
    outcome.test_loss = test_rows_.empty() ? kNone : test.loss / rows;
    outcome.stopped_early = early;
    if (!state.history.empty()) state.history.back().test_accuracy = outcome.test_accuracy;
    if (!files_.directory.empty()) {
      write_metrics();
      write_model(files_.directory / "model.safetensors", to_model(state, false));
    }
    outcome.state = std::move(state);
    return outcome;
  }

 private:
  // Before anything is read or written there.
  static std::shared_ptr<const DirectoryLock> lock_of(const RunFiles& files) {
    if (files.directory.empty() || (files.resume && !std::filesystem::exists(files.directory)))
      return nullptr;
    if (!files.resume) make_directory(files.directory);
    return lock_directory(files.directory);
  }

  static Trainer start(const Dataset& data, const TrainOptions& options, const RunFiles& files,
                       const TrainObserver& observer, const Model* network) {
    if (!files.resume) {
      if (!files.directory.empty()) {
        make_directory(files.directory);
        if (std::filesystem::exists(checkpoint_path(files)))
          fail("{}: holds a run already; resume that one, or choose another directory",
               files.directory.string());
      }
      if (network != nullptr) return Trainer(data, start_from(*network, data, options));
      return Trainer(data, options);
    }
    if (!std::filesystem::exists(checkpoint_path(files)))
      fail(
          "{0}: there is no checkpoint to resume from, as before the end of the first epoch; "
          "start again with --config {0}/config.toml --out {0}",
          files.directory.string());
    TrainState state = read_checkpoint(checkpoint_path(files), options);
    TrainOptions asked = options;
    if (asked.update_every == 0) asked.update_every = state.options.update_every;  // as it was chosen then
    check_same_settings(asked, state.options, checkpoint_path(files));
    if (state.data_fingerprint != fingerprint(data))
      fail("{}: was written by a run on other data than {}", checkpoint_path(files).string(), data.name);
    if (!state.simd.empty() && state.simd != simd_target_name() && observer.warning)
      observer.warning(fmt::format(
          "{}: was written by a run with {} instructions, and this machine has {}: sums are added "
          "in another order, so the results will differ in their last bits",
          checkpoint_path(files).string(), state.simd, simd_target_name()));
    return Trainer(data, std::move(state));
  }

  void run_epoch(std::int64_t epoch) {
    TrainState& state = trainer_.state();
    const std::vector<Index> rows = trainer_.shuffled_rows(epoch);
    const auto batch = static_cast<std::size_t>(state.options.batch);
    const std::int64_t steps = trainer_.steps_per_epoch();
    state.epoch.epoch = epoch + 1;
    state.epoch.epochs = state.options.epochs;
    const double before = state.epoch.seconds;  // of a part that was run before a resume
    const double started = seconds_now();
    const std::int64_t first_step = state.step_in_epoch;
    while (state.step_in_epoch < steps) {
      const std::size_t begin = static_cast<std::size_t>(state.step_in_epoch) * batch;
      or_name_checkpoint(
          [&] { trainer_.step(std::span(rows).subspan(begin, std::min(batch, rows.size() - begin))); });
      ++state.step_in_epoch;
      const double now = seconds_now();
      state.epoch.seconds = before + now - started;
      if (observer_.stop.stop_requested()) stop();
      if (observer_.step && now - reported_ >= kStepReportSeconds) {
        reported_ = now;
        report_step(now - started, state.step_in_epoch - first_step);
      }
    }
    or_name_checkpoint([&] { trainer_.check_finite(); });
  }

  // An error says where the last good state is.
  template <typename Work>
  void or_name_checkpoint(const Work& work) const {
    try {
      work();
    } catch (const Error& error) {
      if (files_.directory.empty()) throw;
      if (!std::filesystem::exists(checkpoint_path(files_)))
        throw Error(fmt::format("{}; there is no checkpoint yet", error.what()));
      TrainState good = read_checkpoint(checkpoint_path(files_), trainer_.state().options);
      good.class_label = data_.class_label;
      good.origin = data_.origin;
      write_model(files_.directory / "model.safetensors", to_model(good, false));
      throw Error(fmt::format("{}; the last good checkpoint is {}, and model.safetensors is its network",
                              error.what(), checkpoint_path(files_).string()));
    }
  }

  void report_step(double seconds, std::int64_t steps) {
    const TrainState& state = trainer_.state();
    const auto batch = static_cast<double>(state.options.batch);
    const double samples = std::min(static_cast<double>(state.step_in_epoch) * batch,
                                    static_cast<double>(trainer_.train_rows().size()));
    StepReport report;
    report.epoch = state.epoch.epoch;
    report.epochs = state.epoch.epochs;
    report.step = state.step_in_epoch;
    report.steps = trainer_.steps_per_epoch();
    report.loss = state.epoch.train_loss / samples;
    report.accuracy = state.epoch.train_accuracy / samples;
    if (!state.history.empty()) {
      const EpochReport& last = state.history.back();
      report.last_accuracy =
          std::isnan(last.validation_accuracy) ? last.train_accuracy : last.validation_accuracy;
    }
    report.connections = connections();
    report.samples_per_second = static_cast<double>(steps) * batch / seconds;
    report.seconds_left =
        static_cast<double>(trainer_.total_steps() - state.step) * seconds / static_cast<double>(steps);
    observer_.step(report);
  }

  [[noreturn]] void stop() {
    if (!files_.directory.empty()) {
      or_name_checkpoint([&] { trainer_.check_finite(); });
      write_metrics();
      write_checkpoint(checkpoint_path(files_), trainer_.state());
    }
    throw Cancelled();
  }

  // Turns the sums of the epoch under way into its report. True: time to stop early.
  bool finish_epoch() {
    TrainState& state = trainer_.state();
    EpochReport report = state.epoch;
    const auto samples = static_cast<double>(trainer_.train_rows().size());
    report.train_loss /= samples;
    report.train_accuracy /= samples;
    report.samples_per_second = samples / report.seconds;
    report.connections = connections();
    double all = 0;
    for (const TrainLayer& layer : state.layers) all += static_cast<double>(layer.capacity());
    report.sparsity = 1 - static_cast<double>(report.connections) / all;
    report.dead_neurons = count_dead(state.layers);
    report.validation_accuracy = report.validation_loss = report.test_accuracy = kNone;
    const std::vector<Index>& validation = trainer_.validation_rows();
    if (!validation.empty()) {
      const LossSum sum = trainer_.evaluate(data_.train, validation);
      report.validation_accuracy = static_cast<double>(sum.correct) / static_cast<double>(validation.size());
      report.validation_loss = sum.loss / static_cast<double>(validation.size());
    }
    if (files_.test_every_epoch && !test_rows_.empty())
      report.test_accuracy = static_cast<double>(trainer_.evaluate(data_.test, test_rows_).correct) /
                             static_cast<double>(test_rows_.size());
    state.history.push_back(report);
    state.epoch = {};
    state.step_in_epoch = 0;
    if (state.options.patience == 0) return false;
    const double accuracy = validation.empty() ? report.train_accuracy : report.validation_accuracy;
    if (accuracy > state.best_accuracy) {
      state.best_accuracy = accuracy;
      state.best_epoch = report.epoch;
      state.best.clear();
      for (const TrainLayer& layer : state.layers) state.best.push_back(to_layer(layer));
    }
    return out_of_patience();
  }

  bool out_of_patience() const {
    const TrainState& state = trainer_.state();
    return state.options.patience > 0 && !state.history.empty() &&
           state.history.back().epoch - state.best_epoch >= state.options.patience;
  }

  bool best_is_not_last() const {
    return trainer_.state().best_epoch < static_cast<std::int64_t>(trainer_.state().history.size());
  }

  // The network of the best epoch takes the place of the last one.
  void use_best() {
    TrainState& state = trainer_.state();
    for (std::size_t l = 0; l < state.layers.size(); ++l)
      set_connections(state.layers[l], state.best[l], state.layers[l].transposed.rows > 0);
    trainer_.send_layers();
  }

  Offset connections() const {
    Offset sum = 0;
    for (const TrainLayer& layer : trainer_.state().layers) sum += static_cast<Offset>(layer.connections());
    return sum;
  }

  void write_config() const {
    if (!files_.directory.empty() && !files_.resume)
      write_text(files_.directory / "config.toml", to_toml({files_.data, trainer_.state().options}));
  }

  void keep_early(std::int64_t epochs) const {
    if (epochs == files_.early_epochs && !files_.directory.empty())
      write_model(files_.directory / "early.safetensors", to_model(trainer_.state(), false));
  }

  void write_metrics() const {
    std::string lines;
    for (const EpochReport& report : trainer_.state().history)
      lines.append(to_json_line(report)).push_back('\n');
    write_text(files_.directory / "metrics.jsonl", lines);
  }

  const Dataset& data_;
  const RunFiles& files_;
  const TrainObserver& observer_;
  std::shared_ptr<const DirectoryLock> lock_;
  Trainer trainer_;
  std::vector<Index> test_rows_;
  double reported_ = 0;
};

}  // namespace

TrainOutcome run_training(const Dataset& data, const TrainOptions& options, const RunFiles& files,
                          const TrainObserver& observer, const Model* start, const DevicePlace& place) {
  return Run(data, options, files, observer, start, place)();
}

}  // namespace filigree
