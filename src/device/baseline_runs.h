// SPDX-License-Identifier: Apache-2.0
// The baselines that keep rows in another form: as sparse rows (cuSPARSE's SpGEMM), and as full rows in tiles
// (Gokhale et al.). Both take sparse inputs and networks in which rows of zeros stay rows of zeros.
#pragma once

#include "device/device.h"

namespace filigree::internal {

// The engine is spgemm or spgemm_kept. Throws Error if the device has too little memory.
std::unique_ptr<DeviceRun> start_spgemm_run(int device, const RunShape& shape,
                                            const DeviceRunOptions& options, const SparseInputs& inputs);
// What it takes depends on what rows hold: this is for rows that are full in the end.
std::uint64_t spgemm_run_bytes(const RunShape& shape);

std::unique_ptr<DeviceRun> start_tiled_run(int device, const RunShape& shape, const DeviceRunOptions& options,
                                           const SparseInputs& inputs);
std::uint64_t tiled_run_bytes(const RunShape& shape);

}  // namespace filigree::internal
