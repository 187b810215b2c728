// SPDX-License-Identifier: Apache-2.0
// The challenge, our engines and peers one after another on the same data.
#include <algorithm>
#include <functional>

#include "base/median.h"
#include "base/parallel.h"
#include "base/plugin.h"
#include "base/session.h"
#include "base/system.h"
#include "filigree/bench.h"
#include "infer/device_executor.h"
#include "peers.h"
#include "recipes/challenge_setup.h"

namespace filigree {

using namespace internal;

namespace {

struct Timed {
  std::vector<double> seconds;
  std::vector<Index> categories;
};

// One run to warm up, then `repeat` timed ones; slow peers get fewer.
Timed time_runs(int repeat, bool warm_up, const std::function<std::vector<Index>()>& run,
                const Observer& observer) {
  constexpr double kSlow = 20;  // seconds: a peer this slow is timed once
  Timed timed;
  const int rounds = repeat + (warm_up ? 1 : 0);
  for (int r = 0; r < rounds; ++r) {
    observer.check_stop();
    const double start = seconds_now();
    timed.categories = run();
    const double seconds = seconds_now() - start;
    if (warm_up && r == 0 && seconds < kSlow) continue;
    timed.seconds.push_back(seconds);
    if (seconds >= kSlow) break;
  }
  return timed;
}

}  // namespace

ChallengeBench bench_challenge(const ChallengeBenchOptions& options, const Observer& observer) {
  ChallengeBench bench;
  bench.threads = threads();
  bench.processor = processor_name();
  const ChallengeData data = load_challenge(options.source, true, observer);
  bench.neurons = data.network.inputs();
  bench.layers = data.network.layers();
  bench.inputs = data.images.rows;
  const auto fraction_of = memory_limit_or_usual(options.memory_limit) / 2;

  std::vector<std::vector<Index>> answers;
  const auto add = [&](const std::string& name, const Timed& timed) {
    const auto [fastest, slowest] = std::ranges::minmax(timed.seconds);
    bench.rows.push_back({name, median(timed.seconds), fastest, slowest, 0, true});
    answers.push_back(timed.categories);
  };
  const Observer quiet{{}, observer.stop};

  if (options.peers) {
    const auto* const built = static_cast<const Peers*>(load_plugin("peers"));
    const Peers peers = built == nullptr ? Peers{} : *built;
    const auto time_peer = [&](const char* name, int repeat, bool warm, const auto& make) {
      observer.report(name, 0, 1);
      const std::unique_ptr<ChallengePeer> peer = make();
      add(name, time_runs(
                    repeat, warm, [&] { return peer->run(); }, observer));
      observer.report(name, 1, 1);
    };
    if (peers.graphblas != nullptr)
      time_peer("graphblas", options.repeat, true,
                [&] { return peers.graphblas(data.layers(), data.images, threads()); });
    if (peers.eigen != nullptr)
      time_peer("eigen", std::min(options.repeat, 3), false,
                [&] { return peers.eigen(data.layers(), data.images); });
    if (peers.graphblas == nullptr) bench.missing.emplace_back("graphblas (libgraphblas-dev)");
    if (peers.eigen == nullptr) bench.missing.emplace_back("eigen (libeigen3-dev)");
  }
  for (const Engine engine : {Engine::plain, Engine::compiled}) {
    if (engine == Engine::plain && !options.plain) continue;
    const double began = seconds_now();
    const PreparedEngine prepared = prepare_engine(engine, data.network, fraction_of, observer);
    const double prepare_seconds = seconds_now() - began;
    bench.connections = prepared.connections;
    RunOptions run_options;
    run_options.merge_rows = true;
    run_options.memory_limit = fraction_of;
    run_options.bits = data.bits.bits.empty() ? nullptr : &data.bits;
    const std::string name(word(engine));
    observer.report(name, 0, 1);
    add(name, time_runs(
                  options.repeat, true,
                  [&] { return find_categories(prepared.plan, data.images, run_options, quiet).run.live; },
                  observer));
    bench.rows.back().prepare_seconds = prepare_seconds;
    observer.report(name, 1, 1);
    const auto device = device_executor();
    if (device == nullptr) continue;
    prepare(prepared.plan, *device);
    run_options.device = device.get();
    add("cuda " + name,
        time_runs(
            options.repeat, true,
            [&] { return find_categories(prepared.plan, data.images, run_options, quiet).run.live; },
            observer));
  }
  for (BenchRow& row : bench.rows)
    row.rate = static_cast<double>(bench.inputs) * bench.connections / row.seconds;
  // Without an official list all must agree with the engine that was checked against the reference.
  const std::vector<Index>& compiled = answers.back();
  const Verification verification =
      verify_categories(data, compiled, bench.connections, Check::automatic, observer);
  bench.categories = compiled.size();
  bench.verified = verification.verified;
  bench.mismatches = verification.mismatches.size();
  for (std::size_t i = 0; i < answers.size(); ++i)
    bench.rows[i].right = verification.mismatches.empty() && answers[i] == compiled;
  bench.peak_memory_bytes = peak_memory_bytes();
  DenseGemm dense(1024, threads());
  std::vector<double> dense_rates;
  for (int r = 0; r < std::max(3, options.repeat); ++r) dense_rates.push_back(dense.fma_rate());
  bench.dense_fma_rate = median(dense_rates);
  return bench;
}

}  // namespace filigree
