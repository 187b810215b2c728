// SPDX-License-Identifier: Apache-2.0
// Reading and writing the images of the Graph Challenge, up to hundreds of millions of pixels.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/challenge_files.h"
#include "io/tsv_scan.h"

namespace filigree::internal {
namespace {

// The lines of an images file in about one byte each, so that they can be counted first and placed second.
// Sorted files step by little from line to line, along the images of a pixel or the pixels of an image.
class LineRecord {
 public:
  void add(Index image, Index pixel) {
    flush_skipped();
    const Index image_step = image - image_, pixel_step = pixel - pixel_;
    if (pixel_step == 0 && image_step > 0 && image_step <= kMaxImageStep) {
      put(static_cast<std::uint8_t>(image_step));
    } else if (image_step == 0 && pixel_step > 0 && pixel_step <= kMaxPixelStep) {
      put(static_cast<std::uint8_t>(kMaxImageStep + pixel_step));
    } else {
      put(kAbsolute, image, static_cast<std::uint16_t>(pixel - 1));
    }
    image_ = image;
    pixel_ = pixel;
  }
  void skip() { ++skipped_; }  // a line that is not kept

  // Calls take(line, image, pixel) for each line that was added; lines count from 1.
  template <typename Take>
  void replay(Take&& take) const {
    Offset line = 0;
    Index image = 0, pixel = 0;
    for (const Block& block : blocks_) {
      const std::uint8_t* at = block.bytes.get();
      const std::uint8_t* const end = at + block.used;
      while (at != end) {
        const std::uint8_t code = *at++;
        if (code == kSkipped) {
          line += take_word<std::uint32_t>(at);
          continue;
        }
        if (code == kAbsolute) {
          image = take_word<std::uint32_t>(at);
          pixel = take_word<std::uint16_t>(at) + 1;
        } else if (code <= kMaxImageStep) {
          image += code;
        } else {
          pixel += code - kMaxImageStep;
        }
        take(++line, image, pixel);
      }
    }
  }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
  static constexpr std::size_t kLongestCode = 7;
  static constexpr Index kMaxImageStep = 127, kMaxPixelStep = 126;  // codes 1 … 127 and 128 … 253
  static constexpr std::uint8_t kSkipped = 254, kAbsolute = 255;
  static constexpr Offset kMaxSkip = 0xffffffff;

  struct Block {
    std::unique_ptr<std::uint8_t[]> bytes;
    std::size_t used = 0;
  };

  template <typename Word>
  static Word take_word(const std::uint8_t*& at) {
    Word value = 0;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  }
  template <typename... Words>
  void put(std::uint8_t code, Words... words) {
    if (blocks_.empty() || blocks_.back().used + kLongestCode > kBlockBytes) {
      blocks_.push_back({std::make_unique_for_overwrite<std::uint8_t[]>(kBlockBytes)});
    }
    Block& block = blocks_.back();
    block.bytes[block.used++] = code;
    (..., (std::memcpy(&block.bytes[block.used], &words, sizeof words), block.used += sizeof words));
  }
  void flush_skipped() {
    for (; skipped_ > 0; skipped_ -= std::min(skipped_, kMaxSkip)) {
      put(kSkipped, static_cast<std::uint32_t>(std::min(skipped_, kMaxSkip)));
    }
  }

