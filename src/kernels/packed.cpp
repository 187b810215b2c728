// SPDX-License-Identifier: Apache-2.0
#include "kernels/packed.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace filigree::internal {

namespace {

constexpr Index kWidestTile = 65536;  // inputs are 16-bit

// Outputs that share their inputs should be neighbours. The key orders by length,
// then by the first input, then by a hash of the whole pattern: equal patterns always meet.
struct Place {
  std::uint64_t key = 0;
  std::uint32_t output = 0;
  std::uint32_t first = 0;  // position of the tile's part within the row
  std::uint32_t count = 0;
};

std::uint64_t pattern_key(std::span<const Index> columns) {
  std::uint64_t hash = 0;
  for (const Index c : columns) hash = (hash ^ static_cast<std::uint64_t>(c)) * 0x9e3779b97f4a7c15u;
  const std::uint64_t first = columns.empty() ? 0 : static_cast<std::uint64_t>(columns[0]) & 0xffffff;
  const std::uint64_t length = std::min<std::uint64_t>(columns.size(), 0xffff);
  return length << 48 | first << 24 | hash >> 40;
}

// Writes the runs of one tile, whose places are sorted by key.
class TileWriter {
 public:
  TileWriter(PackedMatrix& packed, const CsrView& matrix) : packed_(packed), matrix_(matrix) {}

  void write(std::vector<Place>& places, Index first_input) {
    packed_.tiles.push_back({first_input, 0});
    for (auto begin = places.begin(); begin != places.end();) {
      auto end = begin;
      while (end != places.end() && end->count == begin->count) ++end;
      auto next = begin;
      for (const auto& [group, outputs] : share(begin, end)) {
        write_run(next, next + outputs, group);
        next += outputs;
      }
      begin = end;
    }
  }
  std::size_t inputs_written() const { return input_at_; }
  std::size_t outputs_written() const { return output_at_; }

 private:
  using Iterator = std::vector<Place>::iterator;

  struct Part {
    std::size_t group;  // 0: outputs that share nothing
    std::ptrdiff_t outputs;
  };

  // Puts places of one length in the order of the groups they go to, and says how many go to groups of each
  // size. Within a size the order stays.
  std::vector<Part> share(Iterator begin, Iterator end) {
    std::vector<Place> by_group[kWidestGroup + 1];
    for (Iterator i = begin; i != end;) {
      Iterator same = i + 1;
      while (same != end && same->key == i->key && std::ranges::equal(columns(*same), columns(*i))) ++same;
      const std::size_t count = same - i;
      const std::size_t rest = count % kWideGroup;
      const bool joins = count > kWideGroup && rest > 0 && rest < kPackedGroup;  // the last eight
      const std::size_t last = begin->count == 0 || count < kPackedGroup ? count
                               : joins                                   ? kWideGroup + rest
                                                                         : rest;
      const std::ptrdiff_t eights = count - last;
      std::copy(i, i + eights, std::back_inserter(by_group[kWideGroup]));
      const std::size_t group = begin->count == 0 || last < kPackedGroup ? 0 : last;
      std::copy(i + eights, same, std::back_inserter(by_group[group]));
      i = same;
    }
    std::vector<Part> parts;
    for (std::size_t group = kWidestGroup + 1; group-- > 0;) {
      if (by_group[group].empty()) continue;
      begin = std::ranges::copy(by_group[group], begin).out;
      parts.push_back({group, static_cast<std::ptrdiff_t>(by_group[group].size())});
    }
    return parts;
  }

  void write_run(Iterator i, Iterator end, std::size_t shared) {
    if (i == end) return;
    packed_.runs.push_back(
        {i->count, static_cast<std::uint32_t>(end - i), static_cast<std::uint32_t>(shared)});
    ++packed_.tiles.back().runs;
    const std::ptrdiff_t whole = shared > 0 ? shared : kPackedGroup;
    while (i != end) {
      const std::ptrdiff_t group = end - i >= whole ? whole : 1;
      for (std::ptrdiff_t g = 0; g < group; ++g) packed_.output[output_at_++] = i[g].output;
      for (std::uint32_t e = 0; e < i->count; ++e)
        for (std::ptrdiff_t g = 0; g < group; ++g) write_entry(i[g], e, shared == 0 || g == 0);
      i += group;
    }
  }

