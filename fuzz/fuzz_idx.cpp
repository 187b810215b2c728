// libFuzzer entry for the idx target.
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  filigree::fuzz::idx(std::as_bytes(std::span(data, size)));
  return 0;
}
