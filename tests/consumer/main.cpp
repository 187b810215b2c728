// The installed library, as somebody else's program uses it.
#include <filigree/filigree.h>

#include <cstdio>

int main() {
  const auto plan = filigree::compile(filigree::radix_net(64, 4, 1));
  const auto outputs = plan.run(std::vector<float>(64 * 2, 1.0f));  // two rows of ones
  std::printf("%zu outputs, the first is %g\n", outputs.size(), static_cast<double>(outputs[0]));
  return outputs.size() == 128 && outputs[0] > 0 ? 0 : 1;
}
