// SPDX-License-Identifier: Apache-2.0
// Version, machine, and files written whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace filigree {

std::string version();
std::string processor_name();  // "Intel(R) Xeon(R) …", or "unknown processor"
std::string simd_name();       // the instruction set the kernels use here, e.g. "AVX-512"

// Writes next to the target, syncs, renames: a reader sees the old file or the new one. Throws Error.
void write_file(const std::filesystem::path& path, std::string_view contents);

}  // namespace filigree
#pragma GCC visibility pop
