// SPDX-License-Identifier: Apache-2.0
// The process: threads, version, machine, and files written whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace filigree {

std::string version();
std::string processor_name();
std::string simd_name();  // the instruction set the kernels use here, e.g. "AVX-512"

// Threads that loops use from here on; 0: every core the process may use.
void set_threads(int threads);
int threads();

// Where networks run and train from here on.
enum class Device { cpu, cuda, automatic };
struct DeviceInfo {
  std::string name;
  std::uint64_t memory_bytes = 0, free_bytes = 0;
  int processors = 0;
  std::string capability;  // "8.0"
};
// The CUDA devices there are. Throws Error that says why there are none and what to do about it.
std::vector<DeviceInfo> cuda_devices();

// `count` CUDA devices share the work; 0: all there are. Throws Error if there are fewer. `automatic` takes
// the CPU then, and the result says why; it is empty if the device asked for is used.
std::string set_device(Device device, int count = 1);
std::string device_name();  // "cpu", or the name of the CUDA devices

// Writes beside the target, syncs, renames: a reader sees the old file or the new one. Throws Error.
void write_file(const std::filesystem::path& path, std::string_view contents);

}  // namespace filigree
#pragma GCC visibility pop
