// SPDX-License-Identifier: Apache-2.0
// Training behind the public API.
#include "filigree/train.h"

#include "base/error.h"
#include "base/session.h"
#include "data/data.h"
#include "train/config.h"
#include "train/training.h"
namespace filigree::internal {

namespace {

// Labels that hardly ever repeat are no classes but numbers of rows, or measurements.
void check_classes(const Dataset& data) {
  constexpr Index kFew = 20;
  if (data.task != Task::classes || data.classes <= kFew || data.classes <= data.train.rows / 2) return;
  fail_for("label_column",
           "{}: {} classes for {} training rows: hardly any has two rows, so there is nothing to learn; is "
           "another column the label?",
           data.name, data.classes, data.train.rows);
}

TrainRun run(const Data& data, const TrainOptions& options, const RunDirectory& directory,
             const TrainObserver& observer, const Network* start) {
  const Data::Impl& impl = data.impl();
  check_classes(impl.dataset);
  const RunFiles files{directory.path, directory.resume, directory.test_every_epoch, impl.options,
                       directory.early_epochs};
  TrainOutcome outcome = run_training(impl.dataset, options, files, observer, start, place_here());
  Network network = network_of(outcome.state);
  double all = 0;
  Offset connections = 0;
  std::vector<LayerReport> layers;
  for (const TrainLayer& layer : outcome.state.layers) {
    layers.push_back({layer.inputs, layer.outputs, static_cast<Offset>(layer.connections()), layer.role});
    connections += layers.back().connections;
    all += layer.capacity();
  }
  double seconds = 0, evolve_seconds = 0;
  for (const EpochReport& epoch : outcome.state.history) {
    seconds += epoch.seconds;
    evolve_seconds += epoch.evolve_seconds;
  }
  return {std::move(network),
          outcome.state.options,
          std::move(outcome.state.history),
          outcome.test_score,
          outcome.test_loss,
          1 - connections / all,
          connections,
          seconds,
          evolve_seconds,
          std::move(layers),
          outcome.stopped_early,
          outcome.state.best_epoch};
}

}  // namespace

DevicePlace place_here() {
  const std::vector<int>& devices = current_session().devices;
  return devices.empty() ? DevicePlace{} : DevicePlace{cuda_backend(), devices};
}

TrainOptions completed(TrainOptions options, const Dataset& data) {
  Loss& loss = options.learning.loss;
  if (loss == Loss::cross_entropy) loss = usual_loss(data.task);
  std::vector<Index>& neurons = options.network.neurons;
  if (!neurons.empty()) return options;
  neurons = options.network.hidden.empty() ? std::vector<Index>{256, 256, 256} : options.network.hidden;
  neurons.insert(neurons.begin(), data.train.features);
  neurons.push_back(data.outputs(loss));
  return options;
}

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

TrainOptions completed(const TrainOptions& options, const Data& data) {
  return internal::completed(options, data.impl().dataset);
}

TrainRun train(const Data& data, const TrainOptions& options, const RunDirectory& directory,
               const TrainObserver& observer) {
  return run(data, internal::completed(options, data.impl().dataset), directory, observer, nullptr);
}

TrainRun train_from(const Network& start, const Data& data, const TrainOptions& options,
                    const RunDirectory& directory, const TrainObserver& observer) {
  return run(data, options, directory, observer, &start);
}

}  // namespace filigree
