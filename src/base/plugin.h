// SPDX-License-Identifier: Apache-2.0
// Parts of filigree in files of their own, loaded when they are first asked for: the CUDA device, downloads,
// peers of benchmarks. What a prediction does not use, it does not load.
#pragma once

#include <string>

#include "filigree/version.h"

namespace filigree::internal {

// What plug-in `name` (filigree-NAME.so) offers; null if there is no such file where plugin_places says.
// Throws Error if it is there but cannot be loaded, or is of another version. A plug-in stays loaded.
const void* load_plugin(const std::string& name);

// The directories that are searched, for messages: the one that the environment variable FILIGREE_PLUGINS
// names, or those next to the program or library.
std::string plugin_places();

}  // namespace filigree::internal

// Once in a plug-in: what it offers is a pointer that both sides know the type of.
#define FILIGREE_PLUGIN(offer)                                                              \
  extern "C" __attribute__((visibility("default"))) const char* filigree_plugin_version() { \
    return FILIGREE_VERSION;                                                                \
  }                                                                                         \
  extern "C" __attribute__((visibility("default"))) const void* filigree_plugin_offer() {   \
    return offer;                                                                           \
  }
