// libFuzzer entry for the libsvm target.
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  filigree::fuzz::libsvm(std::as_bytes(std::span(data, size)));
  return 0;
}
