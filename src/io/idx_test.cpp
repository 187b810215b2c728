// SPDX-License-Identifier: Apache-2.0
// Tests of idx files: what is read, what is refused and why.
#include "io/idx.h"

#include <algorithm>
#include <cstdlib>

#include "io/test_files.h"

namespace filigree::internal {
namespace {

using namespace std::string_literals;

std::string refusal(const std::string& bytes) {
  return error_of([&] { read_idx(in_memory(bytes)); });
}

TEST(Idx, ReadsABigEndianHeaderAndTheBytes) {
  const std::string bytes = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"s + "abcdef";
  const IdxArray array = read_idx(in_memory(bytes));
  EXPECT_EQ(array.dims, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(array.data, (std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
}

TEST(Idx, RoundTripsPlainAndCompressedAndFindsTheCompressedFile) {
  const TestDirectory directory;
  const IdxArray array = {{3, 1, 2, 1}, {0, 255, 1, 2, 3, 4}};
  write_idx(directory / "plain", array);
  EXPECT_EQ(file_content(directory / "plain"),
            "\0\0\x08\x04\0\0\0\x03\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\xff\x01\x02\x03\x04"s);
  write_idx(directory / "packed.gz", array);
  EXPECT_EQ(read_idx(directory / "plain"), array);
  EXPECT_EQ(read_idx(directory / "packed"), array);
}

TEST(Idx, ReadsAnArrayWithoutElements) {
  EXPECT_TRUE(read_idx(in_memory("\0\0\x08\x02\0\0\0\0\0\0\0\x03"s)).data.empty());
}

TEST(Idx, RefusesWhatIsNoIdxFile) {
  EXPECT_EQ(refusal(""), "file: ends within the header: 0 of 4 bytes are there");
  EXPECT_EQ(refusal("PNG picture"), "file: not an idx file");
  EXPECT_EQ(refusal("\0\0\x0d\x01\0\0\0\x01"s + "abcd"),
            "file: elements of type 0x0d, but only unsigned bytes (0x08) are read");
  EXPECT_EQ(refusal("\0\0\x08\0"s), "file: 0 dimensions, but 1 to 4 are read");
  EXPECT_EQ(refusal("\0\0\x08\x05"s), "file: 5 dimensions, but 1 to 4 are read");
  EXPECT_EQ(refusal("\0\0\x08\x01\0\0"s), "file: ends within the header: 2 of 4 bytes are there");
}

TEST(Idx, RefusesAnyOtherLengthThanTheHeaderSays) {
  EXPECT_EQ(refusal("\0\0\x08\x01\0\0\0\x04"s + "abc"), "file: ends after 3 of 4 elements (4)");
  EXPECT_EQ(refusal("\0\0\x08\x01\0\0\0\x02"s + "abc"), "file: bytes follow the last of 2 elements (2)");
  EXPECT_EQ(refusal("\0\0\x08\x02\xff\xff\xff\xff\0\0\x10\0"s + "abc"),
            "file: ends after 3 of 17592186040320 elements (4294967295x4096)");
}

TEST(Idx, RefusesDimensionsWhoseProductOverflows) {
  EXPECT_EQ(refusal("\0\0\x08\x03"s + std::string(12, '\xff')),
            "file: dimensions 4294967295x4294967295x4294967295 hold more elements than any memory");
}

TEST(Idx, WritesOnlyArraysThatAgreeWithTheirDimensions) {
  const TestDirectory directory;
  const auto path = directory / "out";
  EXPECT_EQ(error_of([&] {
              write_idx(path, {{2, 2}, {1, 2, 3}});
            }),
            path.string() + ": 3 elements, but the dimensions 2x2 hold 4");
  EXPECT_EQ(error_of([&] {
              write_idx(path, {{}, {}});
            }),
            path.string() + ": 0 dimensions, but idx files here have 1 to 4");
  EXPECT_EQ(directory.files(), 0U);
}

TEST(Idx, ReadsTheRealMnistLabels) {
  const char* data = std::getenv("FILIGREE_DATA");
  if (data == nullptr) GTEST_SKIP() << "FILIGREE_DATA is not set";
  const IdxArray labels = read_idx(std::filesystem::path(data) / "mnist/t10k-labels-idx1-ubyte");
  EXPECT_EQ(labels.dims, std::vector<std::uint32_t>{10000});
  EXPECT_EQ(std::count(labels.data.begin(), labels.data.end(), 1), 1135);  // data/README.md
}

}  // namespace
}  // namespace filigree::internal
