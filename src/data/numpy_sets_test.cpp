// SPDX-License-Identifier: Apache-2.0
// Tests of data sets from NumPy's and SciPy's files, and of files without a scheme.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <span>

#include "data/dataset.h"
#include "io/npy.h"
#include "io/test_files.h"

namespace filigree::internal {
namespace {

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string npy(const std::string& type, const std::string& shape, const std::string& values) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}\n", type, shape);
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  return text + header + values;
}

// A zip archive of stored files, as numpy.savez writes it.
std::string npz(const std::vector<std::pair<std::string, std::string>>& arrays) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value);
    return text;
  };
  std::string files, directory;
  for (const auto& [key, content] : arrays) {
    const std::string name = key + ".npy";
    const auto crc = static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
    const std::string facts = number(0, 4) + number(crc, 4) + number(content.size(), 4) +
                              number(content.size(), 4) + number(name.size(), 2) + number(0, 2);
    directory += "PK\x01\x02" + number(20, 2) + number(20, 2) + number(0, 4) + facts + number(0, 10) +
                 number(files.size(), 4) + name;
    files += "PK\x03\x04" + number(20, 2) + number(0, 4) + facts + name + content;
  }
  return files + directory + "PK\x05\x06" + number(0, 4) + number(arrays.size(), 2) +
         number(arrays.size(), 2) + number(directory.size(), 4) + number(files.size(), 4) + number(0, 2);
}

class NumpySets : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& content) {
    return put_file(directory_ / name, content).string();
  }
  static Dataset load(const std::string& source, DataOptions options = {}) {
    options.source = source;
    options.test_share = 0;
    return load_dataset(options, {});
  }
  static std::string refusal(const std::string& source) {
    return error_of([&] { load(source); });
  }
  // Three rows of a 3×4 matrix: (0, 2, 0, 1), (), (5, 0, 0, 0).
  static std::string csr(const std::string& format = "csr",
                         const std::vector<std::int32_t>& columns = {3, 1, 0},
                         const std::vector<std::int64_t>& ends = {0, 2, 2, 3}) {
    return npz({{"indices", npy("<i4", "(3,)", bytes_of(columns))},
                {"indptr", npy("<i8", fmt::format("({},)", ends.size()), bytes_of(ends))},
                {"format", npy("|S3", "()", format)},
                {"shape", npy("<i8", "(2,)", bytes_of<std::int64_t>({3, 4}))},
                {"data", npy("<f8", "(3,)", bytes_of<double>({1, 2, 5}))}});
  }

 private:
  TestDirectory directory_;
};

