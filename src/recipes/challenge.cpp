// SPDX-License-Identifier: Apache-2.0
#include "filigree/challenge.h"

#include <numeric>

#include "base/error.h"
#include "base/median.h"
#include "base/parallel.h"
#include "base/session.h"
#include "base/system.h"
#include "filigree/runtime.h"
#include "infer/device_executor.h"
#include "infer/reference.h"
#include "io/challenge_files.h"
#include "recipes/challenge_setup.h"

namespace filigree {

using namespace internal;

ChallengeResult run_challenge(const ChallengeOptions& options, const Observer& observer) {
  if (options.repeat < 1) throw std::invalid_argument(fmt::format("repeat {} times", options.repeat));
  if (options.kernel != DeviceKernel::fused && options.engine == Engine::compiled)
    throw std::invalid_argument(fmt::format(
        "the baseline {} computes a network as it is: choose the plain engine", word(options.kernel)));
  ChallengeResult result;
  result.engine = options.engine;
  result.threads = threads();
  result.processor = processor_name();
  result.device = Session::current().device_name();

  const std::uint64_t limit = memory_limit_or_usual(options.memory_limit);
  const auto bits = static_cast<double>(options.source.inputs.value_or(1)) * options.source.neurons / 8;
  if (bits >= limit)  // said before anything is made
    fail_for("memory_limit", "{} inputs of {} pixels take {:.0f} bytes and more, but the memory limit is {}",
             *options.source.inputs, options.source.neurons, bits, limit);
  double start = seconds_now();
  const ChallengeData data = load_challenge(options.source, options.check != Check::none, observer);
  result.load_seconds = seconds_now() - start;
  result.network = data.network.describe();
  result.images = data.images_from;
  result.neurons = data.network.inputs();
  result.layers = data.network.layers();
  result.inputs = data.images.rows;

  const auto input_bytes =
      data.images.nnz() * sizeof(std::uint16_t) + data.bits.bits.size() * sizeof(std::uint32_t);
  if (input_bytes >= limit)
    fail_for("memory_limit", "the inputs alone take {} bytes, but the memory limit is {}", input_bytes,
             limit);
  start = seconds_now();
  const PreparedEngine engine =
      prepare_engine(options.engine, data.network, (limit - input_bytes) / 2, observer);
  result.compile_seconds = seconds_now() - start;
  result.connections = engine.connections;
  result.compiled_connections = engine.compiled_connections;
  result.streamed = engine.streamed;

  RunOptions run_options;
  run_options.filter = options.filter;
  run_options.merge_rows = options.merge_rows;
  run_options.memory_limit = limit - input_bytes;
  run_options.bits = data.bits.bits.empty() ? nullptr : &data.bits;
  const auto device = device_executor({options.kernel});
  if (device == nullptr && options.kernel != DeviceKernel::fused)
    throw std::invalid_argument("a kernel is chosen for CUDA devices, but this run is on the CPU");
  if (device != nullptr) {
    observer.report("prepare", 0, 1, "plans");
    prepare(engine.plan, *device);
    run_options.device = device.get();
  }
  CategoryResult found;
  for (int r = 0; r < options.repeat; ++r) {
    start = seconds_now();
    found = find_categories(engine.plan, data.images, run_options, observer);
    result.seconds_all.push_back(seconds_now() - start);
  }
  result.seconds = median(result.seconds_all);
  result.rate = static_cast<double>(result.inputs) * result.connections / result.seconds;
  result.categories = std::move(found.run.live);
  result.live_rows = std::move(found.run.live_rows);
  result.distinct_rows = std::move(found.run.distinct_rows);
  result.settled_rows = found.settled_rows;
  result.peak_memory_bytes = peak_memory_bytes();
  Verification verification =
      verify_categories(data, result.categories, result.connections, options.check, observer);
  result.verified = verification.verified;
  result.checked_rows = verification.checked_rows;
  result.mismatches = std::move(verification.mismatches);
  return result;
}

void write_category_file(const std::filesystem::path& path, std::span<const Index> categories) {
  write_categories(path, categories);
}

void write_challenge_images(const ChallengeInputs& source, const std::filesystem::path& path,
                            const Observer& observer) {
  std::string described;
  write_images(path, load_challenge_images(source, described, observer));
}

void write_challenge_files(const ChallengeInputs& source, const std::filesystem::path& directory,
                           FileForm form, const Observer& observer) {
  const std::filesystem::path layers_directory = layer_path(directory, source.neurons, 1).parent_path();
  if (std::filesystem::exists(layers_directory))
    fail("{}: already there; layers of two networks would mix", layers_directory.string());
  const ChallengeData data = load_challenge(source, false, observer);
  const auto name = [&](std::filesystem::path path) {
    if (form == FileForm::gzip) path += ".gz";
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) fail("{}: cannot make this directory: {}", path.parent_path().string(), error.message());
    return path;
  };
  const Index neurons = data.network.inputs();
  const Index layers = data.network.layers();
  for (Index l = 0; l < layers; ++l) {
    observer.check_stop();
    observer.report("write", l, layers, "layers");
    write_layer(name(layer_path(directory, neurons, l + 1)), data.layers().layer(l)->weights.view());
  }
  observer.report("write", layers, layers, "layers");
  write_images(name(images_path(directory, neurons)), data.images);
  std::vector<Index> rows(data.images.rows);
  std::iota(rows.begin(), rows.end(), 0);
  // A list without entries would look like a failed download; without a list the reference is asked again.
  const std::vector<Index> categories = reference_categories(data.layers(), data.images, rows, observer);
  if (!categories.empty()) write_categories(name(categories_path(directory, neurons, layers)), categories);
}

}  // namespace filigree
