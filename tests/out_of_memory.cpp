// SPDX-License-Identifier: Apache-2.0
// Memory that runs out is an exception, wherever it happens: every allocation of loading, compiling, running,
// training and saving fails in turn, once (and the next succeeds) or for good (and all that follow fail,
// too). A call that ends the process fails the test by that.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "filigree/filigree.h"

namespace {

std::atomic<long> countdown{-1};  // allocations until one fails; negative: none does
std::atomic<bool> for_good{false};
std::atomic<long> allocations{0};

bool fails() {
  ++allocations;
  if (countdown.load() < 0) return false;
  const long left = countdown.fetch_sub(1);
  if (left > 0) return false;
  if (for_good) countdown = 0;
  return left == 0 || for_good;
}

void* allocated(std::size_t size, std::size_t alignment) {
  if (fails()) throw std::bad_alloc();
  void* const memory = alignment <= alignof(std::max_align_t)
                           ? std::malloc(size)
                           : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return allocated(std::max<std::size_t>(1, size), 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocated(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

using namespace filigree;

struct Job {
  const char* name;
  void (*run)(const std::string& model, const Data& data, const std::filesystem::path& work);
};

void load_run_save(const std::string& model, const Data&, const std::filesystem::path& work) {
  const Network network = load(model);
  const Plan plan = compile(network);
  const std::vector<float> rows(40 * network.inputs(), 0.5f);
  (void)plan.run(std::span<const float>(rows));
  save(compile_network(network).network, work / "out.safetensors");
}

void evaluate_all(const std::string& model, const Data& data, const std::filesystem::path&) {
  (void)evaluate(load(model), data, {.part = Part::all});
}

void train_one(const std::string&, const Data& data, const std::filesystem::path& work) {
  TrainOptions options;
  options.network.neurons = {data.features(), 12, data.classes()};
  options.run.epochs = 2;
  options.run.batch = 50;
  options.evolution.rule = Evolve::set;  // without oneDNN, whose memory is its own business
  options.evolution.update_every = 2;
  train(data, options, {.path = work / "run"});
}

void train_step_by_step(const std::string&, const Data& data, const std::filesystem::path&) {
  TrainOptions options;
  options.network.neurons = {data.features(), 12, data.classes()};
  options.run.epochs = 2;
  options.run.batch = 50;
  options.evolution.rule = Evolve::set;
  options.evolution.update_every = 2;
  Trainer trainer(data, options);
  trainer.epoch();
  Trainer again(data, trainer.state());
  again.epoch();
  (void)again.evaluate(Part::train);
  (void)from_bytes(to_bytes(again.network()));
}

// Networks from arrays, rows of all kinds, the caller's memory, predictions, products of matrices.
void run_arrays(const std::string&, const Data&, const std::filesystem::path&) {
  CsrMatrix w{3, 4, {0, 2, 3, 5}, {0, 3, 1, 0, 2}, {1, 2, 3, 4, 5}};
  const Network network =
      make_network({{4, 3, w.row_begin, w.column, w.value, {0.1f, 0.2f, 0.3f}, Activation::relu}});
  const Plan plan = compile(network);
  std::vector<float> outputs(3 * 5);
  const std::vector<Offset> row_begin{0, 1, 3};
  const std::vector<Index> column{1, 0, 3};
  const std::vector<float> value{1, 2, 3};
  plan.run(Rows(row_begin, column, value, 4), OutputRows(outputs, 5));
  const std::vector<std::uint8_t> bytes(40 * 4, 3);
  (void)plan.run(std::span<const std::uint8_t>(bytes));
  InputTable table;
  table.rows = 2;
  table.columns = 4;
  table.floats.assign(8, 1.0f);
  (void)predict(plan, table);
  const CsrMatrix back = transpose(w.view());
  (void)spgemm(w.view(), back.view());
}

// All of the first, then ever fewer: later ones repeat what earlier ones did. With FILIGREE_ALL, all.
std::vector<long> places(long all) {
  std::vector<long> chosen;
  const bool every = std::getenv("FILIGREE_ALL") != nullptr;
  for (long n = 0; n < all; n += every ? 1 : std::max(1L, n / 60)) chosen.push_back(n);
  return chosen;
}

}  // namespace

int main() {
  const std::filesystem::path work =
      std::filesystem::temp_directory_path() / ("filigree-oom-" + std::to_string(getpid()));
  std::filesystem::create_directories(work);
  const Session session({.threads = 2});
  const Session::Use use(session);
  std::vector<float> values;
  std::vector<Index> labels;
  for (int i = 0; i < 200 * 8; ++i) values.push_back(static_cast<float>(i * 37 % 101) / 50 - 1);
  for (int i = 0; i < 200; ++i) labels.push_back(i % 3);
  const Data data = make_data(values, labels, 8);
  TrainOptions options;
  options.network.neurons = {8, 12, 3};
  options.run.epochs = 1;
  options.evolution.rule = Evolve::none;
  const std::string model = (work / "model.safetensors").string();
  save(train(data, options).network, model);

  long failed = 0;
  for (const Job& job :
       {Job{"load, compile, run, save", load_run_save}, Job{"evaluate", evaluate_all},
        Job{"train", train_one}, Job{"train step by step", train_step_by_step}, Job{"arrays", run_arrays}}) {
    std::filesystem::remove_all(work / "run");
    allocations = 0;
    job.run(model, data, work);
    const long all = allocations;
    for (const bool persistent : {false, true}) {
      for (const long n : places(all)) {
        std::filesystem::remove_all(work /
                                    "run");  // here: the standard library itself ends the process there
        for_good = persistent;
        countdown = n;
        bool thrown = false;
        try {
          job.run(model, data, work);
        } catch (const std::bad_alloc&) {
          thrown = true;
        } catch (const Error&) {  // a message about it is as good
          thrown = true;
        }
        countdown = -1;
        failed += thrown;
      }
    }
    std::filesystem::remove_all(work / "run");
    job.run(model, data, work);  // nothing is broken afterwards
    std::printf("%s: %ld allocations\n", job.name, all);
  }
  std::filesystem::remove_all(work);
  std::printf("%ld failures, each an exception\n", failed);
  return failed > 100 ? 0 : 1;
}
