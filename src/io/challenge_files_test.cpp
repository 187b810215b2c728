// SPDX-License-Identifier: Apache-2.0
// Tests of the Graph Challenge readers and writers: every accepted form, every refusal, the official bytes.
#include "io/challenge_files.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "io/test_files.h"

namespace filigree::internal {
namespace {

using namespace std::string_literals;

CsrMatrix layer_of(std::string_view text, Index neurons = 1024) {
  return read_layer(in_memory(text), neurons);
}

std::string refusal(std::string_view text) {
  return error_of([&] { layer_of(text); });
}

std::string image_refusal(std::string_view text, std::optional<Index> limit = {},
                          std::optional<Index> images = {}) {
  return error_of([&] { read_images(in_memory(text), 1024, limit, images); });
}

std::vector<std::uint16_t> row_of(const InputRows& images, Index row) {
  const auto columns = images.row_columns(row);
  return {columns.begin(), columns.end()};
}

const CsrMatrix kSmall = {
    .rows = 4, .cols = 4, .row_begin = {0, 2, 2, 3, 3}, .column = {0, 3, 1}, .value = {0.5F, 0.5F, -2.0F}};

TEST(ReadLayer, RowsAreOutputsAndColumnsInputs) {
  EXPECT_EQ(layer_of("1\t1\t0.5\n4\t1\t0.5\n2\t3\t-2\n", 4), kSmall);
}

TEST(ReadLayer, AcceptsEveryHarmlessForm) {
  for (const std::string_view text : {
           "1\t1\t0.5\r\n4\t1\t0.5\r\n2\t3\t-2\r\n",                   // CRLF
           "1 1 0.5\n  4  1\t 0.5 \n2\t3 -2\t\n",                      // spaces
           "1\t1\t0.5\n4\t1\t0.5\n2\t3\t-2\n\n \r\n\t\n",              // blank lines at the end
           "2\t3\t-2\n4\t1\t0.5\n1\t1\t0.5\n",                         // unsorted outputs
           "4\t1\t0.5\n1\t1\t0.5\n2\t3\t-2\n",                         // unsorted inputs
           "1\t1\t5.000000e-01\n4\t1\t0.5\n2\t3\t-2.0000000000000\n",  // the same numbers in other words
           "0001\t1\t0.5\n000000000004\t1\t0.5\n2\t3\t-2\n",           // zeros in front
       }) {
    EXPECT_EQ(layer_of(text, 4), kSmall) << text;
  }
}

TEST(ReadLayer, AValueTooSmallForAFloatIsZero) {
  EXPECT_EQ(layer_of("1\t1\t1e-60\n").value.at(0), 0.0F);
  EXPECT_EQ(layer_of("1\t1\t1e-45\n").value.at(0), std::numeric_limits<float>::denorm_min());
}

TEST(ReadLayer, FindsLinesAcrossAllBlockBoundaries) {
  // Two megabytes of lines whose lengths vary, so that blocks end at every place within a line.
  std::string text;
  CsrMatrix expected = {.rows = 512, .cols = 512, .row_begin = {0}, .column = {}, .value = {}};
  for (Index output = 0; output < 512; ++output) {
    for (Index input = output % 3; input < 512; input += 2 + output % 2) {
      const int weight = 1 + (input * 31 + output) % 1000;
      text += std::to_string(input + 1) + "\t" + std::to_string(output + 1) + "\t" + std::to_string(weight) +
              "\n";
      expected.column.push_back(input);
      expected.value.push_back(weight);
    }
    expected.row_begin.push_back(expected.nnz());
  }
  ASSERT_GT(text.size(), std::size_t{1} << 20);
  EXPECT_TRUE(layer_of(text, 512) == expected);
}

TEST(ReadLayer, RefusesAFileThatWasCutOff) {
  const std::string whole = "1\t1\t6.250000e-02\n4\t1\t6.250000e-02\n";
  EXPECT_EQ(layer_of(whole, 4).nnz(), 2);
  // Cut inside its last number, which then is another number: 6.25.
  EXPECT_EQ(error_of([&] { layer_of(whole.substr(0, whole.size() - 9), 4); }),
            "file:2: the file ends in the middle of this line, without a newline: it was cut off");
}

TEST(ReadLayer, NumbersOfAnyLengthAreReadInFull) {
  for (const Index number : {9, 10, 99, 100, 9999, 65536, 99999, 100000, 999999, 1000000}) {
    const CsrMatrix layer = layer_of(std::to_string(number) + "\t1\t1\n", 1000000);
    EXPECT_EQ(layer.column.at(0), number - 1);
  }
}

TEST(ReadLayer, SaysWhichNumberIsOutOfRangeWhere) {
  EXPECT_EQ(refusal("1\t1\t1\n1025\t2\t1\n"), "file:2: input 1025, but the network has 1024 neurons");
  EXPECT_EQ(refusal("1\t1025\t1\n"), "file:1: output 1025, but the network has 1024 neurons");
  EXPECT_EQ(refusal("0\t1\t1\n"), "file:1: input 0, but numbers start at 1");
  EXPECT_EQ(refusal("1\t-3\t1\n"), "file:1: output -3, but numbers start at 1");
  EXPECT_EQ(refusal("99999999999999999999\t1\t1\n"),
            "file:1: input 99999999999999999999, but the network has 1024 neurons");
  EXPECT_EQ(refusal("4294967297\t1\t1\n"), "file:1: input 4294967297, but the network has 1024 neurons");
}

TEST(ReadLayer, SaysWhichFieldIsWrongWhere) {
  EXPECT_EQ(refusal("1\t1\t1\n2\t1\n"), "file:2: 2 fields where a line has three: input, output, weight");
  EXPECT_EQ(refusal("7\n"), "file:1: 1 field where a line has three: input, output, weight");
  EXPECT_EQ(refusal("1\t1\t1\t1\n"), "file:1: 4 fields where a line has three: input, output, weight");
  EXPECT_EQ(refusal("one\t1\t1\n"), "file:1: input \"one\" is not a whole number");
  EXPECT_EQ(refusal("1\t1.5\t1\n"), "file:1: output \"1.5\" is not a whole number");
  EXPECT_EQ(refusal("-\t1\t1\n"), "file:1: input \"-\" is not a whole number");
  EXPECT_EQ(refusal("1\t1\t0.5x\n"), "file:1: weight \"0.5x\" is not a number");
  EXPECT_EQ(refusal("1\t1\t0x10\n"), "file:1: weight \"0x10\" is not a number");
  EXPECT_EQ(refusal("1\t1\t1\n2\t1\t1\n\n3\t1\t1\n"), "file:3: a blank line, but more entries follow");
}

TEST(ReadLayer, RefusesWeightsThatAreNotFinite) {
  EXPECT_EQ(refusal("1\t1\tnan\n"), "file:1: weight \"nan\" is not finite");
  EXPECT_EQ(refusal("1\t1\t-inf\n"), "file:1: weight \"-inf\" is not finite");
  EXPECT_EQ(refusal("1\t1\t1e39\n"), "file:1: weight \"1e39\" does not fit a float");
  EXPECT_EQ(refusal("1\t1\t-1e999\n"), "file:1: weight \"-1e999\" does not fit a float");
}

TEST(ReadLayer, RefusesDuplicatesAndNamesBothLines) {
  EXPECT_EQ(refusal("3\t5\t1\n3\t5\t1\n"), "file:2: input 3 to output 5 again, first on line 1");
  EXPECT_EQ(refusal("3\t5\t1\n9\t9\t1\n1\t1\t1\n3\t5\t2\n"),
            "file:4: input 3 to output 5 again, first on line 1");
}

TEST(ReadLayer, RefusesEmptyAndBinaryFiles) {
  EXPECT_EQ(refusal(""), "file: the file is empty");
  EXPECT_EQ(refusal("\n\n"), "file: the file is empty");
  EXPECT_EQ(refusal("1\t1\t1\n\0\t1\t1\n"s), "file:2: input \"\\x00\" is not a whole number");
  EXPECT_EQ(refusal("1\t1\t1\0\n"s), "file:1: weight \"1\\x00\" is not a number");
  EXPECT_EQ(refusal("\x89PNG\r\n\x1a\n"s), "file:1: 1 field where a line has three: input, output, weight");
  EXPECT_EQ(refusal("1\t1\t1\n" + std::string(std::size_t{1} << 20, '7')),
            "file:2: a line of more than 262144 bytes: this is no text file of numbers");
  EXPECT_EQ(refusal(std::string(100, 'x') + "\t1\t1"),
            "file:1: input \"" + std::string(40, 'x') + "…\" is not a whole number");
}

TEST(ReadLayer, FindsTheCompressedFile) {
  const TestDirectory directory;
  write_layer(directory / "layer.tsv.gz", kSmall.view());
  EXPECT_EQ(read_layer(directory / "layer.tsv", 4), kSmall);
  const std::string missing = (directory / "missing.tsv").string();
  EXPECT_EQ(error_of([&] { read_layer(missing, 4); }), missing + ": No such file or directory");
}

TEST(WriteLayer, WritesTheOfficialForm) {
  const TestDirectory directory;
  write_layer(directory / "layer.tsv", kSmall.view());
  EXPECT_EQ(file_content(directory / "layer.tsv"),
            "1\t1\t5.000000e-01\n4\t1\t5.000000e-01\n2\t3\t-2.000000e+00\n");
}

TEST(WriteLayer, EveryFloatComesBack) {
  const TestDirectory directory;
  CsrMatrix layer = {.rows = 1, .cols = 5, .row_begin = {0, 5}, .column = {0, 1, 2, 3, 4}, .value = {}};
  layer.value = {0.1F, 1.0F / 3, 16777217.0F, 1e-45F, 3.4028235e38F};
  layer.rows = 5;
  layer.row_begin = {0, 5, 5, 5, 5, 5};
  write_layer(directory / "layer.tsv", layer.view());
  EXPECT_EQ(read_layer(directory / "layer.tsv", 5), layer);
  EXPECT_EQ(file_content(directory / "layer.tsv").substr(0, 17), "1\t1\t1.000000e-01\n");
}

TEST(WriteLayer, RefusesWhatNoReaderTakes) {
  const TestDirectory directory;
  const auto path = directory / "layer.tsv";
  CsrMatrix layer = kSmall;
  layer.value[1] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_of([&] { write_layer(path, layer.view()); }),
            path.string() + ": the weight of input 4 to output 1 is inf");
  layer = {.rows = 1, .cols = 1, .row_begin = {0, 0}, .column = {}, .value = {}};
  EXPECT_EQ(error_of([&] { write_layer(path, layer.view()); }),
            path.string() + ": the layer has no connections, and this format cannot say so");
  EXPECT_EQ(directory.files(), 0U);
  EXPECT_NE(error_of([&] { write_layer("/dev/full", kSmall.view()); }).find("No space left"),
            std::string::npos);
}

TEST(ReadImages, MakesOneRowAnImageEmptyOnesIncluded) {
  const InputRows images = read_images(in_memory("1\t5\t1\n4\t5\t1\n1\t1024\t1\n"), 1024);
  EXPECT_EQ(images.rows, 4);
  EXPECT_EQ(images.cols, 1024);
  EXPECT_TRUE(images.binary());
  EXPECT_EQ(images.row_begin, (std::vector<Offset>{0, 2, 2, 2, 3}));
  EXPECT_EQ(row_of(images, 0), (std::vector<std::uint16_t>{4, 1023}));
  EXPECT_EQ(row_of(images, 3), (std::vector<std::uint16_t>{4}));
}

TEST(ReadImages, SortsAnyOrderAndKeepsValuesWithTheirPixels) {
  const InputRows images = read_images(in_memory("3\t9\t1\n1\t2\t1\n3\t1\t0.5\n1\t1\t1\n3\t4\t-2\n"), 1024);
  EXPECT_FALSE(images.binary());
  EXPECT_EQ(images.row_begin, (std::vector<Offset>{0, 2, 2, 5}));
  EXPECT_EQ(row_of(images, 0), (std::vector<std::uint16_t>{0, 1}));
  EXPECT_EQ(row_of(images, 2), (std::vector<std::uint16_t>{0, 3, 8}));
  EXPECT_TRUE(std::ranges::equal(images.value, (std::vector<float>{1, 1, 0.5F, -2, 1})));
}

TEST(ReadImages, EveryStepBetweenLinesIsKept) {
  // Steps around what one byte of the record holds, along images and along pixels.
  std::string text;
  std::vector<std::pair<Index, Index>> entries;
  for (const Index step : {1, 2, 126, 127, 128, 129, 253, 254, 255, 256, 1000}) {
    for (const bool along_images : {true, false}) {
      const auto [image, pixel] = entries.empty() ? std::pair<Index, Index>{1, 1} : entries.back();
      entries.emplace_back(image + (along_images ? step : 0), pixel + (along_images ? 0 : step));
      text += std::to_string(entries.back().first) + "\t" + std::to_string(entries.back().second) + "\t1\n";
    }
  }
  const InputRows images = read_images(in_memory(text), 65536);
  EXPECT_EQ(images.rows, entries.back().first);
  EXPECT_EQ(images.nnz(), static_cast<Offset>(entries.size()));
  for (const auto& [image, pixel] : entries) {
    const auto columns = images.row_columns(image - 1);
    EXPECT_TRUE(std::binary_search(columns.begin(), columns.end(), pixel - 1)) << image << " " << pixel;
  }
}

TEST(ReadImages, TheLastPixelOfTheLargestImageFits) {
  const InputRows images = read_images(in_memory("1\t65536\t1\n"), 65536);
  EXPECT_EQ(row_of(images, 0), (std::vector<std::uint16_t>{65535}));
}

TEST(ReadImages, ALimitKeepsTheFirstImages) {
  const std::string text = "1\t5\t1\n3\t5\t1\n9\t5\t0.5\n3\t6\t1\n";
  const InputRows images = read_images(in_memory(text), 1024, 4);
  EXPECT_EQ(images.row_begin, (std::vector<Offset>{0, 1, 1, 3, 3}));
  EXPECT_TRUE(images.binary());
  EXPECT_EQ(read_images(in_memory(text), 1024, 100).rows, 9);
  EXPECT_EQ(read_images(in_memory(text), 1024, 100, 50).rows, 50);
  EXPECT_EQ(read_images(in_memory(text), 1024, 0).rows, 0);
  EXPECT_EQ(read_images(in_memory(text), 1024, 1).nnz(), 1);
}

TEST(ReadImages, SaysWhatIsWrongWhere) {
  EXPECT_EQ(image_refusal("1\t1\t1\n1\t1025\t1\n"), "file:2: pixel 1025, but an image has 1024 pixels");
  EXPECT_EQ(image_refusal("61\t1\t1\n", {}, 60), "file:1: image 61, but there are 60 images");
  EXPECT_EQ(image_refusal("16777217\t1\t1\n"),
            "file:1: image 16777217, but at most 16777216 are taken without being told how many there are");
  EXPECT_EQ(image_refusal("0\t1\t1\n"), "file:1: image 0, but numbers start at 1");
  EXPECT_EQ(image_refusal("1\t1\tinf\n"), "file:1: value \"inf\" is not finite");
  EXPECT_EQ(image_refusal("1\t1\n"), "file:1: 2 fields where a line has three: image, pixel, value");
  EXPECT_EQ(image_refusal(""), "file: the file is empty");
  EXPECT_EQ(image_refusal("9\t1025\t1\n", 1), "file:1: pixel 1025, but an image has 1024 pixels");
  EXPECT_EQ(error_of([] { read_images(in_memory("1\t1\t1\n"), 65537); }),
            "file: 65537 pixels an image, but at most 65536 are supported");
}

TEST(ReadImages, RefusesDuplicatesAndNamesBothLinesEvenPastSkippedOnes) {
  EXPECT_EQ(image_refusal("3\t9\t1\n1\t2\t1\n3\t9\t1\n"), "file:3: image 3 pixel 9 again, first on line 1");
  EXPECT_EQ(image_refusal("9\t1\t1\n3\t9\t1\n8\t2\t1\n7\t7\t1\n3\t9\t0.5\n", 3),
            "file:5: image 3 pixel 9 again, first on line 2");
}

TEST(WriteImages, WritesTheOfficialOrderAndRoundTrips) {
  const TestDirectory directory;
  const InputRows images = read_images(in_memory("2\t3\t1\n1\t3\t1\n2\t1\t1\n"), 4);
  write_images(directory / "images.tsv", images);
  EXPECT_EQ(file_content(directory / "images.tsv"), "2\t1\t1\n1\t3\t1\n2\t3\t1\n");
  const InputRows values = read_images(in_memory("2\t3\t0.1\n1\t3\t1\n2\t1\t-5\n"), 4);
  write_images(directory / "values.tsv", values);
  EXPECT_EQ(file_content(directory / "values.tsv"), "2\t1\t-5\n1\t3\t1\n2\t3\t0.1\n");
}

TEST(WriteImages, RefusesWhatNoReaderTakes) {
  const TestDirectory directory;
  const auto path = directory / "images.tsv";
  EXPECT_EQ(error_of([&] { write_images(path, InputRows()); }),
            path.string() + ": the images have no pixels, and this format cannot say so");
  InputRows images = read_images(in_memory("2\t3\t0.5\n"), 4);
  images.value[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_of([&] { write_images(path, images); }), path.string() + ": image 2 pixel 3 is nan");
  EXPECT_EQ(directory.files(), 0U);
}

TEST(Categories, AreZeroBasedAndAscending) {
  EXPECT_EQ(read_categories(in_memory("7\n3\tignored\n 10 x\r\n\n"), 10), (std::vector<Index>{2, 6, 9}));
}

TEST(Categories, RoundTrip) {
  const TestDirectory directory;
  const std::vector<Index> categories = {0, 5, 59999};
  write_categories(directory / "c.tsv", categories);
  EXPECT_EQ(file_content(directory / "c.tsv"), "1\n6\n60000\n");
  EXPECT_EQ(read_categories(directory / "c.tsv", 60000), categories);
}

TEST(Categories, SaysWhatIsWrongWhere) {
  const auto refused = [](std::string_view text) {
    return error_of([&] { read_categories(in_memory(text), 10); });
  };
  EXPECT_EQ(refused("1\n11\n"), "file:2: category 11, but there are 10 rows");
  EXPECT_EQ(refused("0\n"), "file:1: category 0, but numbers start at 1");
  EXPECT_EQ(refused("x\n"), "file:1: category \"x\" is not a whole number");
  EXPECT_EQ(refused("4\n2\n4\n"), "file:3: category 4 again, first on line 1");
  EXPECT_EQ(refused("4\n\n5\n"), "file:2: a blank line, but more entries follow");
  EXPECT_EQ(refused(""), "file: the file is empty");
  EXPECT_THAT(refused("1\n1"), testing::HasSubstr("cut off"));
}

TEST(ChallengePaths, AreTheOfficialOnes) {
  EXPECT_EQ(layer_path("data", 1024, 7), "data/neuron1024/n1024-l7.tsv");
  EXPECT_EQ(images_path("data", 4096), "data/sparse-images-4096.tsv");
  EXPECT_EQ(categories_path("data", 1024, 120), "data/neuron1024-l120-categories.tsv");
}

TEST(CountLayers, CountsPlainAndCompressedLayersAndNothingElse) {
  const TestDirectory directory;
  EXPECT_EQ(count_layers(directory.path(), 16), 0);
  put_file(layer_path(directory.path(), 16, 1), "");
  put_file(layer_path(directory.path(), 16, 2).string() + ".gz", "");
  put_file(layer_path(directory.path(), 16, 2).string() + ".zst", "");
  put_file(layer_path(directory.path(), 16, 3), "");
  put_file(directory / "neuron16/n16-l9.txt", "");
  put_file(directory / "neuron16/n16-lx.tsv", "");
  put_file(directory / "neuron16/n64-l9.tsv", "");
  EXPECT_EQ(count_layers(directory.path(), 16), 3);
  put_file(layer_path(directory.path(), 16, 8), "");
  EXPECT_EQ(error_of([&] { count_layers(directory.path(), 16); }),
            layer_path(directory.path(), 16, 4).string() + ": layer 4 is missing, but layer 8 exists");
}

TEST(CountLayers, AFileInPlaceOfTheDirectoryIsAnError) {
  const TestDirectory directory;
  const auto path = put_file(directory / "neuron16", "");
  EXPECT_EQ(error_of([&] { count_layers(directory.path(), 16); }), path.string() + ": Not a directory");
}

// The official data, in the compact form of data/README.md.
class OfficialFiles : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("FILIGREE_DATA");
    if (data == nullptr)
      GTEST_SKIP() << "FILIGREE_DATA is not set: it names the directory that holds graph-challenge/";
    folder_ = std::filesystem::path(data) / "graph-challenge";
  }
  std::filesystem::path folder_;
  TestDirectory directory_;
};

