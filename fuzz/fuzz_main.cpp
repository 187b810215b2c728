// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry, for the target that the build names.
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  filigree::fuzz::FILIGREE_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}
