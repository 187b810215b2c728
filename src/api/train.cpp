// SPDX-License-Identifier: Apache-2.0
// Training behind the public API.
#include "filigree/train.h"

#include "api/data_impl.h"
#include "api/device_choice.h"
#include "api/network_impl.h"
#include "base/error.h"
#include "train/config.h"
#include "train/presets.h"
#include "train/trainer.h"

namespace filigree {

namespace {

// Labels that hardly ever repeat are no classes but numbers of rows, or measurements.
void check_classes(const Dataset& data) {
  constexpr Index kFew = 20;
  if (data.classes <= kFew || data.classes <= data.train.rows / 2) return;
  fail(
      "{}: {} classes for {} training rows: hardly any has two rows, so there is nothing to learn; is "
      "another column "
      "the label (--label-column)?",
      data.name, data.classes, data.train.rows);
}

TrainRun run(const Data& data, const TrainOptions& options, const RunDirectory& directory,
             const TrainObserver& observer, const Model* start) {
  const Data::Impl& impl = data.impl();
  check_classes(impl.dataset);
  const RunFiles files{directory.path, directory.resume, directory.test_every_epoch, impl.options,
                       directory.early_epochs};
  DevicePlace place;
  if (!chosen_devices().empty()) place = {cuda_backend(), {chosen_devices().begin(), chosen_devices().end()}};
  TrainOutcome outcome = run_training(impl.dataset, options, files, observer, start, place);
  Model model = to_model(outcome.state, false);
  double all = 0;
  Offset connections = 0;
  std::vector<LayerReport> layers;
  for (const TrainLayer& layer : outcome.state.layers) {
    layers.push_back({layer.inputs, layer.outputs, static_cast<Offset>(layer.connections()), layer.role});
    connections += layers.back().connections;
    all += static_cast<double>(layer.capacity());
  }
  double seconds = 0, evolve_seconds = 0;
  for (const EpochReport& epoch : outcome.state.history) {
    seconds += epoch.seconds;
    evolve_seconds += epoch.evolve_seconds;
  }
  return {from_model(std::move(model), "trained on " + impl.dataset.name),
          outcome.state.options,
          std::move(outcome.state.history),
          outcome.test_accuracy,
          outcome.test_loss,
          1 - static_cast<double>(connections) / all,
          connections,
          seconds,
          evolve_seconds,
          std::move(layers),
          outcome.stopped_early};
}

}  // namespace

TrainRun train(const Data& data, const TrainOptions& options, const RunDirectory& directory,
               const TrainObserver& observer) {
  TrainOptions complete = options;
  if (complete.network.empty()) complete.network = {data.features(), 256, 256, 256, data.classes()};
  return run(data, complete, directory, observer, nullptr);
}

TrainRun train_from(const Network& start, const Data& data, const TrainOptions& options,
                    const RunDirectory& directory, const TrainObserver& observer) {
  const Model model = to_model(start);
  return run(data, options, directory, observer, &model);
}

}  // namespace filigree
