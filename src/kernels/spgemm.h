// SPDX-License-Identifier: Apache-2.0
// SpGEMM (filigree/sparse.h): what it means.
#pragma once

#include "filigree/sparse.h"

namespace filigree::internal {

CsrMatrix spgemm_reference(const CsrView& a, const CsrView& b);

}  // namespace filigree::internal
