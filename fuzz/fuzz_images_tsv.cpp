// libFuzzer entry for the images_tsv target.
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  filigree::fuzz::images_tsv(std::as_bytes(std::span(data, size)));
  return 0;
}
