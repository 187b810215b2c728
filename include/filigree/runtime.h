// The process: threads, version, machine, and files written whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace filigree {

std::string version();
std::string processor_name();
std::string simd_name();  // the instruction set the kernels use here, e.g. "AVX3_DL"

// Threads that loops use from here on; 0: every core the process may use.
void set_threads(int threads);
int threads();

// Writes beside the target, syncs, renames: a reader sees the old file or the new one. Throws Error.
void write_file(const std::filesystem::path& path, std::string_view contents);

}  // namespace filigree
