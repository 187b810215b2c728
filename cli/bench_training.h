// The training side of filigree bench.
#pragma once

#include "cli/command.h"

namespace filigree::cli {

Run add_bench_training(CLI::App& bench);
Run add_bench_accuracy(CLI::App& bench);

}  // namespace filigree::cli
