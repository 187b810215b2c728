// SPDX-License-Identifier: Apache-2.0
// Data sets: what each kind of source gives, how rows are split and scaled, every refusal, the real files.
#include "data/dataset.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <set>

#include "base/parallel.h"
#include "base/test_threads.h"
#include "data/dataset_sources.h"
#include "data/digits.h"
#include "data/split.h"
#include "io/atomic_file.h"
#include "io/idx.h"
#include "io/test_files.h"

namespace filigree::internal {
namespace {

using Indices = std::vector<Index>;
using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;

Dataset load(const std::string& source) {
  return load_dataset({.source = source}, {});
}

std::string refusal(const std::string& source) {
  return error_of([&] { load(source); });
}
std::string misuse(const std::string& source) {
  return complaint_of([&] { load(source); });
}

template <typename T>
std::vector<T> all(const Buffer<T>& buffer) {
  return {buffer.begin(), buffer.end()};
}

Indices first_rows(Index count) {
  Indices rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::vector<int> histogram(const DataRows& part, Index classes) {
  std::vector<int> times(classes);
  for (const Index label : part.label) ++times.at(label);
  return times;
}

// Three images of 2x2 pixels for training and two for testing, under MNIST's names.
void put_tiny_mnist(const TestDirectory& directory) {
  write_idx(directory / "train-images-idx3-ubyte", {{3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255}});
  write_idx(directory / "train-labels-idx1-ubyte.gz", {{3}, {2, 0, 3}});
  write_idx(directory / "t10k-images-idx3-ubyte.gz", {{2, 2, 2}, {0, 0, 0, 1, 1, 0, 0, 0}});
  write_idx(directory / "t10k-labels-idx1-ubyte", {{2}, {1, 4}});
}

TEST(Sources, UnknownOnesAreRefusedWithAListOfTheKnown) {
  const std::string known =
      " names no data set, and no file; these are known: mnist:DIR, fashion[:DIR], "
      "idx:IMAGES,LABELS[,TEST_IMAGES,TEST_LABELS], csv:FILE[,TEST_FILE], libsvm:FILE[,TEST_FILE], "
      "npy:ROWS,TARGETS[,TEST_ROWS,TEST_TARGETS], npz:FILE[,TEST_FILE], digits[:TRAIN_ROWS], "
      "contexts[:TRAIN_ROWS]";
  EXPECT_EQ(misuse("cifar:somewhere"), "\"cifar:somewhere\"" + known);
  EXPECT_EQ(misuse(""), "\"\"" + known);
  EXPECT_EQ(misuse("data.csv"), "\"data.csv\"" + known);
}

TEST(Sources, AWrongNumberOfNamesIsRefusedWithTheForm) {
  EXPECT_EQ(misuse("csv"), "\"csv\" is not of the form csv:FILE[,TEST_FILE]");
  EXPECT_EQ(misuse("csv:"), "\"csv:\" is not of the form csv:FILE[,TEST_FILE]");
  EXPECT_EQ(misuse("csv:a,"),
            "\"csv:a,\" is not of the form csv:FILE[,TEST_FILE]; a comma within a name is written \\,");
  EXPECT_EQ(misuse("csv:,a"),
            "\"csv:,a\" is not of the form csv:FILE[,TEST_FILE]; a comma within a name is written \\,");
  EXPECT_EQ(
      misuse("libsvm:a,b,c"),
      "\"libsvm:a,b,c\" is not of the form libsvm:FILE[,TEST_FILE]; a comma within a name is written \\,");
  EXPECT_EQ(
      misuse("idx:a,b,c"),
      "\"idx:a,b,c\" is not of the form idx:IMAGES,LABELS[,TEST_IMAGES,TEST_LABELS]; a comma within a name "
      "is written \\,");
  EXPECT_EQ(misuse("digits:1,2"), "\"digits:1,2\" is not of the form digits[:TRAIN_ROWS]");
}

TEST(Sources, MissingFilesAreNamedWithTheWayToGetThem) {
  EXPECT_EQ(misuse("mnist"),
            "mnist needs the directory of its files, mnist:DIR; filigree fetch mnist downloads MNIST");
  EXPECT_EQ(refusal("mnist:/nowhere"),
            "/nowhere/train-images-idx3-ubyte: neither this file nor its .gz or .zst exists; filigree fetch "
            "mnist downloads MNIST");
  EXPECT_EQ(refusal("fashion:/nowhere"),
            "/nowhere/train-images-idx3-ubyte: neither this file nor its .gz or .zst exists; apt-get install "
            "dataset-fashion-mnist brings them, and fashion finds them then");
  EXPECT_EQ(refusal("csv:/nowhere/a.csv"), "/nowhere/a.csv: No such file or directory");
  EXPECT_EQ(refusal("libsvm:/nowhere/a"), "/nowhere/a: No such file or directory");
  EXPECT_EQ(refusal("idx:/nowhere/a,/nowhere/b"), "/nowhere/a: No such file or directory");
}

TEST(Sources, ACommaInAFileNameIsEscaped) {
  const TestDirectory directory;
  const std::string file = put_file(directory / "a,b.csv", "0,1\n1,2\n0,3\n1,4\n").string();
  std::string escaped = file;
  escaped.insert(escaped.find(','), "\\");
  EXPECT_EQ(load("csv:" + escaped).train.features, 1);
  EXPECT_EQ(absolute_source("csv:" + escaped), "csv:" + escaped);
}

TEST(Sources, AreNamedFromTheRootOn) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(absolute_source("csv:a.csv,../b.csv"),
            "csv:" + here + "/a.csv," + std::filesystem::path(here).parent_path().string() + "/b.csv");
  EXPECT_EQ(absolute_source("mnist:/data/mnist"), "mnist:/data/mnist");
  for (const char* same : {"digits:50", "digits", "fashion"}) EXPECT_EQ(absolute_source(same), same);
}

TEST(Sources, RowsAreKnownAgainInAnyOrder) {
  const TestDirectory directory;
  const std::string one = put_file(directory / "1.csv", "0,1,5\n1,2,6\n0,3,7\n1,4,8\n").string();
  const std::string other = put_file(directory / "2.csv", "1,4,8\n0,3,7\n1,2,6\n0,1,5\n").string();
  const std::string changed = put_file(directory / "3.csv", "1,4,8\n0,3,7\n1,2,6\n0,1,6\n").string();
  const DataOrigin origin = load("csv:" + one).origin;
  EXPECT_NE(origin.all_rows, 0u);
  EXPECT_EQ(load("csv:" + other).origin.all_rows, origin.all_rows);
  EXPECT_NE(load("csv:" + changed).origin.all_rows, origin.all_rows);
  const DataOrigin again = load_dataset({.source = "csv:" + one, .seed = 5}, {}).origin;
  EXPECT_EQ(again.all_rows, origin.all_rows);
}

TEST(Sources, TestSharesOutOfRangeAreRefused) {
  for (const auto& [share, text] : {std::pair{1.0, "1"}, {-0.1, "-0.1"}, {std::nan(""), "nan"}}) {
    EXPECT_EQ(complaint_of([&, s = share] { load_dataset({.source = "digits:10", .test_share = s}, {}); }),
              fmt::format("a test share of {}, but it is at least 0 and below 1", text));
  }
}

TEST(ImageSets, MnistsFourFilesAreTheTwoParts) {
  const TestDirectory directory;
  put_tiny_mnist(directory);
  for (const auto& [scheme, name] : {std::pair{"mnist:", "MNIST"}, {"fashion:", "Fashion-MNIST"}}) {
    const Dataset set = load(scheme + directory.path().string());
    EXPECT_EQ(set.name, name);
    EXPECT_EQ(set.classes, 5);
    EXPECT_EQ(set.train.rows, 3);
    EXPECT_EQ(set.train.features, 4);
    EXPECT_EQ(set.train.label, (Indices{2, 0, 3}));
    EXPECT_EQ(all(set.train.bytes), (Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255}));
    EXPECT_EQ(set.test.rows, 2);
    EXPECT_EQ(set.test.features, 4);
    EXPECT_EQ(set.test.label, (Indices{1, 4}));
    EXPECT_EQ(all(set.test.bytes), (Bytes{0, 0, 0, 1, 1, 0, 0, 0}));
    EXPECT_TRUE(set.train.floats.empty());
    EXPECT_FALSE(set.train.sparse());
  }
}

TEST(ImageSets, PartsThatDoNotFitTogetherAreRefused) {
  const TestDirectory directory;
  put_tiny_mnist(directory);
  const std::string base = directory.path().string() + "/";
  write_idx(base + "two-labels", {{2}, {0, 1}});
  write_idx(base + "square-labels", {{3, 1}, {0, 1, 2}});
  write_idx(base + "wide", {{2, 2, 3}, Bytes(12)});
  write_idx(base + "none", {{0, 2, 2}, {}});
  write_idx(base + "no-labels", {{0}, {}});
  write_idx(base + "same-labels", {{3}, {0, 0, 0}});
  const std::string images = base + "train-images-idx3-ubyte", labels = base + "train-labels-idx1-ubyte";
  EXPECT_EQ(refusal("idx:" + images + "," + base + "two-labels"),
            base + "two-labels: 2 labels, but " + images + " has 3 images");
  EXPECT_EQ(refusal("idx:" + images + "," + base + "square-labels"),
            base + "square-labels: 2 dimensions (3x1), but labels have one");
  EXPECT_EQ(refusal("idx:" + images + "," + labels + "," + base + "wide," + base + "two-labels"),
            base + "wide: images of 2x3 pixels, but those of " + images + " have 2x2");
  EXPECT_EQ(refusal("idx:" + base + "none," + base + "no-labels"), base + "none: no pixels (0x2x2)");
  const std::string same = "idx:" + images + "," + base + "same-labels";
  EXPECT_EQ(refusal(same), same + ": all rows have the same label, but there must be two classes");
}

TEST(ImageSets, ATruncatedFileIsRefused) {
  const TestDirectory directory;
  put_tiny_mnist(directory);
  const auto images = directory / "train-images-idx3-ubyte";
  put_file(images, file_content(images).substr(0, 20));
  EXPECT_EQ(refusal("mnist:" + directory.path().string()),
            images.string() + ": ends after 4 of 12 elements (3x2x2)");
  const auto labels = directory / "train-labels-idx1-ubyte.gz";
  write_idx(images, {{3, 1, 1}, {1, 2, 3}});
  put_file(labels, file_content(labels).substr(0, 20));
  EXPECT_EQ(refusal("mnist:" + directory.path().string()),
            labels.string() + ": the gzip data ends too early");
}

TEST(ImageSets, AnyNumberOfDimensionsIsFlattened) {
  const TestDirectory directory;
  const std::string base = directory.path().string() + "/";
  write_idx(base + "labels", {{2}, {0, 1}});
  write_idx(base + "flat", {{2}, {7, 9}});
  write_idx(base + "deep", {{2, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
  const auto both = [&](const std::string& images) {
    const std::string files = base + images + "," + base + "labels";
    return load("idx:" + files + "," + files);
  };
  EXPECT_EQ(both("flat").train.features, 1);
  EXPECT_EQ(all(both("flat").test.bytes), (Bytes{7, 9}));
  EXPECT_EQ(both("deep").train.features, 6);
  EXPECT_EQ(both("deep").name, "deep");
}

TEST(ImageSets, WithoutTestFilesTheRowsAreSplit) {
  const TestDirectory directory;
  const std::string base = directory.path().string() + "/";
  Bytes labels, pixels;
  for (std::uint8_t i = 0; i < 50; ++i) {
    labels.push_back(i);
    pixels.insert(pixels.end(), {i, static_cast<std::uint8_t>(2 * i)});
  }
  write_idx(base + "images", {{50, 2}, pixels});
  write_idx(base + "labels", {{50}, labels});
  const Dataset set = load("idx:" + base + "images," + base + "labels");
  EXPECT_EQ(set.classes, 50);
  EXPECT_EQ(set.train.rows, 40);
  EXPECT_EQ(set.test.rows, 10);
  Indices seen;
  for (const DataRows* part : {&set.train, &set.test}) {
    EXPECT_TRUE(std::ranges::is_sorted(part->label));  // here the label is the row
    for (std::size_t r = 0; r < part->label.size(); ++r) {
      EXPECT_EQ(part->bytes[2 * r], part->label[r]);
      EXPECT_EQ(part->bytes[2 * r + 1], 2 * part->label[r]);
    }
    seen.insert(seen.end(), part->label.begin(), part->label.end());
  }
  std::ranges::sort(seen);
  EXPECT_EQ(seen, first_rows(50));
}

TEST(CsvSets, RowsAreSplitUnlessThereIsATestFile) {
  const TestDirectory directory;
  std::string text = "x,y,kind\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("{},{},{}\n", i, i + 0.5, i % 2);
  const std::string train = put_file(directory / "train.csv", text);
  const std::string test = put_file(directory / "test.csv", "x,y,kind\n7.5,8,1\n");
  const Dataset split =
      load_dataset({.source = "csv:" + train, .label_column = "kind", .test_share = 0.25}, {});
  EXPECT_EQ(split.name, "train.csv");
  EXPECT_EQ(split.classes, 2);
  EXPECT_EQ(split.train.rows, 15);
  EXPECT_EQ(split.test.rows, 5);
  EXPECT_EQ(split.train.features, 2);
  EXPECT_EQ(split.train.floats.size(), 30U);
  for (const DataRows* part : {&split.train, &split.test}) {
    for (std::size_t r = 0; r < part->label.size(); ++r) {
      EXPECT_EQ(part->floats[2 * r + 1], part->floats[2 * r] + 0.5F);
      EXPECT_EQ(part->label[r], static_cast<Index>(part->floats[2 * r]) % 2);
    }
  }
  const Dataset whole = load_dataset({.source = "csv:" + train, .label_column = "kind", .test_share = 0}, {});
  EXPECT_EQ(whole.train.rows, 20);
  EXPECT_EQ(whole.test.rows, 0);
  EXPECT_EQ(whole.test.features, 2);
  const Dataset given = load_dataset({.source = "csv:" + train + "," + test, .label_column = "3"}, {});
  EXPECT_EQ(given.train.rows, 20);
  EXPECT_EQ(all(given.test.floats), (Floats{7.5, 8}));
  EXPECT_EQ(given.test.label, Indices{1});
}

TEST(CsvSets, ClassesAreNumberedInTheOrderOfTheirLabels) {
  const TestDirectory directory;
  const auto labels_of = [&](const char* text) {
    const std::string file = put_file(directory / "a.csv", text);
    const Dataset set = load_dataset({.source = "csv:" + file, .test_share = 0}, {});
    return std::pair{set.classes, set.train.label};
  };
  EXPECT_EQ(labels_of("0,5\n2,5\n1,5\n"), (std::pair{3, Indices{0, 2, 1}}));
  EXPECT_EQ(labels_of("1,5\n-1,5\n1,5\n"), (std::pair{2, Indices{1, 0, 1}}));
  EXPECT_EQ(labels_of("1,5\n2,5\n"), (std::pair{2, Indices{0, 1}}));
  EXPECT_EQ(labels_of("1e6,5\n7,5\n-30,5\n7,5\n"), (std::pair{3, Indices{2, 1, 0, 1}}));
}

TEST(CsvSets, FilesThatDoNotFitTogetherAreRefused) {
  const TestDirectory directory;
  const std::string train = put_file(directory / "train.csv", "kind,x,y\n0,1,2\n3,1,2\n");
  const auto with = [&](std::string_view text) {
    return refusal("csv:" + train + "," + put_file(directory / "test.csv", text).string());
  };
  const std::string test = (directory / "test.csv").string();
  EXPECT_EQ(with("kind,x,y\n0,1,2\n\n2,1,2\n"), test + ":4: label 2, which no row of " + train + " has");
  EXPECT_EQ(with("0,1\n"), test + ": rows of 1 values, but " + train + " has 2 inputs");
  EXPECT_EQ(with("kind,y,z\n0,1,2\n"), test + ": no column is called \"x\", which " + train + " has");
  EXPECT_EQ(with("y,kind,x\n2,0,1\n"), "") << "columns are found by name";
  EXPECT_EQ(with("0,1,2\n3,4\n"), test + ":2: 2 columns, but line 1 has 3");
  EXPECT_EQ(with(""), test + ": the file is empty");
  EXPECT_EQ(with("0,1,2\n3,1,2\n"), "");  // a header in one of them is fine
}

TEST(CsvSets, OneClassOrTooManyAreRefused) {
  const TestDirectory directory;
  const std::string one = put_file(directory / "one.csv", "4,1\n4,2\n");
  EXPECT_EQ(refusal("csv:" + one),
            "csv:" + one + ": all rows have the same label, but there must be two classes");
  std::string text;
  for (int i = 0; i <= 65536; ++i) text += fmt::format("{},1\n", 2 * i);
  const std::string many = put_file(directory / "many.csv", text);
  EXPECT_EQ(refusal("csv:" + many),
            many +
                ": column 1 holds 65537 different whole numbers in 65537 rows: do they count the rows? Then "
                "another column is the label; or is the number to be learned? Then the task is values");
  const auto as_classes = [](const std::string& file) {
    return load_dataset({.source = "csv:" + file, .task = Task::classes}, {}).classes;
  };
  EXPECT_EQ(error_of([&] { as_classes(many); }),
            many + ": column 1 holds more than 65536 different labels: are these classes?");
  const std::string most = put_file(directory / "most.csv", text.substr(0, text.size() - 9));
  EXPECT_EQ(as_classes(most), 65536);
}

TEST(CsvSets, AFileIsFoundByItsNameWithoutGz) {
  const TestDirectory directory;
  AtomicFile file(directory / "a.csv.gz");
  file.write("0,1\n1,2\n");
  file.commit();
  EXPECT_EQ(load("csv:" + (directory / "a.csv").string()).train.rows, 2);
}

TEST(LibsvmSets, StaySparseThroughTheSplit) {
  const TestDirectory directory;
  std::string text;
  for (int i = 0; i < 20; ++i) {  // row i holds its number at feature i + 1, and nothing if it is a third
    text += i % 3 == 0 ? fmt::format("{}\n", i) : fmt::format("{} {}:{}\n", i, i + 1, i);
  }
  const std::string file = put_file(directory / "a.svm", text);
  const Dataset set = load("libsvm:" + file);
  EXPECT_EQ(set.name, "a.svm");
  EXPECT_EQ(set.classes, 20);
  EXPECT_EQ(set.train.rows, 16);
  EXPECT_EQ(set.test.rows, 4);
  std::set<Index> seen;
  for (const DataRows* part : {&set.train, &set.test}) {
    EXPECT_EQ(part->features, 20);
    EXPECT_TRUE(part->sparse());
    EXPECT_TRUE(part->floats.empty());
    ASSERT_EQ(part->row_begin.size(), part->label.size() + 1);
    EXPECT_EQ(part->column.size(), part->value.size());
    for (std::size_t r = 0; r < part->label.size(); ++r) {
      const Index row = part->label[r];  // the label is the row
      seen.insert(row);
      ASSERT_EQ(part->row_begin[r + 1] - part->row_begin[r], row % 3 == 0 ? 0 : 1);
      if (row % 3 == 0) continue;
      EXPECT_EQ(part->column[part->row_begin[r]], row);
      EXPECT_EQ(part->value[part->row_begin[r]], static_cast<float>(row));
    }
  }
  EXPECT_EQ(seen.size(), 20U);
  const Dataset whole = load_dataset({.source = "libsvm:" + file, .test_share = 0}, {});
  EXPECT_EQ(whole.test.rows, 0);
  EXPECT_EQ(whole.test.row_begin, std::vector<Offset>{0});
}

TEST(LibsvmSets, FeaturesReachAsFarAsEitherFile) {
  const TestDirectory directory;
  const std::string small = put_file(directory / "small", "-1 2:1\n+1 1:1\n");
  const std::string large = put_file(directory / "large", "+1 9:1\n-1\n");
  for (const auto& [train, test] : {std::pair{small, large}, {large, small}}) {
    const Dataset set = load(fmt::format("libsvm:{},{}", train, test));
    EXPECT_EQ(set.train.features, 9);
    EXPECT_EQ(set.test.features, 9);
    EXPECT_EQ(set.classes, 2);
  }
  EXPECT_EQ(load("libsvm:" + small + "," + large).test.label, (Indices{1, 0}));
}

TEST(LibsvmSets, WhatCannotBeLearntIsRefused) {
  const TestDirectory directory;
  const std::string train = put_file(directory / "train", "-1 2:1\n+1 1:1\n");
  const std::string test = put_file(directory / "test", "# comment\n2 1:1\n");
  const std::string empty = put_file(directory / "empty", "1\n2\n");
  EXPECT_EQ(refusal("libsvm:" + train + "," + test), test + ":2: label 2, which no row of " + train + " has");
  EXPECT_EQ(refusal("libsvm:" + empty), empty + ": no row has any feature");
}

TEST(DigitSets, AreDrawnInBytesWithTheirLabels) {
  const Dataset set = load("digits:1100");  // more than one batch
  EXPECT_EQ(set.classes, 10);
  EXPECT_EQ(set.train.rows, 1100);
  EXPECT_EQ(set.test.rows, 220);
  EXPECT_EQ(set.train.features, 784);
  EXPECT_EQ(set.train.bytes.size(), 1100U * 784);
  // White paper and black ink both occur in every image, and ones have less ink than eights.
  std::vector<double> ink(10), images(10);
  for (std::size_t r = 0; r < 1100; ++r) {
    const std::span image(set.train.bytes.data() + r * 784, 784);
    EXPECT_EQ(std::ranges::min(image), 0);
    EXPECT_GT(std::ranges::max(image), 200);
    const std::size_t label = set.train.label[r];
    ink.at(label) += std::accumulate(image.begin(), image.end(), 0.0);
    images.at(label) += 1;
  }
  EXPECT_LT(ink[1] / images[1], 0.75 * ink[8] / images[8]);
  EXPECT_EQ(load("digits").train.rows, 10000);
}

TEST(DigitSets, GreyIsRoundedToTheNearestByte) {
  const DataRows digits = drawn_digits(20, 9, {});
  std::array<float, 784> grey = {};
  for (Index image = 0; image < 20; ++image) {
    EXPECT_EQ(digits.label.at(static_cast<std::size_t>(image)), digit_label(9, image));
    draw_digit(9, image, 28, grey);
    for (std::size_t p = 0; p < 784; ++p) {
      EXPECT_NEAR(digits.bytes[static_cast<std::size_t>(image) * 784 + p], 255.0 * grey[p], 0.50001);
    }
  }
}

TEST(DigitSets, DependOnTheSeedAndNotOnTheThreads) {
  const auto digits = [](std::uint64_t seed) {
    return load_dataset({.source = "digits:200", .seed = seed}, {});
  };
  const int before = threads();
  set_threads(1);
  const Dataset one = digits(1);
  set_threads(2);
  const Dataset two = digits(1);
  set_threads(before);
  EXPECT_EQ(all(one.train.bytes), all(two.train.bytes));
  EXPECT_EQ(one.train.label, two.train.label);
  const Dataset other = digits(2);
  EXPECT_NE(one.train.label, other.train.label);
  // The test rows are not training rows, of this seed or the next.
  for (const Dataset* set : {&one, &other}) {
    for (std::size_t r = 0; r < 40; ++r) {
      const std::span image(one.test.bytes.data() + r * 784, 784);
      for (std::size_t t = 0; t < 200; ++t) {
        EXPECT_FALSE(std::ranges::equal(image, std::span(set->train.bytes.data() + t * 784, 784)));
      }
    }
  }
}

TEST(DigitSets, RefuseWhatIsNoNumberOfRows) {
  const std::string rest = " training rows of digits, but that is a whole number from 1 to 2147483647";
  for (const char* rows : {"0", "-5", "many", "10x", "3000000000"}) {
    EXPECT_EQ(misuse(std::string("digits:") + rows), fmt::format("\"{}\"", rows) + rest);
  }
  EXPECT_EQ(load("digits:1").test.rows, 0);
}

TEST(ContextSets, MeanWhatTheirContextSays) {
  const Dataset set = load("contexts:9000");
  EXPECT_EQ(set.train.rows, 9000);
  EXPECT_EQ(set.test.rows, 1800);
  EXPECT_EQ(set.train.features, 40);
  EXPECT_EQ(set.classes, 4);
  EXPECT_EQ(load("contexts").train.rows, 40000);
  // Within a context the mean row of a class points its way: other rows are told by it. In another they are
  // not.
  const auto context_of = [&](std::size_t r) {
    const float* row = set.train.floats.data() + r * 40;
    return static_cast<std::size_t>(std::max_element(row, row + 16) - row);
  };
  std::vector<std::array<double, 24>> mean(16 * 4);
  for (std::size_t r = 0; r < 9000; ++r)
    for (std::size_t i = 0; i < 24; ++i)
      mean[context_of(r) * 4 + set.train.label[r]][i] += double{set.train.floats[r * 40 + 16 + i]};
  const auto told = [&](std::size_t shift) {
    std::size_t right = 0;
    for (std::size_t r = 0; r < 9000; ++r) {
      std::array<double, 4> along = {};
      for (std::size_t c = 0; c < 4; ++c)
        for (std::size_t i = 0; i < 24; ++i)
          along[c] +=
              mean[(context_of(r) + shift) % 16 * 4 + c][i] * double{set.train.floats[r * 40 + 16 + i]};
      right += std::max_element(along.begin(), along.end()) - along.begin() == set.train.label[r];
    }
    return static_cast<double>(right) / 9000;
  };
  EXPECT_GT(told(0), 0.8);
  EXPECT_LT(told(5), 0.4);
  EXPECT_EQ(misuse("contexts:none"),
            "\"none\" training rows of contexts, but that is a whole number from 1 to 2147483647");
}

TEST(ContextSets, DependOnTheSeedAndNotOnTheThreads) {
  const auto rows = [](std::uint64_t seed) {
    return load_dataset({.source = "contexts:1000", .seed = seed}, {});
  };
  const int before = threads();
  set_threads(1);
  const Dataset one = rows(1);
  set_threads(2);
  const Dataset two = rows(1);
  set_threads(before);
  EXPECT_TRUE(std::ranges::equal(one.train.floats, two.train.floats));
  EXPECT_EQ(one.train.label, two.train.label);
  EXPECT_NE(one.train.label, rows(2).train.label);
}

TEST(Observers, SeeEveryStageToItsEnd) {
  const TestDirectory directory;
  put_tiny_mnist(directory);
  const std::string csv = put_file(directory / "a.csv", "0,1\n1,2\n");
  const std::string svm = put_file(directory / "a.svm", "0 1:1\n1 1:2\n");
  const std::string last = (directory / "t10k-labels-idx1-ubyte").string();
  for (const auto& [source, stage] : {std::pair{"mnist:" + directory.path().string(), "reading " + last},
                                      {"csv:" + csv, "reading " + csv},
                                      {"libsvm:" + svm, "reading " + svm},
                                      {"digits:30", "drawing digits"}}) {
    std::vector<std::string> ended;
    Observer observer;
    observer.progress = [&](const Progress& p) {
      if (p.done == p.total) ended.emplace_back(p.stage);
    };
    load_dataset({.source = source}, observer);
    ASSERT_FALSE(ended.empty()) << source;
    EXPECT_EQ(ended.back(), stage);
  }
}

TEST(Observers, StopEveryKindOfLoad) {
  const TestDirectory directory;
  put_tiny_mnist(directory);
  const std::string csv = put_file(directory / "a.csv", "0,1\n1,2\n");
  const std::string svm = put_file(directory / "a.svm", "0 1:1\n1 1:2\n");
  for (const auto& source :
       {"mnist:" + directory.path().string(), "csv:" + csv, "libsvm:" + svm, std::string("digits:3000")}) {
    std::stop_source stop;  // asked for when the first report arrives
    const Observer observer{.progress = [&](const Progress&) { stop.request_stop(); },
                            .stop = stop.get_token()};
    EXPECT_THROW(load_dataset({.source = source}, observer), Cancelled) << source;
  }
}

class RealData : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("FILIGREE_DATA");  // NOLINT(concurrency-mt-unsafe)
    if (folder == nullptr)
      GTEST_SKIP() << "FILIGREE_DATA names no folder with mnist/, fashion-mnist/ and higgs/";
    data_ = folder;
  }
  std::string data_;
};

// The counts below are those that the data sets' publishers and the data folder's README state.
TEST_F(RealData, MnistHasItsKnownCountsMeanAndDeviation) {
  const Dataset set = load("mnist:" + data_ + "/mnist");
  EXPECT_EQ(set.train.rows, 60000);
  EXPECT_EQ(set.test.rows, 10000);
  EXPECT_EQ(set.train.features, 784);
  ASSERT_EQ(set.classes, 10);
  EXPECT_EQ(histogram(set.train, 10),
            (std::vector<int>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}));
  EXPECT_EQ(histogram(set.test, 10),
            (std::vector<int>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
  const InputScaling scaling = input_scaling(Scaling::standard, set.train, first_rows(60000));
  ASSERT_EQ(scaling.mean.size(), 1U);
  EXPECT_NEAR(scaling.mean[0] / 255, 0.1307, 0.00005);  // as everyone normalises MNIST
  EXPECT_NEAR(1 / scaling.scale[0] / 255, 0.3081, 0.00005);
}

TEST_F(RealData, FashionHasAsManyRowsOfEveryClass) {
  const Dataset set = load("fashion:" + data_ + "/fashion-mnist");
  ASSERT_EQ(set.classes, 10);
  EXPECT_EQ(set.train.features, 784);
  EXPECT_EQ(histogram(set.train, 10), std::vector<int>(10, 6000));
  EXPECT_EQ(histogram(set.test, 10), std::vector<int>(10, 1000));
}

TEST_F(RealData, HiggsComesWithAllItsRows) {
  const Dataset set =
      load_dataset({.source = "csv:" + data_ + "/higgs/higgs-51k.csv.gz", .test_share = 0}, {});
  ASSERT_EQ(set.classes, 2);
  EXPECT_EQ(histogram(set.train, 2),
            (std::vector<int>{24096, 27137}));  // zcat | cut -d, -f1 | sort | uniq -c
  ASSERT_EQ(set.train.rows, 51233);
  ASSERT_EQ(set.train.features, 28);
  // Of the first and the last row as zcat shows them.
  EXPECT_EQ(set.train.label[0], 1);
  EXPECT_EQ(set.train.floats[0], 1.09256434F);
  EXPECT_EQ(set.train.floats[4], -1.06372285F);
  EXPECT_EQ(set.train.floats[27], 1.01739681F);
  EXPECT_EQ(set.train.label[51232], 0);
  EXPECT_EQ(set.train.floats[51233U * 28 - 1], 0.517419875F);
}

}  // namespace
}  // namespace filigree::internal