  void write_entry(const Place& place, std::uint32_t e, bool with_input) {
    const auto from = static_cast<std::size_t>(matrix_.row_begin[place.output]) + place.first + e;
    if (with_input)
      packed_.input[input_at_++] =
          static_cast<std::uint16_t>(matrix_.column[from] - packed_.tiles.back().first_input);
    if (!packed_.value.empty()) packed_.value[value_at_++] = matrix_.value[from];
  }

  std::span<const Index> columns(const Place& place) const {
    return matrix_.row_columns(place.output).subspan(place.first, place.count);
  }

  PackedMatrix& packed_;
  const CsrView& matrix_;
  std::size_t output_at_ = 0, input_at_ = 0, value_at_ = 0;
};

template <typename T>
void shrink(Buffer<T>& buffer, std::size_t size) {
  Buffer<T> smaller(size);
  std::copy_n(buffer.data(), size, smaller.data());
  buffer = std::move(smaller);
}

}  // namespace

std::size_t PackedMatrix::bytes() const {
  return output.size() * sizeof(std::uint32_t) + input.size() * sizeof(std::uint16_t) +
         value.size() * sizeof(float) + runs.size() * sizeof(Run) + tiles.size() * sizeof(Tile);
}

Offset PackedMatrix::shared_connections() const {
  Offset shared = 0;
  for (const Run& run : runs)
    if (run.shared > 0) shared += static_cast<Offset>(run.connections) * run.outputs;
  return shared;
}

Index tile_inputs_for(Index rows, Index cols, Offset nnz) {
  // A tile of 256 inputs × 32 rows × 4 bytes = 32 KiB leaves a third of a 48 KiB L1 to the streams. Each
  // further tile moves every output's accumulator through L1 once more, which pays from about six connections
  // per output and tile (bench kernels).
  constexpr Index kTile = 256;
  constexpr double kConnectionsWorthATile = 6;
  if (cols <= kTile || rows == 0) return std::min(std::max(cols, Index{1}), kWidestTile);
  const double per_tile = static_cast<double>(nnz) / rows * kTile / cols;
  return per_tile >= kConnectionsWorthATile ? kTile : std::min(cols, kWidestTile);
}

namespace {

// Is at least half of the matrix in rows that come four or more to a pattern? Then the inputs of a group are
// loaded once and stay in L1 for the next: tiles would only add traffic (RadiX-Net, 1024 neurons: 38 instead
// of 65 billion connections/s per core).
bool mostly_repeated_patterns(const CsrView& matrix) {
  std::vector<std::pair<std::uint64_t, std::size_t>> rows;  // key, connections
  rows.reserve(matrix.rows);
  for (Index r = 0; r < matrix.rows; ++r) {
    const auto columns = matrix.row_columns(r);
    rows.emplace_back(pattern_key(columns), columns.size());
  }
  std::ranges::sort(rows);
  std::size_t repeated = 0;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t same = i + 1;
    while (same < rows.size() && rows[same] == rows[i]) ++same;
    if (same - i >= kPackedGroup) repeated += (same - i) * rows[i].second;
    i = same;
  }
  return 2 * repeated >= static_cast<std::size_t>(matrix.nnz());
}

Index choose_tile(const CsrView& matrix, const PackOptions& options) {
  if (options.tile_inputs > 0) return std::min(options.tile_inputs, kWidestTile);
  const Index tile = tile_inputs_for(matrix.rows, matrix.cols, matrix.nnz());
  const Index whole = std::clamp(matrix.cols, Index{1}, kWidestTile);
  return tile < whole && mostly_repeated_patterns(matrix) ? whole : tile;
}

// Adding x and multiplying once by w is the same, bit for bit, as adding w·x, if w is a power of two.
bool power_of_two(float w) {
  int exponent = 0;
  return std::abs(std::frexp(w, &exponent)) == 0.5f;
}

}  // namespace

