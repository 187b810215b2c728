// SPDX-License-Identifier: Apache-2.0
// Packed bits to InputRows: count the pixels of each image, then write their numbers.
#include "data/bit_images.h"

#include <bit>
#include <numeric>

#include "base/parallel.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kGrain = 64;  // images a task: 8 kB of bits at side 32, 512 kB at side 256

}  // namespace

BitImages::BitImages(Index count, Index side)
    : count_(count),
      pixels_(side * side),
      words_each_((static_cast<std::size_t>(pixels_) + 31) / 32),
      words_(count * words_each_) {
  words_.zero();
}

InputRows rows_of(const BitImages& images) {
  const std::size_t count = images.count();
  InputRows rows;
  rows.rows = images.count();
  rows.cols = images.pixels();
  rows.row_begin.assign(count + 1, 0);
  parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (const std::uint32_t word : images.image(i)) rows.row_begin[i + 1] += std::popcount(word);
    }
  });
  std::inclusive_scan(rows.row_begin.begin(), rows.row_begin.end(), rows.row_begin.begin());

  rows.column = Buffer<std::uint16_t>(rows.nnz());
  parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
    std::uint16_t* out = rows.column.data() + rows.row_begin[begin];
    for (std::size_t i = begin; i < end; ++i) {
      std::size_t first_pixel = 0;
      for (std::uint32_t word : images.image(i)) {
        for (; word != 0; word &= word - 1) {
          *out++ = static_cast<std::uint16_t>(first_pixel + std::countr_zero(word));
        }
        first_pixel += 32;
      }
    }
  });
  return rows;
}

}  // namespace filigree::internal
