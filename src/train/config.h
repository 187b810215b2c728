// SPDX-License-Identifier: Apache-2.0
// Training configurations as TOML. The keys are the names of the settings, `preset`, and a table [data].
#pragma once

#include "filigree/train.h"
#include "io/source.h"

namespace filigree::internal {

// What read_config() does; every failure is an Error "file.toml:12: …". to_toml() writes every setting, with
// comments, and what it writes comes back bit for bit.
TrainConfig parse_config(Source source, const TrainConfig& defaults);

}  // namespace filigree::internal