PackedMatrix pack(const CsrView& matrix, const PackOptions& options) {
  PackedMatrix packed;
  packed.rows = matrix.rows;
  packed.cols = matrix.cols;
  packed.nnz = matrix.nnz();
  const Index tile_inputs = choose_tile(matrix, options);
  const auto tiles =
      static_cast<std::size_t>(std::max<Index>(1, (matrix.cols + tile_inputs - 1) / tile_inputs));
  const std::size_t entries = packed.nnz;

  const bool uniform =
      entries == 0 || (power_of_two(matrix.value[0]) &&
                       std::ranges::all_of(matrix.value, [&](float v) { return v == matrix.value[0]; }));
  packed.input = Buffer<std::uint16_t>(entries);
  if (uniform) {
    packed.uniform = entries > 0 ? matrix.value[0] : 0.0f;
  } else {
    packed.value = Buffer<float>(entries);
  }
  packed.output = Buffer<std::uint32_t>(matrix.rows * tiles);

  std::vector<std::uint32_t> next(matrix.rows, 0);
  std::vector<Place> places;
  places.reserve(matrix.rows);
  TileWriter writer(packed, matrix);
  for (std::size_t t = 0; t < tiles; ++t) {
    const Index first_input = static_cast<Index>(t) * tile_inputs;
    const Index end_input = std::min(matrix.cols, first_input + tile_inputs);
    const bool holds_all = t == 0 || t + 1 == tiles;
    places.clear();
    for (Index r = 0; r < matrix.rows; ++r) {
      const auto columns = matrix.row_columns(r);
      std::uint32_t& from = next[r];
      std::uint32_t to = from;
      while (to < columns.size() && columns[to] < end_input) ++to;
      if (holds_all || to > from)
        places.push_back(
            {pattern_key(columns.subspan(from, to - from)), static_cast<std::uint32_t>(r), from, to - from});
      from = to;
    }
    std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return a.key != b.key ? a.key < b.key : a.count < b.count;
    });
    writer.write(places, first_input);
  }
  shrink(packed.input, writer.inputs_written());
  shrink(packed.output, writer.outputs_written());
  return packed;
}

CsrMatrix unpack(const PackedMatrix& packed) {
  // Tiles come in the order of their inputs, so the entries of a row do, too.
  const std::size_t rows = packed.rows;
  CsrMatrix matrix;
  matrix.rows = packed.rows;
  matrix.cols = packed.cols;
  matrix.column.resize(packed.nnz);
  matrix.value.resize(matrix.column.size());
  std::vector<Offset> next(rows + 1, 0);
  const auto walk = [&](const auto& visit) {  // visit(output, input, place of the value)
    std::size_t output_at = 0, input_at = 0, value_at = 0, run_at = 0;
    for (const PackedMatrix::Tile& tile : packed.tiles)
      for (const std::size_t end = run_at + tile.runs; run_at < end; ++run_at) {
        const PackedMatrix::Run& run = packed.runs[run_at];
        for (std::uint32_t done = 0; done < run.outputs;) {
          const std::size_t whole = run.shared > 0 ? run.shared : kPackedGroup;
          const std::size_t group = run.outputs - done >= whole ? whole : 1;
          for (std::size_t e = 0; e < run.connections; ++e)
            for (std::size_t g = 0; g < group; ++g) {
              const std::size_t at = run.shared > 0 ? e : e * group + g;
              visit(packed.output[output_at + g], tile.first_input + Index{packed.input[input_at + at]},
                    value_at + e * group + g);
            }
          output_at += group;
          input_at += run.connections * (run.shared > 0 ? 1 : group);
          value_at += run.connections * group;
          done += static_cast<std::uint32_t>(group);
        }
      }
  };
  walk([&](std::uint32_t output, Index, std::size_t) { ++next[output + 1]; });
  std::partial_sum(next.begin(), next.end(), next.begin());
  matrix.row_begin = next;
  walk([&](std::uint32_t output, Index input, std::size_t value) {
    const std::size_t at = next[output]++;
    matrix.column[at] = input;
    matrix.value[at] = packed.value.empty() ? packed.uniform : packed.value[value];
  });
  return matrix;
}

}  // namespace filigree::internal
