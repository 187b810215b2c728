// SPDX-License-Identifier: Apache-2.0
// The commands of filigree bench that have files of their own.
#pragma once

#include "cli/command.h"
#include "filigree/bench.h"

namespace filigree::cli {

Run add_bench_training(CLI::App& bench);
Run add_bench_accuracy(CLI::App& bench);
Run add_bench_compression(CLI::App& bench);
Run add_bench_device(CLI::App& bench);
Run add_bench_export(CLI::App& bench);
Run add_bench_activations(CLI::App& bench);

nlohmann::json rows_json(const std::vector<BenchRow>& rows);

}  // namespace filigree::cli
