// SPDX-License-Identifier: Apache-2.0
// Training configurations as TOML. The keys are the names of for_each_setting, `preset`, and a table [data].
#pragma once

#include <filesystem>
#include <string>

#include "filigree/options.h"
#include "io/source.h"

namespace filigree {

// See filigree/train.h. Every failure is an Error "file.toml:12: …".
FILIGREE_PUBLIC TrainConfig read_config(const std::filesystem::path& path, const TrainConfig& defaults);
TrainConfig parse_config(Source source, const TrainConfig& defaults);

// Every setting, with comments; read_config gives the same values back, bit for bit.
FILIGREE_PUBLIC std::string to_toml(const TrainConfig& config);

}  // namespace filigree
