// SPDX-License-Identifier: Apache-2.0
// The library, as somebody else's program uses it.
#include <filigree/filigree.h>

#include <cstdio>
#include <filesystem>

int main() {
  static_assert(FILIGREE_VERSION_MAJOR == 0 && FILIGREE_VERSION_MINOR >= 2);
  if (filigree::version() != FILIGREE_VERSION) {
    std::printf("headers of %s, library of %s\n", FILIGREE_VERSION, filigree::version().c_str());
    return 1;
  }
  const auto plan = filigree::compile(filigree::radix_net(64, 4, 1));
  const auto outputs = plan.run(std::vector<float>(64 * 2, 1.0f));  // two rows of ones
  std::printf("%zu outputs, the first is %g\n", outputs.size(), static_cast<double>(outputs[0]));
  try {  // an exception of the library's is the caller's to catch
    filigree::load("no such file");
    return 1;
  } catch (const filigree::Error& error) {
    std::printf("%s\n", error.what());
  }
  auto options = filigree::preset_options("fast");  // evolving, so the dense product is loaded, too
  options.network.hidden = {32};
  options.run.epochs = 10;
  const auto run = filigree::train(filigree::load_data({.source = "digits:600"}), options);
  std::printf("%.0f %%\n", 100 * run.test_score);
  return outputs.size() == 128 && outputs[0] > 0 && run.test_score > 0.3 ? 0 : 1;
}
