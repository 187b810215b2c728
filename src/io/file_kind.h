// SPDX-License-Identifier: Apache-2.0
// What a file of rows holds, told by its first bytes.
#pragma once

#include <cstdint>

#include "io/source.h"

namespace filigree::internal {

enum class FileKind : std::uint8_t { csv, libsvm, idx, npy, npz };

// Text that is not LIBSVM's "label feature:value …" is a table.
FileKind file_kind(Source source);

}  // namespace filigree::internal
