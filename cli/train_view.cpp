// SPDX-License-Identifier: Apache-2.0
#include "cli/train_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "cli/command.h"
#include "cli/evaluation_view.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

// Without its name, for a column.
std::string score_column(Task task, double score) {
  if (std::isnan(score)) return "–";
  return task == Task::values ? fmt::format("{:.4f}", score) : fmt::format("{:.2f} %", 100 * score);
}

std::string short_score(Task task, double score) {
  return task == Task::values ? fmt::format("R² {:.3f}", score) : fmt::format("acc {:.1f} %", 100 * score);
}

}  // namespace

TrainView::TrainView(bool quiet, bool tested_every_epoch, Task task)
    : task_(task),
      quiet_(quiet),
      tested_(tested_every_epoch),
      terminal_(isatty(STDERR_FILENO) == 1),
      shown_at_(now()) {}

TrainView::~TrainView() {
  clear();
}

TrainObserver TrainView::observer(std::stop_token stop) {
  TrainObserver observer;
  observer.stop = std::move(stop);
  observer.warning = [this](const std::string& text) {
    clear();
    complain("warning: " + text);
  };
  if (quiet_) return observer;
  observer.step = [this](const StepReport& step) { show(step); };
  observer.epoch = [this](const EpochReport& epoch) { show(epoch); };
  return observer;
}

void TrainView::clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

void TrainView::show(const StepReport& step) {
  const double time = now();
  if (time - shown_at_ < (terminal_ ? kBarInterval : kLineInterval)) return;
  shown_at_ = time;
  const std::string left = fmt::format("epoch {}/{}", step.epoch, step.epochs);
  const double share = step.steps > 0 ? static_cast<double>(step.step) / step.steps : 0;
  // The most important first: a narrow terminal drops the last ones.
  const std::vector<std::string> facts = {fmt::format("loss {:.3f}", step.loss),
                                          short_score(task_, step.score),
                                          fmt::format("nnz {}", with_commas(step.connections)),
                                          fmt::format("{} samples/s", short_count(step.samples_per_second)),
                                          fmt::format("{} left", duration(step.seconds_left))};
  if (terminal_) {
    std::fputs(bar_line(left, share, facts, terminal_width()).c_str(), stderr);
    drawn_ = true;
  } else {
    fmt::print(stderr, "{} {:3.0f} %  {}\n", left, 100 * share, fmt::join(facts, "  "));
  }
  std::fflush(stderr);
}

void TrainView::show(const EpochReport& epoch) {
  clear();
  shown_at_ = now();
  struct Column {
    const char* head;
    std::size_t width;
    std::string text;
  };
  std::vector<Column> columns = {
      {"epoch", 6, fmt::format("{}", epoch.epoch)},
      {"loss", 8, fmt::format("{:.4f}", epoch.train_loss)},
      {task_ == Task::values ? "train R²" : "train", 8, score_column(task_, epoch.train_score)},
      {"validation", 10, score_column(task_, epoch.validation_score)}};
  if (tested_) columns.push_back({"test", 8, score_column(task_, epoch.test_score)});
  columns.push_back({"connections", 12, with_commas(epoch.connections)});
  columns.push_back(
      {"dropped/grown", 15, fmt::format("{}/{}", with_commas(epoch.dropped), with_commas(epoch.grown))});
  columns.push_back({"dead", 6, with_commas(epoch.dead_neurons)});
  columns.push_back({"seconds", 8, fmt::format("{:.2f}", epoch.seconds)});
  std::string head, line;  // as many columns as a narrow terminal has room for
  const std::size_t room = isatty(STDOUT_FILENO) == 1 ? static_cast<std::size_t>(terminal_width()) : 1000;
  for (std::size_t used = 0; const Column& column : columns) {
    used += column.width + 1;
    if (used > room + 1) break;
    head += fmt::format("{}{:>{}}", head.empty() ? "" : " ", column.head, column.width);
    line += fmt::format("{}{:>{}}", line.empty() ? "" : " ", column.text, column.width);
  }
  if (!headed_) fmt::print("{}\n", head);
  headed_ = true;
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

std::string shape_text(const std::vector<Index>& network) {
  return fmt::format("{}", fmt::join(network, "-"));
}

nlohmann::json to_json(const EpochReport& e, Task task) {
  const std::string score = task == Task::values ? "r2" : "accuracy";
  return {{"epoch", e.epoch},
          {"lr", e.lr},
          {"train_loss", e.train_loss},
          {"train_" + score, e.train_score},
          {"validation_loss", e.validation_loss},
          {"validation_" + score, e.validation_score},
          {"validation_metric", e.validation_metric},
          {"test_" + score, e.test_score},
          {"connections", e.connections},
          {"sparsity", e.sparsity},
          {"dropped", e.dropped},
          {"grown", e.grown},
          {"dead_neurons", e.dead_neurons},
          {"seconds", e.seconds},
          {"evolve_seconds", e.evolve_seconds},
          {"samples_per_second", e.samples_per_second}};
}

namespace {

std::string test_text(const TrainRun& run, const Data& data) {
  const std::string rows = with_commas(data.test_rows());
  switch (data.task()) {
    case Task::classes:
      return fmt::format("{} of {} rows right", score_text(Task::classes, run.test_score), rows);
    case Task::labels:
      return fmt::format("{} of the labels of {} rows right", score_text(Task::labels, run.test_score), rows);
    case Task::values:
      return fmt::format("{} on {} rows", score_text(Task::values, run.test_score), rows);
  }
  return "";
}

}  // namespace

void print_outcome(const Common& common, const TrainRun& run, const Data& data) {
  if (!std::isnan(run.test_score))
    print_line(common, "test", fmt::format("{}, loss {:.4f}", test_text(run, data), run.test_loss));
  print_line(common, "network",
             fmt::format("{}: {} connections, {:.2f} % sparse", shape_text(run.options.network.neurons),
                         with_commas(run.connections), 100 * run.sparsity));
}

}  // namespace filigree::cli
