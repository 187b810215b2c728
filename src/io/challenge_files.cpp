// SPDX-License-Identifier: Apache-2.0
// Categories of the Graph Challenge, and the official names of its files.
#include "io/challenge_files.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/tsv_scan.h"

namespace filigree::internal {
namespace {

// The K of nN-lK.tsv, possibly compressed; 0 for any other name.
Index layer_number(std::string name, const std::string& prefix) {
  for (const std::string_view suffix : {".gz", ".zst"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  if (!name.starts_with(prefix) || !name.ends_with(".tsv")) return 0;
  const char* const begin = name.data() + prefix.size();
  const char* const end = name.data() + name.size() - 4;
  Index layer = 0;
  const auto [stop, status] = std::from_chars(begin, end, layer);
  return status == std::errc() && stop == end && layer > 0 ? layer : 0;
}

}  // namespace

std::vector<Index> read_categories(Source source, Index rows) {
  assert(rows > 0);
  const NumberField field = {"category", rows, fmt::format("there are {} rows", rows)};
  std::vector<std::pair<Index, Offset>> found;  // number, line
  LineBlocks blocks(source);
  Offset lines = 0;
  for (std::string_view block = blocks.next(0); !block.empty(); block = blocks.next(lines)) {
    while (!block.empty()) {
      const std::string_view line = first_line(block);
      block.remove_prefix(line.size());
      if (is_blank(line)) {
        expect_blank_rest(blocks, block, source.name(), lines + 1);
        break;
      }
      ++lines;
      found.emplace_back(parse_number(split_fields(line).front(), field, source.name(), lines), lines);
    }
  }
  if (blocks.cut_off()) fail_cut_off(source.name(), lines);
  if (found.empty()) fail_empty(source.name());
  std::sort(found.begin(), found.end());
  std::vector<Index> categories;
  categories.reserve(found.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (k > 0 && found[k].first == found[k - 1].first) {
      fail("{}:{}: category {} again, first on line {}", source.name(), found[k].second, found[k].first,
           found[k - 1].second);
    }
    categories.push_back(found[k].first - 1);
  }
  return categories;
}

std::vector<Index> read_categories(const std::filesystem::path& path, Index rows) {
  return read_categories(Source(find_file(path).value_or(path)), rows);
}

void write_categories(const std::filesystem::path& path, std::span<const Index> categories) {
  AtomicFile file(path);
  for (const Index row : categories) file.write(fmt::format("{}\n", row + 1));
  file.commit();
}

std::filesystem::path layer_path(const std::filesystem::path& directory, Index neurons, Index layer) {
  return directory / fmt::format("neuron{}", neurons) / fmt::format("n{}-l{}.tsv", neurons, layer);
}

std::vector<Index> challenge_sizes(const std::filesystem::path& directory) {
  std::vector<Index> sizes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kStart = "neuron";
    Index neurons = 0;
    const auto [end, status] =
        name.starts_with(kStart)
            ? std::from_chars(name.data() + kStart.size(), name.data() + name.size(), neurons)
            : std::from_chars_result{name.data(), std::errc::invalid_argument};
    if (status == std::errc() && end == name.data() + name.size() && neurons > 0 &&
        find_file(layer_path(directory, neurons, 1)))
      sizes.push_back(neurons);
  }
  std::ranges::sort(sizes);
  return sizes;
}

std::filesystem::path images_path(const std::filesystem::path& directory, Index pixels) {
  return directory / fmt::format("sparse-images-{}.tsv", pixels);
}

std::filesystem::path categories_path(const std::filesystem::path& directory, Index neurons, Index layers) {
  return directory / fmt::format("neuron{}-l{}-categories.tsv", neurons, layers);
}

Index count_layers(const std::filesystem::path& directory, Index neurons) {
  const std::filesystem::path folder = layer_path(directory, neurons, 1).parent_path();
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return 0;
  const std::string prefix = fmt::format("n{}-l", neurons);
  std::vector<Index> layers;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const Index layer = layer_number(entry->path().filename().string(), prefix);
    if (layer != 0) layers.push_back(layer);
  }
  if (error) fail("{}: {}", folder.string(), error.message());
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());  // plain and compressed side by side
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const Index expected = k + 1;
    if (layers[k] != expected) {
      fail("{}: layer {} is missing, but layer {} exists", layer_path(directory, neurons, expected).string(),
           expected, layers[k]);
    }
  }
  return layers.size();
}

}  // namespace filigree::internal
