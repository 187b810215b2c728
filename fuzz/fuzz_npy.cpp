// libFuzzer entry for the npy target.
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  filigree::fuzz::npy(std::as_bytes(std::span(data, size)));
  return 0;
}
