#include "cli/train_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "cli/command.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

constexpr double kLiveInterval = 0.1;   // seconds between two drawings
constexpr double kLineInterval = 10.0;  // between two lines where there is no terminal

std::string percent(double share) {
  return std::isnan(share) ? "–" : fmt::format("{:.2f} %", 100 * share);
}

}  // namespace

TrainView::TrainView(bool quiet, bool tested_every_epoch)
    : quiet_(quiet), tested_(tested_every_epoch), terminal_(isatty(STDERR_FILENO) == 1), shown_at_(now()) {}

TrainView::~TrainView() {
  clear();
}

TrainObserver TrainView::observer(std::stop_token stop) {
  TrainObserver observer;
  observer.stop = std::move(stop);
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
  if (time - shown_at_ < (terminal_ ? kLiveInterval : kLineInterval)) return;
  shown_at_ = time;
  const std::string left = fmt::format("epoch {}/{}", step.epoch, step.epochs);
  const double share = step.steps > 0 ? static_cast<double>(step.step) / static_cast<double>(step.steps) : 0;
  // The most important first: a narrow terminal drops the last ones.
  const std::vector<std::string> facts = {fmt::format("loss {:.3f}", step.loss),
                                          fmt::format("acc {:.1f} %", 100 * step.accuracy),
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
  const auto line = [this](const auto& number, const auto& loss, const auto& train, const auto& validation,
                           const auto& test, const auto& connections, const auto& changed, const auto& dead,
                           const auto& seconds) {
    fmt::print("{:>6} {:>8} {:>8} {:>10}{} {:>12} {:>15} {:>6} {:>8}\n", number, loss, train, validation,
               tested_ ? fmt::format(" {:>8}", test) : "", connections, changed, dead, seconds);
  };
  if (!headed_)
    line("epoch", "loss", "train", "validation", "test", "connections", "dropped/grown", "dead", "seconds");
  headed_ = true;
  line(epoch.epoch, fmt::format("{:.4f}", epoch.train_loss), percent(epoch.train_accuracy),
       percent(epoch.validation_accuracy), percent(epoch.test_accuracy), with_commas(epoch.connections),
       fmt::format("{}/{}", with_commas(epoch.dropped), with_commas(epoch.grown)),
       with_commas(epoch.dead_neurons), fmt::format("{:.2f}", epoch.seconds));
  std::fflush(stdout);
}

std::string shape_text(const std::vector<Index>& network) {
  return fmt::format("{}", fmt::join(network, "-"));
}

nlohmann::json to_json(const EpochReport& e) {
  return {{"epoch", e.epoch},
          {"lr", e.lr},
          {"train_loss", e.train_loss},
          {"train_accuracy", e.train_accuracy},
          {"validation_loss", e.validation_loss},
          {"validation_accuracy", e.validation_accuracy},
          {"test_accuracy", e.test_accuracy},
          {"connections", e.connections},
          {"sparsity", e.sparsity},
          {"dropped", e.dropped},
          {"grown", e.grown},
          {"dead_neurons", e.dead_neurons},
          {"seconds", e.seconds},
          {"evolve_seconds", e.evolve_seconds},
          {"samples_per_second", e.samples_per_second}};
}

}  // namespace filigree::cli
