// SPDX-License-Identifier: Apache-2.0
// The Sparse DNN Graph Challenge: run it, check it, write its files.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "filigree/options.h"

#pragma GCC visibility push(default)
namespace filigree {

struct ChallengeInputs {
  Index neurons = 1024;              // pixels of an image, too
  Index layers = 0;                  // 0: 120, or as many as the files have
  std::optional<Index> inputs;       // the first so many images; default all, 60000 if generated
  std::filesystem::path data = {};   // official files; empty: generate the network
  std::filesystem::path mnist = {};  // MNIST's idx files; empty: digits drawn by the program
  std::uint64_t seed = 1;
};

struct ChallengeOptions {
  ChallengeInputs source = {};
  Engine engine = Engine::compiled;
  bool filter = true;
  bool merge_rows = true;
  DeviceKernel kernel = DeviceKernel::fused;
  int repeat = 1;
  std::uint64_t memory_limit = 0;  // bytes; 0: three quarters of the machine's
  Check check = Check::automatic;
};

// What an answer was compared with: nothing, rows of the double-precision reference, the official list.
enum class Verified { none, reference, official };
template <>
struct Words<Verified> {
  static constexpr std::array<std::string_view, 3> kWords = {"none", "reference", "official"};
};

struct ChallengeResult {
  std::string network, images;  // what was run
  Index neurons = 0, layers = 0, inputs = 0;
  Offset connections = 0;
  Engine engine = Engine::compiled;
  int threads = 0;
  double seconds = 0;               // median of seconds_all
  std::vector<double> seconds_all;  // inputs and network in memory → category list in memory
  double rate = 0;                  // inputs × connections / seconds
  double load_seconds = 0, compile_seconds = 0;
  Offset compiled_connections = 0;  // of the network that was run
  bool streamed = false;            // layers were made or read while running
  std::vector<Index> categories;    // 0-based, ascending
  Verified verified = Verified::none;
  Offset checked_rows = 0;
  std::vector<Index> mismatches;  // rows (0-based) whose category differs from the truth
  Offset settled_rows = 0;        // rows near the edge of rounding, settled in the plain order of summation
  std::vector<Offset> live_rows, distinct_rows;  // per layer
  std::uint64_t peak_memory_bytes = 0;
  std::string processor, device;  // device: "cpu", or the session's
};

// Throws std::invalid_argument on options that make no sense, Error on everything else that goes wrong.
[[nodiscard]] ChallengeResult run_challenge(const ChallengeOptions& options, const Observer& observer = {});

// Files, all atomic. Names that end in .gz are compressed. These functions and run_challenge() may run on any
// number of threads at the same time, each in its own session.
void write_category_file(const std::filesystem::path& path, std::span<const Index> categories);
void write_challenge_images(const ChallengeInputs& source, const std::filesystem::path& path,
                            const Observer& observer = {});
// The official layout: layers, images and the categories that the double-precision reference finds.
enum class FileForm { plain, gzip };
void write_challenge_files(const ChallengeInputs& source, const std::filesystem::path& directory,
                           FileForm form = FileForm::plain, const Observer& observer = {});

}  // namespace filigree
#pragma GCC visibility pop
