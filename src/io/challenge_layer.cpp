// SPDX-License-Identifier: Apache-2.0
// Reading and writing one layer of a Graph Challenge network.
#include <algorithm>
#include <bit>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/challenge_files.h"
#include "io/tsv_scan.h"

namespace filigree::internal {
namespace {

// Stable counting sort: `order` rearranged so that key[order[k]] ascends.
std::vector<std::size_t> sort_by(std::span<const Index> key, Index keys, std::span<const std::size_t> order) {
  std::vector<std::size_t> place(static_cast<std::size_t>(keys) + 1);
  for (const Index k : key) ++place[k + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<std::size_t> sorted(order.size());
  for (const std::size_t entry : order) sorted[place[key[entry]]++] = entry;
  return sorted;
}

// Six digits behind the point are the official form; two more where a float needs them to come back
// unchanged.
std::string weight_text(float weight) {
  std::string text = fmt::format("{:.6e}", weight);
  float back = 0;
  std::from_chars(text.data(), text.data() + text.size(), back);
  return back == weight ? text : fmt::format("{:.8e}", weight);
}

}  // namespace

CsrMatrix read_layer(Source source, Index neurons) {
  assert(neurons > 0);
  const std::string limit = fmt::format("the network has {} neurons", neurons);
  const EntryFormat format = {{"input", neurons, limit}, {"output", neurons, limit}, "weight"};

  CsrMatrix layer{.rows = neurons, .cols = neurons, .row_begin = {}, .column = {}, .value = {}};
  layer.row_begin.assign(static_cast<std::size_t>(neurons) + 1, 0);
  std::vector<Index> outputs;  // 0-based, of each line
  bool sorted = true;          // by output, then input, as the official files are
  Index last_input = 0, last_output = 0;
  scan_entries(source, format, [&](Index input, Index output, float weight) {
    sorted &= output > last_output || (output == last_output && input > last_input);
    last_input = input;
    last_output = output;
    ++layer.row_begin[output];
    outputs.push_back(output - 1);
    layer.column.push_back(input - 1);
    layer.value.push_back(weight);
  });
  std::partial_sum(layer.row_begin.begin(), layer.row_begin.end(), layer.row_begin.begin());
  if (sorted) return layer;

  std::vector<std::size_t> order(outputs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  order = sort_by(outputs, neurons, sort_by(layer.column, neurons, order));
  for (std::size_t k = 1; k < order.size(); ++k) {
    const std::size_t first = order[k - 1], again = order[k];
    if (outputs[first] == outputs[again] && layer.column[first] == layer.column[again]) {
      fail("{}:{}: input {} to output {} again, first on line {}", source.name(), again + 1,
           layer.column[again] + 1, outputs[again] + 1, first + 1);
    }
  }
  std::vector<Index> column(order.size());
  std::vector<float> value(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    column[k] = layer.column[order[k]];
    value[k] = layer.value[order[k]];
  }
  layer.column = std::move(column);
  layer.value = std::move(value);
  return layer;
}

CsrMatrix read_layer(const std::filesystem::path& path, Index neurons) {
  return read_layer(Source(find_file(path).value_or(path)), neurons);
}

void write_layer(const std::filesystem::path& path, const CsrView& layer) {
  if (layer.nnz() == 0)
    fail("{}: the layer has no connections, and this format cannot say so", path.string());
  AtomicFile file(path);
  std::string text, weight;
  float last = std::numeric_limits<float>::quiet_NaN();
  for (Index output = 0; output < layer.rows; ++output) {
    const auto inputs = layer.row_columns(output);
    const auto values = layer.row_values(output);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (!std::isfinite(values[k])) {
        fail("{}: the weight of input {} to output {} is {}", path.string(), inputs[k] + 1, output + 1,
             values[k]);
      }
      if (std::bit_cast<std::uint32_t>(values[k]) != std::bit_cast<std::uint32_t>(last)) {  // -0 is not 0
        last = values[k];
        weight = weight_text(last);
      }
      fmt::format_to(std::back_inserter(text), "{}\t{}\t", inputs[k] + 1, output + 1);
      text.append(weight).push_back('\n');
    }
    file.write(text);
    text.clear();
  }
  file.commit();
}

}  // namespace filigree::internal
