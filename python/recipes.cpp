// SPDX-License-Identifier: Apache-2.0
// Jobs made of networks, plans and training: scores, exact passes, pruning, growth, the challenge.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "calls.h"
#include "filigree/analyze.h"
#include "filigree/challenge.h"
#include "filigree/compress.h"
#include "filigree/evaluate.h"

namespace filigree::python {

using namespace nb::literals;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

void apply(TrainOptions& options, const Settings& settings) {
  for (const auto& [name, text] : settings) apply_setting(options, name, text);
}

nb::dict evaluation(const Network& network, const Data& data, const std::string& part) {
  EvaluateOptions options;
  options.part = word_called<Part>(part, "part");
  const Evaluation result =
      interruptible([&](const Observer& observer) { return evaluate(network, data, options, observer); });
  nb::dict metrics;
  for (const Metric& metric : result.metrics) metrics[metric.name.c_str()] = metric.value;
  metrics["loss"] = result.loss;
  return metrics;
}

nb::dict footprint_dict(const Footprint& footprint, std::uint64_t bytes) {
  nb::dict d, seconds;
  for (const Footprint::Timing& timing : footprint.timings) seconds[nb::int_(timing.batch)] = timing.seconds;
  d["connections_and_biases"] = footprint.parameters;
  d["neurons"] = footprint.neurons;
  d["memory_bytes"] = footprint.memory_bytes;
  d["file_bytes"] = bytes;
  d["accuracy"] = footprint.accuracy;
  d["seconds"] = seconds;
  return d;
}

nb::tuple pruned(const Network& network, const std::shared_ptr<const Data>& data, const std::string& method,
                 double target, bool once, const Settings& settings, const std::filesystem::path& directory) {
  PruneOptions options;
  options.training = pruning_defaults();
  apply_method(options, word_called<PruneMethod>(method, "method"));
  if (options.training.pruning.structure != Structure::n_of_m)
    options.training.evolution.final_sparsity = target;
  if (once) options.training.pruning.schedule = PruneSchedule::once;
  apply(options.training, settings);
  const PruneRun run = interruptible([&](const Observer& observer) {
    return prune(network, *data, options, {.path = directory},
                 {for_training(observer), observer, observer.warning});
  });
  return nb::make_tuple(run.compact, footprint_dict(run.before, run.bytes_before),
                        footprint_dict(run.after, run.bytes_after));
}

nb::tuple grown(const std::shared_ptr<const Data>& data, Offset budget, int stages, int deepen,
                const TrainOptions& options, const std::filesystem::path& directory) {
  const Growth growth{.budget = budget, .stages = stages, .deepen = deepen};
  const TrainRun run = interruptible([&](const Observer& observer) {
    return grow(*data, completed(options, *data), growth, {.path = directory}, for_training(observer));
  });
  std::vector<nb::dict> history;
  for (const EpochReport& report : run.epochs) history.push_back(report_dict(report));
  return nb::make_tuple(run.network, history);
}

nb::tuple compiled(const Network& network) {
  const CompileResult result =
      interruptible([&](const Observer& observer) { return compile_network(network, observer); });
  std::vector<nb::dict> passes;
  for (const CompilePass& pass : result.passes) {
    nb::dict d;
    d["name"] = pass.name;
    d["neurons_removed"] = pass.neurons_removed;
    d["connections_removed"] = pass.connections_removed;
    passes.push_back(std::move(d));
  }
  return nb::make_tuple(result.network, passes);
}

std::vector<nb::dict> timing_dicts(const std::vector<BatchTiming>& timings) {
  std::vector<nb::dict> all;
  for (const BatchTiming& timing : timings) {
    nb::dict d;
    d["rows"] = timing.rows;
    d["seconds"] = timing.seconds;
    d["dense_seconds"] = timing.dense_seconds;
    d["speed_up"] = timing.speed_up();
    all.push_back(std::move(d));
  }
  return all;
}

nb::dict analyzed(const Network& network, const std::vector<Index>& batches, double seconds) {
  const Analysis analysis = interruptible([&](const Observer& observer) {
    return analyze(network, {.batches = batches, .seconds = seconds}, observer);
  });
  std::vector<nb::dict> layers;
  for (const LayerAnalysis& layer : analysis.layers) {
    nb::dict d;
    d["inputs"] = layer.inputs;
    d["outputs"] = layer.outputs;
    d["connections"] = layer.connections;
    d["sparsity"] = layer.sparsity;
    d["structure"] = layer.structure;
    d["kernel"] = layer.kernel;
    d["timings"] = timing_dicts(layer.timings);
    d["compute_share"] = layer.compute_share;
    d["memory_share"] = layer.memory_share;
    d["advice"] = layer.advice;
    layers.push_back(std::move(d));
  }
  nb::dict d;
  d["summary"] = analysis.summary;
  d["processor"] = analysis.processor;
  d["threads"] = analysis.threads;
  d["dense_rate"] = analysis.dense_rate;
  d["copy_rate"] = analysis.copy_rate;
  d["network"] = timing_dicts(analysis.network);
  d["layers"] = layers;
  return d;
}

nb::dict challenge(Index neurons, Index layers, std::optional<Index> inputs, std::uint64_t seed,
                   const std::filesystem::path& data, const std::filesystem::path& mnist,
                   const std::string& engine, const std::string& check, int repeat) {
  ChallengeOptions options;
  options.source = {neurons, layers, inputs, data, mnist, seed};
  options.engine = word_called<Engine>(engine, "engine");
  options.check = word_called<Check>(check, "check");
  options.repeat = repeat;
  const ChallengeResult result =
      interruptible([&](const Observer& observer) { return run_challenge(options, observer); });
  nb::dict d;
  d["neurons"] = result.neurons;
  d["layers"] = result.layers;
  d["inputs"] = result.inputs;
  d["connections"] = result.connections;
  d["compiled_connections"] = result.compiled_connections;
  d["seconds"] = result.seconds;
  d["seconds_all"] = result.seconds_all;
  d["compile_seconds"] = result.compile_seconds;
  d["load_seconds"] = result.load_seconds;
  d["rate"] = result.rate;
  d["categories"] = result.categories;
  d["verified"] = std::string(word(result.verified));
  d["mismatches"] = result.mismatches;
  d["live_rows"] = result.live_rows;
  return d;
}

}  // namespace

void bind_recipes(nb::module_& m) {
  m.def("evaluate", &evaluation, "network"_a, "data"_a, "part"_a = "test");
  m.def("compile_network", &compiled);
  m.def("analyze", &analyzed, "network"_a, "batches"_a, "seconds"_a);
  m.def("prune", &pruned, "network"_a, "data"_a, "method"_a, "target"_a, "once"_a, "settings"_a,
        "directory"_a);
  m.def("growing_options", [](const Settings& settings) {
    TrainOptions options = growing_defaults();
    apply(options, settings);
    return options;
  });
  m.def("grow", &grown, "data"_a, "budget"_a, "stages"_a, "deepen"_a, "options"_a, "directory"_a);
  m.def("challenge", &challenge, "neurons"_a, "layers"_a, "inputs"_a, "seed"_a, "data"_a, "mnist"_a,
        "engine"_a, "check"_a, "repeat"_a);
}

}  // namespace filigree::python
