// Training behind the public API.
#include "filigree/train.h"

#include "api/data_impl.h"
#include "api/network_impl.h"
#include "train/config.h"
#include "train/presets.h"
#include "train/trainer.h"

namespace filigree {

TrainRun train(const Data& data, const TrainOptions& options, const RunDirectory& directory,
               const TrainObserver& observer) {
  const Data::Impl& impl = data.impl();
  TrainOptions complete = options;
  if (complete.network.empty()) complete.network = {data.features(), 256, 256, 256, data.classes()};
  const RunFiles files{directory.path, directory.resume, directory.test_every_epoch, impl.options};
  TrainOutcome outcome = run_training(impl.dataset, complete, files, observer);
  Model model = to_model(outcome.state, false);
  double all = 0;
  Offset connections = 0;
  std::vector<LayerReport> layers;
  for (const TrainLayer& layer : outcome.state.layers) {
    layers.push_back({layer.inputs, layer.outputs, static_cast<Offset>(layer.connections())});
    connections += layers.back().connections;
    all += static_cast<double>(layer.capacity());
  }
  double seconds = 0, evolve_seconds = 0;
  for (const EpochReport& epoch : outcome.state.history) {
    seconds += epoch.seconds;
    evolve_seconds += epoch.evolve_seconds;
  }
  auto source = std::make_shared<MemoryLayers>(std::move(model.layers), "trained on " + impl.dataset.name);
  Network network(std::make_shared<Network::Impl>(Network::Impl{std::move(source),
                                                                {},
                                                                {},
                                                                {},
                                                                std::move(model.input_mean),
                                                                std::move(model.input_scale),
                                                                std::move(model.loss),
                                                                std::move(model.class_label)}));
  return {std::move(network),
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

}  // namespace filigree
