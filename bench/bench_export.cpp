// SPDX-License-Identifier: Apache-2.0
// Networks as programs of their own, compiled here and now, next to the library.
#include <dlfcn.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/median.h"
#include "base/random.h"
#include "base/system.h"
#include "data/data.h"
#include "filigree/bench.h"
#include "filigree/export.h"
#include "filigree/plan.h"
#include "workplace.h"

extern char** environ;

namespace filigree {

using namespace internal;

namespace {

using Predict = void (*)(const float*, float*);

void run_compiler(const std::filesystem::path& source, const std::filesystem::path& library) {
  std::string words[] = {"c++",     "-std=c++17",    "-O2", "-fPIC",
                         "-shared", source.string(), "-o",  library.string()};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  if (posix_spawnp(&child, "c++", nullptr, nullptr, arguments.data(), environ) != 0)
    fail("there is no c++ to compile the program with");
  if (waitpid(child, &status, 0) != child || status != 0) fail("c++ failed on {}", source.string());
}

std::vector<float> rows_for(const std::optional<Data>& data, std::size_t rows, std::size_t width) {
  std::vector<float> values(rows * width);
  if (!data) {
    Random random(1);
    for (float& v : values) v = random.uniform(-1, 1);
    return values;
  }
  const Dataset& dataset = data->impl().dataset;
  const DataRows& from = dataset.test.rows > 0 ? dataset.test : dataset.train;
  if (static_cast<std::size_t>(from.features) != width)
    fail("the network has {} inputs, but {} has {} features", width, dataset.name, from.features);
  if (from.sparse()) fail("programs read dense rows, those of {} are sparse", dataset.name);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t row = r % from.rows;
    for (std::size_t i = 0; i < width; ++i)
      values[r * width + i] =
          from.bytes.empty() ? from.floats[row * width + i] : static_cast<float>(from.bytes[row * width + i]);
  }
  return values;
}

}  // namespace

ExportBench bench_export(const Network& network, const std::optional<Data>& data, int repeat,
                         const Observer& observer) {
  constexpr std::size_t kRows = 1024;  // of which each call takes the next
  const Plan plan = compile(network, {}, observer);
  const std::size_t width = plan.inputs(), outputs = plan.outputs();
  const std::vector<float> rows = rows_for(data, kRows, width);
  const Workplace place;
  const ExportedProgram program = export_program(network, place / "program.cpp", "predict", observer);
  observer.report("c++", 0, 1, "program");
  const double start = seconds_now();
  run_compiler(program.source, place / "program.so");
  ExportBench bench{program.forms, program.connections, seconds_now() - start,
                    std::filesystem::file_size(place / "program.so")};
  observer.report("c++", 1, 1, "program");
  const std::unique_ptr<void, int (*)(void*)> handle(
      dlopen((place / "program.so").c_str(), RTLD_NOW | RTLD_LOCAL), dlclose);
  if (handle == nullptr) fail("{}", dlerror());
  const auto predict = reinterpret_cast<Predict>(dlsym(handle.get(), "predict"));
  if (predict == nullptr) fail("{}", dlerror());

  const std::vector<float> expected = plan.run(rows);
  std::vector<float> answer(kRows * outputs);
  for (std::size_t r = 0; r < kRows; ++r) {
    predict(rows.data() + r * width, answer.data() + r * outputs);
    double largest = 1e-30, off = 0;
    for (std::size_t o = r * outputs; o < (r + 1) * outputs; ++o) {
      largest = std::max(largest, std::fabs(double{expected[o]}));
      const double own = std::fabs(double{answer[o]} - double{expected[o]});
      if (!(own <= off)) off = own;  // NaN as well
    }
    if (!(off / largest <= bench.largest_difference)) bench.largest_difference = off / largest;
  }
  for (const std::size_t batch : {std::size_t{1}, std::size_t{32}}) {
    std::vector<double> library, own, ratios;
    for (int i = 0; i < repeat; ++i) {
      observer.check_stop();
      const std::size_t first = i * batch % kRows;
      const auto part = std::span<const float>(rows).subspan(first * width, batch * width);
      const double begin = seconds_now();
      const std::vector<float> result = plan.run(part);
      const double middle = seconds_now();
      for (std::size_t r = 0; r < batch; ++r) predict(part.data() + r * width, answer.data() + r * outputs);
      const double end = seconds_now();
      library.push_back(middle - begin);
      own.push_back(end - middle);
      ratios.push_back(library.back() / own.back());
    }
    const auto [slowest, fastest] = std::ranges::minmax(ratios);
    bench.rows.push_back(
        {static_cast<Index>(batch), median(library), median(own), median(ratios), slowest, fastest});
  }
  return bench;
}

}  // namespace filigree