TEST_F(OfficialFiles, LayersAreReadAndWrittenByteForByte) {
  constexpr Index kNeurons = 1024, kInputs = 32;
  Source source(folder_ / "neuron1024-l120-rows.u16.gz");
  for (const Index layer : {1, 2}) {
    std::vector<std::uint16_t> inputs(std::size_t{kNeurons} * kInputs);
    source.read_exactly(std::as_writable_bytes(std::span(inputs)), "a layer");
    std::string official;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      official += std::to_string(inputs[k] + 1) + "\t" + std::to_string(k / kInputs + 1) + "\t6.250000e-02\n";
    }
    const auto path = put_file(layer_path(directory_.path(), kNeurons, layer), official);
    const CsrMatrix matrix = read_layer(path, kNeurons);
    ASSERT_TRUE(std::ranges::equal(matrix.column, inputs));
    EXPECT_EQ(matrix.row_begin.at(5), 5 * kInputs);
    EXPECT_EQ(matrix.value, std::vector<float>(inputs.size(), 0.0625F));
    write_layer(directory_ / "again.tsv", matrix.view());
    EXPECT_TRUE(file_content(directory_ / "again.tsv") == official);
  }
  EXPECT_EQ(count_layers(directory_.path(), kNeurons), 2);
}

TEST_F(OfficialFiles, ImagesAreReadAndWrittenByteForByte) {
  constexpr std::size_t kPixels = 1024, kImages = 60000;
  const std::string bits = all_of(Source(folder_ / "sparse-images-1024.bits.gz"), std::size_t{1} << 20);
  ASSERT_EQ(bits.size(), kImages * kPixels / 8);
  const auto is_set = [&](std::size_t image, std::size_t pixel) {
    return ((static_cast<unsigned char>(bits[image * kPixels / 8 + pixel / 8]) >> (7 - pixel % 8)) & 1) != 0;
  };
  std::string official;
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
    for (std::size_t image = 0; image < kImages; ++image) {
      if (is_set(image, pixel))
        official += std::to_string(image + 1) + "\t" + std::to_string(pixel + 1) + "\t1\n";
    }
  }
  ASSERT_EQ(official.size(), 75311062U);  // data/README.md
  const InputRows images = read_images(in_memory(official), kPixels);
  EXPECT_EQ(images.rows, static_cast<Index>(kImages));
  EXPECT_EQ(images.nnz(), 6374505);
  EXPECT_TRUE(images.binary());
  for (Index image = 0; image < images.rows; ++image) {
    std::size_t count = 0;
    for (const std::uint16_t pixel : images.row_columns(image)) {
      ASSERT_TRUE(is_set(image, pixel));
      ++count;
    }
    std::size_t expected = 0;
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel) expected += is_set(image, pixel);
    ASSERT_EQ(count, expected);
  }
  write_images(directory_ / "again.tsv", images);
  EXPECT_TRUE(file_content(directory_ / "again.tsv") == official);
}

TEST_F(OfficialFiles, CategoriesAreReadAndWrittenByteForByte) {
  const auto path = folder_ / "neuron1024-l120-categories.tsv";
  const std::vector<Index> categories = read_categories(path, 60000);
  EXPECT_EQ(categories.size(), 1812U);
  write_categories(directory_ / "again.tsv", categories);
  EXPECT_EQ(file_content(directory_ / "again.tsv"), file_content(path));
}

}  // namespace
}  // namespace filigree::internal