TEST_F(NumpySets, RowsBeyondTheMemoryLimitAreTheSameOnDisk) {
  constexpr int kRows = 300, kColumns = 100;
  std::vector<double> values;
  std::vector<std::uint8_t> bytes, targets;
  for (int i = 0; i < kRows * kColumns; ++i) {
    values.push_back(i * 0.37 - 40);
    bytes.push_back(static_cast<std::uint8_t>(i * 7));
  }
  for (int r = 0; r < kRows; ++r) targets.push_back(r % 3 == 0);
  const std::string shape = fmt::format("({}, {})", kRows, kColumns);
  const std::string y = put("y.npy", npy("|u1", fmt::format("({},)", kRows), bytes_of(targets)));
  for (const auto& [type, content] : {std::pair("<f8", bytes_of(values)), {"|u1", bytes_of(bytes)}}) {
    const std::string source = fmt::format("npy:{},{}", put("x.npy", npy(type, shape, content)), y);
    const Dataset in_memory = load(source), on_disk = load(source, {.memory_limit = 40'000});
    EXPECT_FALSE(in_memory.train.on_disk());
    EXPECT_TRUE(on_disk.train.on_disk());
    EXPECT_EQ(in_memory.train.floats, on_disk.train.floats);
    EXPECT_EQ(in_memory.train.bytes, on_disk.train.bytes);
    EXPECT_EQ(in_memory.train.label, on_disk.train.label);
    EXPECT_EQ(in_memory.origin, on_disk.origin);
  }
  std::string turned = npy("<f8", shape, bytes_of(values));
  turned.replace(turned.find("False"), 5, "True ");
  const std::string source = fmt::format("npy:{},{}", put("x.npy", turned), y);
  EXPECT_EQ(load(source).train.rows, kRows);
  EXPECT_NE(error_of([&] { load(source, {.memory_limit = 40'000}); }).find("write the array in C order"),
            std::string::npos);
}

TEST_F(NumpySets, RowsAndTargetsComeFromTwoFiles) {
  const std::string rows = put("x.npy", npy("<f4", "(3, 2)", bytes_of<float>({1, 2, 3, 4, 5, 6})));
  const std::string classes = put("y.npy", npy("<i8", "(3,)", bytes_of<std::int64_t>({7, -1, 7})));
  const Dataset set = load("npy:" + rows + "," + classes);
  EXPECT_EQ(set.classes, 2);
  EXPECT_EQ(set.target_names, (std::vector<std::string>{"-1", "7"}));
  EXPECT_EQ(set.train.label, (std::vector<Index>{1, 0, 1}));
  EXPECT_TRUE(std::ranges::equal(set.train.bytes, std::vector<float>{1, 2, 3, 4, 5, 6})) << "which hold them";
  const std::string values = put("v.npy", npy("<f8", "(3, 2)", bytes_of<double>({.5, 1, 2, 3, 4, 5})));
  const Dataset two = load(rows + "," + values);
  EXPECT_EQ(two.task, Task::values);
  EXPECT_EQ(two.targets, 2);
  EXPECT_EQ(two.train.target, (std::vector<float>{.5f, 1, 2, 3, 4, 5}));
  const std::string flags = put("b.npy", npy("|b1", "(3, 2)", std::string("\0\1\1\1\0\0", 6)));
  EXPECT_EQ(load(rows + "," + flags).task, Task::labels);
  const std::string bytes = put("u.npy", npy("|u1", "(3, 2)", std::string("\0\1\2\3\4\xff", 6)));
  EXPECT_EQ(load(bytes + "," + classes).train.bytes[5], 255) << "bytes stay bytes";
  EXPECT_THROW(load(rows + "," + rows + "," + rows), std::invalid_argument);
  const std::string fewer = put("f.npy", npy("<i8", "(2,)", bytes_of<std::int64_t>({0, 1})));
  EXPECT_EQ(refusal(rows + "," + fewer), fewer + ": targets of shape 2 for 3 rows");
  const Dataset parts = load("npy:" + rows + "," + classes + "," + rows + "," + classes);
  EXPECT_EQ(parts.test.label, parts.train.label);
}

TEST_F(NumpySets, AnArchiveHoldsRowsAndTargets) {
  const std::string x = npy("<f4", "(2, 2)", bytes_of<float>({1, 2, 3, 4}));
  const std::string y = npy("<i4", "(2,)", bytes_of<std::int32_t>({0, 1}));
  const std::string file = put("a.npz", npz({{"X", x}, {"y", y}}));
  EXPECT_EQ(load(file).train.label, (std::vector<Index>{0, 1}));
  const std::string alone = put("b.npz", npz({{"X", x}}));
  EXPECT_THAT(refusal(alone), testing::HasSubstr("no array is called y, label or target"));
  EXPECT_EQ(load("npy:" + alone + "," + put("y.npy", y)).train.rows, 2);
}

TEST_F(NumpySets, SparseMatricesStaySparse) {
  const std::string targets = put("y.npy", npy("<i4", "(3,)", bytes_of<std::int32_t>({0, 1, 1})));
  const Dataset set = load("npy:" + put("s.npz", csr()) + "," + targets);
  ASSERT_TRUE(set.train.sparse());
  EXPECT_EQ(set.train.features, 4);
  EXPECT_EQ(set.train.row_begin, (std::vector<Offset>{0, 2, 2, 3}));
  EXPECT_EQ(set.train.column, (std::vector<Index>{1, 3, 0})) << "in ascending order";
  EXPECT_EQ(set.train.value, (std::vector<float>{2, 1, 5}));
  const auto refused = [&](const std::string& content) {
    return refusal("npy:" + put("t.npz", content) + "," + targets);
  };
  EXPECT_THAT(refused(csr("csc")), testing::HasSubstr("another form than csr: save matrix.tocsr()"));
  EXPECT_THAT(refused(csr("csr", {4, 1, 0})), testing::HasSubstr("column 4 of a matrix of 4"));
  EXPECT_THAT(refused(csr("csr", {1, 1, 0})), testing::HasSubstr("row 0 has two entries in column 1"));
  EXPECT_THAT(refused(csr("csr", {3, 1, 0}, {0, 2, 1, 3})),
              testing::HasSubstr("do not make a sparse matrix"));
}

TEST_F(NumpySets, AFileSaysItselfWhatItHolds) {
  EXPECT_EQ(load(put("t", "y,x\n0,1\n1,2\n")).train.features, 1);
  EXPECT_EQ(load(put("l", "1 2:0.5\n0 1:1\n")).train.features, 2);
  EXPECT_THROW(load("nothing.csv"), std::invalid_argument);
}

TEST_F(NumpySets, ClassesHaveTheNumbersThatANetworkKnows) {
  const KnownTable known{{{{}, {}}, false}, Task::classes, {"0", "1", "2"}};
  const DataOptions options{.source = put("l", "2 1:1\n0 2:1\n"), .test_share = 0};
  EXPECT_EQ(load_dataset_for(known, options, {}).train.label, (std::vector<Index>{2, 0}));
  EXPECT_EQ(load_dataset_for(known, options, {}).classes, 3);
  const DataOptions other{.source = put("m", "7 1:1\n0 2:1\n"), .test_share = 0};
  EXPECT_THAT(error_of([&] { (void)load_dataset_for(known, other, {}); }),
              testing::HasSubstr("m:1: label 7, which the network does not know; it knows 0, 1, 2"));
}

}  // namespace
}  // namespace filigree::internal
