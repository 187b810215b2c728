// SPDX-License-Identifier: Apache-2.0
// What a public Data holds.
#pragma once

#include "data/dataset.h"
#include "filigree/data.h"

namespace filigree {

struct Data::Impl {
  internal::Dataset dataset;
  DataOptions options = {};  // where it came from, for a run's config.toml
};

}  // namespace filigree
