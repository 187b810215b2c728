// SPDX-License-Identifier: Apache-2.0
// Training: networks that are sparse from the first step to the last, with an evolving topology.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filigree/network.h"
#include "filigree/options.h"
#include "filigree/plan.h"
#include "filigree/reports.h"

#pragma GCC visibility push(default)
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
  bool test_drawn() const;       // the test rows were drawn from the file of the training rows
  std::string describe() const;  // "Fashion-MNIST: 60,000 + 10,000 rows of 784 features, 10 classes"
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

Data load_data(const DataOptions& options, const Observer& observer = {});
// From arrays: `features` values a row, one label (0, 1, …) a row; without test rows.
Data make_data(std::span<const float> values, std::span<const Index> labels, Index features);

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
  bool resume = false;              // go on from its checkpoint; all settings must be the same
  bool test_every_epoch = false;    // for curves; never used for choices
  std::int64_t early_epochs = -1;   // the network after so many epochs is kept, too: early.safetensors
};

// Throws Cancelled after a stop, with the checkpoint written.
TrainRun train(const Data& data, const TrainOptions& options, const RunDirectory& directory = {},
               const TrainObserver& observer = {});

// Goes on from a network instead of beginning by chance: fine-tuning, pruning (Evolve::prune). Its shape,
// densities, activations, loss and scaling of inputs take the place of those in `options`.
TrainRun train_from(const Network& start, const Data& data, const TrainOptions& options,
                    const RunDirectory& directory = {}, const TrainObserver& observer = {});

// The settings behind a preset's name: "ertl", "best", "fast".
TrainOptions preset_options(const std::string& name);

// What there is to set, in the order of for_each_setting, with these defaults.
std::vector<SettingInfo> setting_infos(const TrainOptions& standard = {});
// Sets one of them from text: "0.9", "he", "true", "784-256-10" (network), "0.1,0.2" (densities). Throws
// std::invalid_argument that says what is possible.
void apply_setting(TrainOptions& options, std::string_view name, std::string_view text);

// TOML: a `preset` key is applied first, then the others; it gives way to a preset that `defaults` carries.
// Unknown keys, wrong types and values out of range are errors with their line.
TrainConfig read_config(const std::filesystem::path& path, const TrainConfig& defaults = {});
std::string to_toml(const TrainConfig& config);

// How well a network does on data: the fraction of rows whose largest output is their label.
struct Evaluation {
  Index rows = 0;
  double accuracy = 0;
  double loss = 0;  // softmax cross-entropy of the outputs, or mean squared error of sigmoid outputs
  double seconds = 0;
  std::vector<Index> wrong_by_class, rows_by_class;
  double connections_per_row = 0;         // computed, on average
  std::vector<Offset> rows_by_exit = {};  // see RunWork
};
enum class Part { train, test, all };  // all: both, training rows first
Evaluation evaluate(const Network& network, const Data& data, Part part = Part::test,
                    const Observer& observer = {}, const PlanOptions& options = {});

// Whether a network was trained on data: on rows of the same file, and on these very training rows.
enum class Overlap { unknown, none, same_rows, same_split };
Overlap training_overlap(const Network& network, const Data& data);

}  // namespace filigree
#pragma GCC visibility pop
