// SPDX-License-Identifier: Apache-2.0
// The version of these headers. CMakeLists.txt reads it from here.
#pragma once

#define FILIGREE_VERSION_MAJOR 0
#define FILIGREE_VERSION_MINOR 2
#define FILIGREE_VERSION_PATCH 0
#define FILIGREE_VERSION "0.2.0"
