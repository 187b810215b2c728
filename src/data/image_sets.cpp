// SPDX-License-Identifier: Apache-2.0
// Data sets of bytes: images in idx files, and drawn digits.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "base/error.h"
#include "base/random.h"
#include "base/system.h"
#include "data/dataset_sources.h"
#include "data/digits.h"
#include "data/split.h"
#include "data/watched_loop.h"
#include "io/idx.h"
#include "io/message_text.h"

namespace filigree::internal {
namespace {

constexpr std::uint64_t kDigitsStream = 0x646967697473;  // "digits"
constexpr Index kDigitSide = 28, kDigitClasses = 10;
constexpr Index kDefaultDigits = 10000;

IdxArray read_watched(const std::filesystem::path& path, const DataOptions& options,
                      const Observer& observer) {
  observer.check_stop();
  IdxArray array =
      read_idx(Source(find_file(path).value_or(path), memory_limit_or_usual(options.memory_limit)));
  const double bytes = array.data.size();
  observer.report("reading " + path.string(), bytes, bytes, "bytes");
  return array;
}

// One part and the shape of its images.
struct ImagePart {
  DataRows rows;
  std::vector<std::uint32_t> shape;  // of one image
};

ImagePart read_part(const std::filesystem::path& images_path, const std::filesystem::path& labels_path,
                    const DataOptions& options, const Observer& observer) {
  const IdxArray images = read_watched(images_path, options, observer);
  const IdxArray labels = read_watched(labels_path, options, observer);
  constexpr std::size_t kMost = std::numeric_limits<Index>::max();
  const std::size_t count = images.dims.front();
  if (images.data.empty()) {
    fail("{}: no pixels ({})", images_path.string(), joined(images.dims, "x"));
  }
  if (count > kMost || images.data.size() / count > kMost) {
    fail("{}: {} elements, but at most {} images of as many pixels are read", images_path.string(),
         joined(images.dims, "x"), kMost);
  }
  if (labels.dims.size() != 1) {
    fail("{}: {} dimensions ({}), but labels have one", labels_path.string(), labels.dims.size(),
         joined(labels.dims, "x"));
  }
  if (labels.dims.front() != count) {
    fail("{}: {} labels, but {} has {} images", labels_path.string(), labels.dims.front(),
         images_path.string(), count);
  }
  ImagePart part;
  part.shape.assign(images.dims.begin() + 1, images.dims.end());
  part.rows.rows = count;
  part.rows.features = images.data.size() / count;
  part.rows.label.assign(labels.data.begin(), labels.data.end());
  part.rows.bytes = Buffer<std::uint8_t>(images.data.size());
  std::ranges::copy(images.data, part.rows.bytes.begin());
  return part;
}

Index largest_label(const DataRows& part) {
  return part.label.empty() ? 0 : std::ranges::max(part.label);
}

// `files` are images and labels, of training and, if there are four, of testing.
Dataset read_image_set(std::string name, std::span<const std::filesystem::path> files,
                       const DataOptions& options, const Observer& observer) {
  Dataset set;
  set.name = std::move(name);
  ImagePart train = read_part(files[0], files[1], options, observer);
  if (files.size() == 2) {
    draw_parts(train.rows, options, set);
  } else {
    ImagePart test = read_part(files[2], files[3], options, observer);
    if (train.shape != test.shape) {
      fail("{}: images of {} pixels, but those of {} have {}", files[2].string(), joined(test.shape, "x"),
           files[0].string(), joined(train.shape, "x"));
    }
    set.train = std::move(train.rows);
    set.test = std::move(test.rows);
  }
  set.classes = 1 + std::max(largest_label(set.train), largest_label(set.test));
  return set;
}

// The four files as MNIST names them. `advice` follows when one is missing.
Dataset read_mnist_files(std::string name, const std::filesystem::path& directory, std::string_view advice,
                         const DataOptions& options, const Observer& observer) {
  std::vector<std::filesystem::path> files;
  for (const char* file : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                           "t10k-labels-idx1-ubyte"}) {
    const auto found = find_file(directory / file);
    if (!found)
      fail("{}: neither this file nor its .gz or .zst exists; {}", (directory / file).string(), advice);
    files.push_back(*found);
  }
  return read_image_set(std::move(name), files, options, observer);
}

}  // namespace

Dataset load_mnist(Names directory, const LoadRequest& request) {
  const auto& [options, known, observer] = request;
  constexpr std::string_view kAdvice = "filigree fetch mnist downloads MNIST";
  if (directory.empty())
    throw std::invalid_argument(
        fmt::format("mnist needs the directory of its files, mnist:DIR; {}", kAdvice));
  return read_mnist_files("MNIST", directory.front(), kAdvice, options, observer);
}

Dataset load_fashion(Names directory, const LoadRequest& request) {
  const auto& [options, known, observer] = request;
  const std::string debian = "/usr/share/datasets/fashion-mnist";  // of the package named below
  return read_mnist_files("Fashion-MNIST", directory.empty() ? debian : directory.front(),
                          "apt-get install dataset-fashion-mnist brings them, and fashion finds them then",
                          options, observer);
}

Dataset load_idx(Names files, const LoadRequest& request) {
  const auto& [options, known, observer] = request;
  const std::vector<std::filesystem::path> paths(files.begin(), files.end());
  return read_image_set(paths.front().filename().string(), paths, options, observer);
}

DataRows drawn_digits(Index count, std::uint64_t seed, const Observer& observer) {
  constexpr std::size_t kPixels = std::size_t{kDigitSide} * kDigitSide;
  constexpr std::size_t kBatch = 1024, kGrain = 16;
  const std::size_t rows = count;
  DataRows part;
  part.rows = count;
  part.features = kPixels;
  part.label.resize(rows);
  part.bytes = Buffer<std::uint8_t>(rows * kPixels);
  watched_loop(observer, "drawing digits", rows, kBatch, kGrain, [&](std::size_t begin, std::size_t end) {
    std::array<float, kPixels> grey = {};
    for (std::size_t i = begin; i < end; ++i) {
      const Index image = i;
      part.label[i] = digit_label(seed, image);
      draw_digit(seed, image, kDigitSide, grey);
      std::ranges::transform(grey, part.bytes.begin() + i * kPixels,
                             [](float g) { return static_cast<std::uint8_t>(std::lround(g * 255)); });
    }
  });
  return part;
}

Dataset load_digits(Names train_rows, const LoadRequest& request) {
  const auto& [options, known, observer] = request;
  const Index rows = rows_named(train_rows, "digits", kDefaultDigits);
  check_memory("digits", rows, std::size_t{kDigitSide} * kDigitSide + sizeof(Index), options);
  Random seeds(options.seed, kDigitsStream);
  const std::uint64_t train_seed = seeds.next(), test_seed = seeds.next();
  return {"drawn digits", kDigitClasses, drawn_digits(rows, train_seed, observer),
          drawn_digits(rows / 5, test_seed, observer)};
}

}  // namespace filigree::internal
