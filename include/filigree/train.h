// Training: networks that are sparse from the first step to the last, with an evolving topology.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "filigree/network.h"
#include "filigree/options.h"

namespace filigree {

// A data set in memory, with a training and a test part. Copies share it.
class Data {
 public:
  struct Impl;
  explicit Data(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  Index features() const;
  Index classes() const;
  Index train_rows() const;
  Index test_rows() const;
  std::string describe() const;  // "Fashion-MNIST: 60,000 + 10,000 rows of 784 features, 10 classes"
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

Data load_data(const DataOptions& options, const Observer& observer = {});
// From arrays: `features` values a row, one label (0, 1, …) a row; without test rows.
Data make_data(std::span<const float> values, std::span<const Index> labels, Index features);

struct LayerReport {
  Index inputs = 0, outputs = 0;
  Offset connections = 0;
};

struct EpochReport {
  std::int64_t epoch = 0;  // counted from 1
  std::int64_t epochs = 0;
  double lr = 0;                   // at the end of the epoch
  double train_loss = 0;           // mean over the epoch's batches, as trained (dropout included)
  double train_accuracy = 0;       // the same
  double validation_accuracy = 0;  // NaN without a validation part
  double validation_loss = 0;
  double test_accuracy = 0;  // NaN unless this was the last epoch or asked for
  Offset connections = 0;
  double sparsity = 0;
  Offset dropped = 0, grown = 0;  // in this epoch
  Index dead_neurons = 0;         // hidden neurons without an input or without a reader
  double seconds = 0;             // of this epoch's training
  double evolve_seconds = 0;      // of those, for evolution
  double samples_per_second = 0;
};

// A moment within an epoch, for a live view.
struct StepReport {
  std::int64_t epoch = 0, epochs = 0;
  std::int64_t step = 0, steps = 0;  // of this epoch
  double loss = 0, accuracy = 0;     // of this epoch so far
  double last_accuracy = 0;          // validation or training accuracy of the last finished epoch
  Offset connections = 0;
  double samples_per_second = 0;
  double seconds_left = 0;  // of the whole run
};

struct TrainObserver {
  std::function<void(const EpochReport&)> epoch = {};
  std::function<void(const StepReport&)> step = {};  // a few times a second
  std::stop_token stop = {};  // the run stops after the step it is in, with a checkpoint
};

struct TrainRun {
  Network network;
  TrainOptions options;
  std::vector<EpochReport> epochs;  // those before a resume included
  double test_accuracy = 0;         // fraction; NaN without a test part
  double test_loss = 0;
  double sparsity = 0;
  Offset connections = 0;
  double seconds = 0;  // of training, evaluation left out
  double evolve_seconds = 0;
  std::vector<LayerReport> layers;
  bool stopped_early = false;
};

// Where a run leaves its files: model.safetensors, metrics.jsonl, config.toml, checkpoint.safetensors.
struct RunDirectory {
  std::filesystem::path path = {};  // empty: no files
  bool resume = false;              // go on from its checkpoint; settings must be the same, epochs may grow
  bool test_every_epoch = false;    // for curves; never used for choices
};

// Throws Cancelled after a stop, with the checkpoint written.
TrainRun train(const Data& data, const TrainOptions& options, const RunDirectory& directory = {},
               const TrainObserver& observer = {});

// The settings behind a preset's name: "ertl", "best", "fast".
TrainOptions preset_options(const std::string& name);

// TOML: a `preset` key is applied first, then the others. Unknown keys and wrong types are errors with their
// line.
struct TrainConfig {
  DataOptions data;
  TrainOptions options;
};
TrainConfig read_config(const std::filesystem::path& path, const TrainConfig& defaults = {});
std::string to_toml(const TrainConfig& config);

// How well a network does on data: the fraction of rows whose largest output is their label.
struct Evaluation {
  Index rows = 0;
  double accuracy = 0;
  double loss = 0;  // softmax cross-entropy of the outputs, or mean squared error of sigmoid outputs
  double seconds = 0;
  std::vector<Index> wrong_by_class, rows_by_class;
};
enum class Part { train, test };
Evaluation evaluate(const Network& network, const Data& data, Part part = Part::test,
                    const Observer& observer = {});

}  // namespace filigree
