// SPDX-License-Identifier: Apache-2.0
// Rows that are sparse themselves, such as words of texts: they go in as CSR, and features that do not occur
// cost nothing.
#include <filigree/filigree.h>

#include <cstdio>
#include <fstream>

int main() {
  // 1,000 texts of 12 words out of 2,500, as a libsvm file: texts about sport have the first half.
  std::ofstream file("texts.libsvm");
  std::uint64_t state = 1;
  const auto below = [&](std::uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  for (int text = 0; text < 1000; ++text) {
    const bool sport = text % 2 == 0;
    file << (sport ? 1 : 0);
    std::uint64_t word = 0;
    for (int w = 0; w < 12; ++w) {
      word += 1 + below(100);
      file << ' ' << word + (sport ? 0 : 1250) << ":1";
    }
    file << '\n';
  }
  file.close();
  const filigree::Data data = filigree::load_data({.source = "libsvm:texts.libsvm"});
  const filigree::TrainRun run =
      filigree::train(data, {.network = {.hidden = {16}, .sparsity = 0.9}, .run = {.epochs = 10}});
  std::printf("%s\n%.1f %% of the test rows right with %lld connections\n", data.describe().c_str(),
              100 * run.test_score, static_cast<long long>(run.connections));

  // Two new texts as CSR, straight from memory.
  const std::vector<filigree::Offset> row_begin = {0, 3, 5};
  const std::vector<filigree::Index> column = {100, 300, 520, 1400, 1900};
  const std::vector<float> value = {1, 1, 1, 1, 1};
  const filigree::Plan plan = filigree::compile(run.network);
  const std::vector<float> outputs = plan.run(filigree::Rows(row_begin, column, value, data.features()));
  std::printf("the first text is about %s\n", outputs[1] > outputs[0] ? "sport" : "something else");
  return run.test_score > 0.8 ? 0 : 1;
}
