// SPDX-License-Identifier: Apache-2.0
// Rows through the layers of a network as columns of full matrices: one launch a layer over all rows, dead
// rows left behind, equal rows merged.
#pragma once

#include <memory>
#include <variant>

#include "device/device.h"

namespace filigree::internal {

// Sparse entries, or inputs × rows values.
using RunInputs = std::variant<SparseInputs, std::span<const float>>;

// The engine is fused or spmm. Throws Error if the device has too little memory.
std::unique_ptr<DeviceRun> start_panel_run(int device, const RunShape& shape, const DeviceRunOptions& options,
                                           const RunInputs& inputs);
std::uint64_t panel_run_bytes(const RunShape& shape, const DeviceRunOptions& options);

}  // namespace filigree::internal
