// SPDX-License-Identifier: Apache-2.0
// Every method of compression on one dense network, and its results side by side.
#include <fmt/format.h>

#include <algorithm>

#include "base/median.h"
#include "base/system.h"
#include "data/data.h"
#include "filigree/bench.h"
#include "filigree/compress.h"
#include "infer/rows_loader.h"
#include "infer/time_model.h"
#include "workplace.h"

namespace filigree {

using namespace internal;

namespace {

constexpr Index kRows[] = {1, 32, 512};
constexpr int kTurns = 101;

Offset weights_of(const Network& network) {
  Offset sum = 0;
  for (Index l = 0; l < network.layers(); ++l) sum += static_cast<Offset>(network.layer(l).value.size());
  return sum;
}

// A result with the plan it runs by.
struct Contestant {
  CompressionRow row;
  std::filesystem::path file;
  std::size_t rival = 0;  // the place of the magnitude-pruned one it is compared with
  std::unique_ptr<Plan> plan = {};
  std::vector<std::vector<double>> times = {{}, {}, {}};
};

class Contest {
 public:
  Contest(const CompressionBenchOptions& options, const std::function<void(const std::string&)>& begin,
          const Observer& observer)
      : options_(options),
        begin_(begin),
        observer_(observer),
        data_(load_data(options.data, observer)),
        network_(options.network) {
    training_.stop = observer.stop;
    if (network_.empty()) network_ = {data_.features(), 512, 512, data_.classes()};
  }

  std::vector<CompressionRow> operator()() {
    begin_("dense");
    const TrainRun dense = train(data_, dense_options(), {.path = place_ / "dense"}, training_);
    add("dense", 0, place_ / "dense" / "model.safetensors", dense.test_score, dense.seconds, 0);
    pruned(dense.network, PruneMethod::fssl, options_.target);
    // As many weights as fssl left, which may be fewer than it was asked for.
    const double same =
        1 - static_cast<double>(contestants_.back().row.weights) / contestants_.front().row.weights;
    const std::size_t magnitude = pruned(dense.network, PruneMethod::magnitude, same);
    for (const PruneMethod method :
         {PruneMethod::taylor, PruneMethod::random, PruneMethod::neurons, PruneMethod::blocks})
      contestants_[pruned(dense.network, method, same)].rival = magnitude;
    contestants_[1].rival = magnitude;
    const std::size_t sparser = pruned(dense.network, PruneMethod::magnitude, options_.sparse_target);
    contestants_[pruned(dense.network, PruneMethod::lottery, options_.sparse_target)].rival = sparser;
    begin_("sparse from scratch");
    TrainOptions scratch = dense_options();
    scratch.network.dense = false;
    scratch.network.sparsity = options_.sparse_target;
    const TrainRun run = train(data_, scratch, {.path = place_ / "scratch"}, training_);
    contestants_[add("sparse from scratch", options_.sparse_target, place_ / "scratch" / "model.safetensors",
                     run.test_score, run.seconds, 0)]
        .rival = sparser;
    begin_("times");
    take_turns();
    std::vector<CompressionRow> rows;
    for (Contestant& contestant : contestants_) rows.push_back(std::move(contestant.row));
    return rows;
  }

 private:
  TrainOptions dense_options() const {
    TrainOptions options;
    options.network.neurons = network_;
    options.network.dense = true;
    options.run.epochs = options_.epochs;
    options.learning.input_dropout = options_.input_dropout;
    options.run.seed = options_.seed;
    return options;
  }

  std::size_t add(const std::string& method, double target, const std::filesystem::path& file,
                  double accuracy, double seconds, std::size_t rival) {
    Contestant& one = contestants_.emplace_back();
    const Network network = load(file);
    one.file = file;
    one.rival = rival;
    one.plan = std::make_unique<Plan>(compile(network, {}, observer_));
    one.row.method = method;
    one.row.target = target;
    one.row.weights = weights_of(network);
    for (Index level = 0; level <= network.layers(); ++level) one.row.neurons.push_back(network.width(level));
    one.row.file_bytes = std::filesystem::file_size(file);
    one.row.accuracy = accuracy;
    one.row.training_seconds = seconds;
    return contestants_.size() - 1;
  }

  std::size_t pruned(const Network& dense, PruneMethod method, double target) {
    begin_(fmt::format("{}, {:.1f} %", word(method), 100 * target));
    PruneOptions options;
    options.training = pruning_defaults();
    options.training.evolution.final_sparsity = target;
    options.training.run.epochs = options_.epochs;
    options.training.evolution.update_every = std::clamp<std::int64_t>(
        options_.epochs * data_.train_rows() / options.training.run.batch / 40, 1, 100);
    options.training.learning.input_dropout = options_.input_dropout;
    options.training.run.seed = options_.seed;
    apply_method(options, method);
    options.rows = std::min(kRows[2], std::max(data_.test_rows(), data_.train_rows()));
    const std::filesystem::path path = place_ / fmt::format("{}-{}", word(method), contestants_.size());
    const double start = seconds_now();
    const PruneRun run =
        prune(dense, data_, options, {.path = path}, {.training = training_, .other = observer_});
    const std::size_t at = add(std::string(word(method)), target, path / "compact.safetensors",
                               run.after.accuracy, seconds_now() - start, contestants_.size());
    if (run.time_check) {
      contestants_[at].row.predicted_seconds = run.time_check->predicted;
      contestants_[at].row.prediction_error = run.time_check->error();
    }
    return at;
  }

  void take_turns() {
    const Dataset& dataset = data_.impl().dataset;
    const DataRows& rows = dataset.test.rows > 0 ? dataset.test : dataset.train;
    for (std::size_t size = 0; size < std::size(kRows); ++size) {
      const std::size_t count = std::min(kRows[size], rows.rows);
      for (int turn = -1; turn < kTurns; ++turn)  // the first warms up
        for (Contestant& one : contestants_) {
          observer_.check_stop();
          const std::size_t first = (turn + 1) * count % (rows.rows - count + 1);
          const MakeLoader loader = loader_of(rows, first, count, one.plan->impl());
          const double seconds = warm_seconds([&] { one.plan->impl().run(count, loader, {}); });
          if (turn >= 0) one.times[size].push_back(seconds);
        }
    }
    for (Contestant& one : contestants_) {
      std::vector<double> loads;
      for (int i = 0; i < 15; ++i) {
        const double start = seconds_now();
        (void)load(one.file);
        loads.push_back(seconds_now() - start);
      }
      one.row.load_seconds = median(loads);
      for (std::size_t size = 0; size < std::size(kRows); ++size) {
        std::vector<double> ratios;
        const std::vector<double>& rival = contestants_[one.rival].times[size];
        for (std::size_t i = 0; i < rival.size(); ++i) ratios.push_back(rival[i] / one.times[size][i]);
        one.row.seconds.push_back(median(one.times[size]));
        one.row.speedups.push_back(median(ratios));
      }
    }
  }

  const CompressionBenchOptions& options_;
  const std::function<void(const std::string&)>& begin_;
  const Observer& observer_;
  TrainObserver training_ = {};
  Data data_;
  std::vector<Index> network_;
  Workplace place_;
  std::vector<Contestant> contestants_;
};

}  // namespace

std::vector<CompressionRow> bench_compression(const CompressionBenchOptions& options,
                                              const std::function<void(const std::string&)>& begin,
                                              const Observer& observer) {
  return Contest(options, begin, observer)();
}

}  // namespace filigree
