// SPDX-License-Identifier: Apache-2.0
#include "train/run_log.h"

#include "base/error.h"
#include "filigree/runtime.h"
#include "io/atomic_file.h"
#include "network/model_file.h"
#include "train/config.h"

namespace filigree::internal {

namespace {

const char* const kModel = "model.safetensors";

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

}  // namespace

RunLog::RunLog(const RunFiles& files) : files_(files) {
  if (files.directory.empty()) return;
  // Locked before anything is read or written there.
  if (!files.resume) make_directory(files.directory);
  if (std::filesystem::exists(files.directory)) lock_ = lock_directory(files.directory);
  if (!files.resume) require_no_run(files.directory);
  if (files.resume && !std::filesystem::exists(checkpoint()))
    fail(
        "{0}: there is no checkpoint to resume from, as before the end of the first epoch; start again, with "
        "the settings of {0}/config.toml",
        files.directory.string());
}

std::filesystem::path RunLog::checkpoint() const {
  return files_.directory / "checkpoint.safetensors";
}

TrainState RunLog::resumed(const TrainOptions& options, const Dataset& data,
                           const TrainObserver& observer) const {
  TrainState state = read_checkpoint(Source(checkpoint()), options);
  TrainOptions asked = options;
  if (asked.evolution.update_every == 0)
    asked.evolution.update_every = state.options.evolution.update_every;  // as it was chosen then
  check_same_settings(asked, state.options, checkpoint());
  if (state.data_fingerprint != fingerprint(data))
    fail("{}: was written by a run on other data than {}", checkpoint().string(), data.name);
  if (!state.simd.empty() && state.simd != simd_name() && observer.warning)
    observer.warning(
        fmt::format("{}: was written by a run with {} instructions, and this machine has {}: sums are added "
                    "in another order, so the results will differ in their last bits",
                    checkpoint().string(), state.simd, simd_name()));
  return state;
}

void RunLog::begin(const TrainState& state) const {
  if (files_.directory.empty()) return;
  if (!files_.resume) write_file(files_.directory / "config.toml", to_toml({files_.data, state.options}));
  if (state.step == 0) keep_early(state);
}

void RunLog::after_epoch(const TrainState& state) const {
  if (files_.directory.empty()) return;
  keep_early(state);
  after_stop(state);
}

void RunLog::after_stop(const TrainState& state) const {
  if (files_.directory.empty()) return;
  write_metrics(state);
  write_checkpoint(checkpoint(), state);
}

void RunLog::end(const TrainState& state) const {
  if (files_.directory.empty()) return;
  write_metrics(state);
  write_model(files_.directory / kModel, network_of(state));
}

void RunLog::write_metrics(const TrainState& state) const {
  const Task task = fits(state.options.learning.loss, Task::values) ? Task::values : Task::classes;
  std::string lines;
  for (const EpochReport& report : state.history) lines.append(to_json_line(report, task)).push_back('\n');
  write_file(files_.directory / "metrics.jsonl", lines);
}

void RunLog::keep_early(const TrainState& state) const {
  if (static_cast<std::int64_t>(state.history.size()) == files_.early_epochs)
    write_model(files_.directory / "early.safetensors", network_of(state));
}

void RunLog::guard(const Dataset& data, const TrainOptions& options,
                   const std::function<void()>& work) const {
  try {
    work();
  } catch (const Cancelled&) {
    throw;
  } catch (const Error& error) {
    if (files_.directory.empty()) throw;
    if (!std::filesystem::exists(checkpoint()))
      throw Error(fmt::format("{}; there is no checkpoint yet", error.what()));
    TrainState good = read_checkpoint(Source(checkpoint()), options);
    set_facts(good, data);
    write_model(files_.directory / kModel, network_of(good));
    throw Error(fmt::format("{}; the last good checkpoint is {}, and model.safetensors is its network",
                            error.what(), checkpoint().string()));
  }
}

}  // namespace filigree::internal
