// SPDX-License-Identifier: Apache-2.0
#include "filigree/fetch.h"

#include "base/error.h"
#include "base/plugin.h"

namespace filigree {

using namespace internal;

FetchResult fetch(const std::string& name, const FetchOptions& options, const Observer& observer) {
  using Fetch = FetchResult(const std::string&, const FetchOptions&, const Observer&);
  const auto fetch_data_set = reinterpret_cast<Fetch*>(const_cast<void*>(load_plugin("fetch")));
  if (fetch_data_set == nullptr)
    fail(
        "downloads are not part of this installation (filigree-fetch.so, searched for in {}); build filigree "
        "with -DFILIGREE_FETCH=ON, or get the files by other means",
        plugin_places());
  return fetch_data_set(name, options, observer);
}

}  // namespace filigree
