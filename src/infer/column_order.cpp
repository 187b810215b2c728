// SPDX-License-Identifier: Apache-2.0
#include "infer/column_order.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "io/json_value.h"
#include "io/message_text.h"

namespace filigree::internal {

std::vector<Index> column_order(std::span<const std::string> trained, std::span<const std::string> given,
                                const std::string& file) {
  if (trained.empty() || given.empty() || std::ranges::equal(trained, given)) return {};
  std::map<std::string, Index> column;  // names as model files have them: what is not UTF-8 is mended
  for (std::size_t c = 0; c < given.size(); ++c)
    if (!column.emplace(json_text(given[c], true), static_cast<Index>(c)).second)
      fail("{}: two columns are called {}", file, in_quotes(given[c]));
  std::vector<Index> order;
  for (const std::string& name : trained) {
    const auto found = column.find(json_text(name, true));
    if (found == column.end())
      fail("{}: no column is called {}, which the network was trained on", file, in_quotes(name));
    order.push_back(found->second);
  }
  return order;
}

}  // namespace filigree::internal