  std::vector<Block> blocks_;
  Index image_ = 0, pixel_ = 0;
  Offset skipped_ = 0;
};

[[noreturn]] void fail_duplicate(const std::string& name, const LineRecord& record, Index image,
                                 Index pixel) {
  Offset first = 0, again = 0;
  record.replay([&](Offset line, Index at_image, Index at_pixel) {
    if (at_image != image || at_pixel != pixel) return;
    if (first == 0) {
      first = line;
    } else if (again == 0) {
      again = line;
    }
  });
  fail("{}:{}: image {} pixel {} again, first on line {}", name, again, image, pixel, first);
}

// Sorts the entries of one row; values go with their columns.
void sort_row(std::span<std::uint16_t> column, std::span<float> value) {
  if (value.empty()) {
    std::sort(column.begin(), column.end());
    return;
  }
  std::vector<std::pair<std::uint16_t, float>> entries(column.size());
  for (std::size_t k = 0; k < entries.size(); ++k) entries[k] = {column[k], value[k]};
  std::sort(entries.begin(), entries.end());
  for (std::size_t k = 0; k < entries.size(); ++k) std::tie(column[k], value[k]) = entries[k];
}

}  // namespace

InputRows read_images(Source source, Index pixels, std::optional<Index> limit, std::optional<Index> images) {
  assert(pixels > 0 && limit.value_or(0) >= 0 && images.value_or(1) > 0);
  if (pixels > kMaxInputColumns) {
    fail("{}: {} pixels an image, but at most {} are supported", source.name(), pixels, kMaxInputColumns);
  }
  const Index most = images.value_or(kMaxImages);
  const Index keep = std::min(limit.value_or(most), most);
  const EntryFormat format = {
      {"image", most,
       images ? fmt::format("there are {} images", most)
              : fmt::format("at most {} are taken without being told how many there are", most)},
      {"pixel", pixels, fmt::format("an image has {} pixels", pixels)},
      "value"};

  // First pass: keep the lines, count the pixels of each image. Row r is counted at r + 2, so that after the
  // sums element r + 1 is where row r begins, and after placing where it ends.
  LineRecord record;
  std::vector<Offset> row_begin(1024);
  std::vector<float> values;  // empty while every value is 1
  Offset kept = 0;
  Index largest = 0;
  scan_entries(source, format, [&](Index image, Index pixel, float value) {
    largest = std::max(largest, image);
    if (image > keep) {
      record.skip();
      return;
    }
    const auto slot = static_cast<std::size_t>(image) + 1;
    if (slot >= row_begin.size()) row_begin.resize(std::max(2 * row_begin.size(), slot + 1));
    ++row_begin[slot];
    record.add(image, pixel);
    if (value != 1 && values.empty()) values.assign(kept, 1.0F);
    if (value != 1 || !values.empty()) values.push_back(value);
    ++kept;
  });

  // Second pass: place them.
  InputRows result;
  result.rows = std::min(keep, images.value_or(largest));
  result.cols = pixels;
  row_begin.resize(static_cast<std::size_t>(result.rows) + 2);
  std::partial_sum(row_begin.begin(), row_begin.end(), row_begin.begin());
  result.column = Buffer<std::uint16_t>(kept);
  result.value = Buffer<float>(values.size());
  std::size_t entry = 0;
  record.replay([&](Offset, Index image, Index pixel) {
    const std::size_t place = row_begin[image]++;
    result.column[place] = static_cast<std::uint16_t>(pixel - 1);
    if (!values.empty()) result.value[place] = values[entry++];
  });
  row_begin.pop_back();
  result.row_begin = std::move(row_begin);

  for (Index row = 0; row < result.rows; ++row) {
    const std::size_t first = result.row_begin[row];
    const std::size_t last = result.row_begin[row + 1];
    const auto column = std::span(result.column).subspan(first, last - first);
    if (std::adjacent_find(column.begin(), column.end(), std::greater_equal<>()) == column.end()) continue;
    sort_row(column,
             values.empty() ? std::span<float>() : std::span(result.value).subspan(first, last - first));
    const auto twin = std::adjacent_find(column.begin(), column.end());
    if (twin != column.end()) fail_duplicate(source.name(), record, row + 1, *twin + 1);
  }
  return result;
}

InputRows read_images(const std::filesystem::path& path, Index pixels, std::optional<Index> limit,
                      std::optional<Index> images) {
  return read_images(Source(find_file(path).value_or(path)), pixels, limit, images);
}

void write_images(const std::filesystem::path& path, const InputRows& images) {
  if (images.nnz() == 0) fail("{}: the images have no pixels, and this format cannot say so", path.string());
  // The official order is by pixel, then image: a transposition by counting.
  const std::size_t entries = images.nnz();
  std::vector<std::size_t> place(static_cast<std::size_t>(images.cols) + 1);
  for (std::size_t k = 0; k < entries; ++k) ++place[images.column[k] + std::size_t{1}];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<Index> image(entries);
  std::vector<float> value(images.binary() ? 0 : entries);
  for (Index row = 0; row < images.rows; ++row) {
    const std::size_t first = images.row_begin[row];
    const auto columns = images.row_columns(row);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const std::size_t to = place[columns[k]]++;
      image[to] = row;
      if (!value.empty()) value[to] = images.value[first + k];
    }
  }
  AtomicFile file(path);
  std::string text;
  std::size_t k = 0;
  for (Index pixel = 0; pixel < images.cols; ++pixel) {
    for (; k < place[pixel]; ++k) {
      if (!value.empty() && !std::isfinite(value[k])) {
        fail("{}: image {} pixel {} is {}", path.string(), image[k] + 1, pixel + 1, value[k]);
      }
      fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\n", image[k] + 1, pixel + 1,
                     value.empty() ? 1.0F : value[k]);
    }
    file.write(text);
    text.clear();
  }
  file.commit();
}

}  // namespace filigree::internal
