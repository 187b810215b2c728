// SPDX-License-Identifier: Apache-2.0
// Tests of npy files: what is read, what is refused and why. Expected bytes are what numpy 1.24 writes.
#include "io/npy.h"

#include <cstring>
#include <limits>

#include "io/test_files.h"

namespace filigree::internal {
namespace {

using namespace std::string_literals;

// A file of version 1.0 with this dictionary and these bytes behind it.
std::string npy(const std::string& dictionary, const std::string& values) {
  const std::string header = dictionary + "\n";
  return "\x93NUMPY\x01\0"s + static_cast<char>(header.size() & 0xff) +
         static_cast<char>(header.size() >> 8) + header + values;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string refusal(const std::string& bytes) {
  return error_of([&] { read_npy(in_memory(bytes)); });
}

TEST(Npy, ReadsTheThreeTypes) {
  const std::string shape = "'fortran_order': False, 'shape': (2, 3), }";
  const auto bytes = read_npy(in_memory(npy("{'descr': '|u1', " + shape, "\0\x01\x02\x03\xfe\xff"s)));
  EXPECT_EQ(bytes.shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(bytes.bytes, (std::vector<std::uint8_t>{0, 1, 2, 3, 254, 255}));
  EXPECT_TRUE(bytes.floats.empty());
  const std::vector<float> floats{0, -1.5f, 1e-40f, 3e38f, 4, 5};
  EXPECT_EQ(read_npy(in_memory(npy("{'descr': '<f4', " + shape, bytes_of(floats)))).floats, floats);
  const std::vector<double> doubles{0, -1.5, 1e-300, 3e38, 0.1, 5};
  EXPECT_EQ(read_npy(in_memory(npy("{'descr': '<f8', " + shape, bytes_of(doubles)))).floats,
            (std::vector<float>{0, -1.5f, 0, 3e38f, 0.1f, 5}));
}

TEST(Npy, TurnsFortranOrderRound) {
  const auto two =
      read_npy(in_memory(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", "adbecf")));
  EXPECT_EQ(two.bytes, (std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
  // numpy: np.asfortranarray(np.arange(12).reshape(2, 3, 2)).ravel('K') is 0 6 2 8 4 10 1 7 3 9 5 11.
  const auto three = read_npy(in_memory(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2)}",
                                            "\0\x06\x02\x08\x04\x0a\x01\x07\x03\x09\x05\x0b"s)));
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(three.bytes[i], i);
}

TEST(Npy, ReadsHeadersOfEveryVersionAndForm) {
  const std::string dictionary = R"({ "shape": (4,), "descr": "|u1", "fortran_order": False})";
  EXPECT_EQ(read_npy(in_memory(npy(dictionary, "abcd"))).shape, std::vector<std::uint64_t>{4});
  for (const char version : {'\x02', '\x03'}) {
    const std::string bytes = "\x93NUMPY"s + version + '\0' + static_cast<char>(dictionary.size()) +
                              "\0\0\0"s + dictionary + "abcd";
    EXPECT_EQ(read_npy(in_memory(bytes)).bytes.size(), 4u);
  }
  EXPECT_EQ(
      read_npy(in_memory(npy("{'descr': '|u1', 'fortran_order': False, 'shape': ()}", "a"))).bytes.size(),
      1u);
  EXPECT_TRUE(read_npy(in_memory(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (0, 3)}", "")))
                  .floats.empty());
}

TEST(Npy, RefusesWhatIsNoNpyFile) {
  EXPECT_EQ(refusal(""), "file: not an npy file");
  EXPECT_EQ(refusal("1,2,3\n4,5,6\n"), "file: not an npy file");
  EXPECT_EQ(refusal("\x93NUMPY\x04\0\0\0"s), "file: npy version 4.0, but 1.0 to 3.0 are read");
  EXPECT_EQ(refusal("\x93NUMPY\x01\0\xff"s),
            "file: ends within the length of the header: 1 of 2 bytes are there");
  EXPECT_EQ(refusal("\x93NUMPY\x01\0\x08\0{}"s), "file: ends within the header: 2 of 8 bytes are there");
  EXPECT_EQ(refusal("\x93NUMPY\x02\0\0\0\0\x01"s), "file: an npy header of 16777216 bytes");
}

TEST(Npy, RefusesHeadersThatMakeNoSense) {
  EXPECT_EQ(refusal(npy("{}", "")), "file: the npy header lacks descr");
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': False}", "")), "file: the npy header lacks shape");
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'descr': '<f4'}", "")),
            "file: the npy header says \"descr\" unexpectedly");
  EXPECT_EQ(refusal(npy("{'descr': [('a', '<f4')]}", "")),
            R"(file: the npy header makes no sense at "[('a', '<f4')]}\x0a")");
  EXPECT_EQ(refusal(npy("{'shape': (-1,)}", "")), R"(file: the npy header makes no sense at "-1,)}\x0a")");
  EXPECT_EQ(refusal(npy("{'fortran_order': 1}", "")), R"(file: the npy header makes no sense at "1}\x0a")");
  EXPECT_NE(refusal(npy("{'descr': '<f4", "")), "");
  EXPECT_NE(refusal(npy("{'shape': (1, 2", "")), "");
  EXPECT_NE(refusal(npy("{'shape': (1), } junk", "")), "");
  EXPECT_EQ(
      refusal(npy("{'descr': '<c8'}", "")),
      "file: elements of type \"<c8\", but only booleans, integers, float32 (<f4) and float64 (<f8) in this "
      "machine's byte order are read");
  EXPECT_NE(refusal(npy("{'descr': '>f4'}", "")), "");
  EXPECT_EQ(refusal(npy("{'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1)}", "")), "file: more than 8 dimensions");
  const std::string huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}";
  EXPECT_EQ(refusal(npy(huge, "")), "file: shape 4294967296x4294967296 holds more elements than any memory");
}

TEST(Npy, RefusesAnyOtherLengthThanTheShapeSays) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}";
  EXPECT_EQ(refusal(npy(header, std::string(15, '\0'))), "file: ends after 3 of 4 elements (2x2)");
  EXPECT_EQ(refusal(npy(header, std::string(17, '\0'))), "file: bytes follow the last of 4 elements (2x2)");
  EXPECT_EQ(refusal(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4611686018427387904,)}", "abc")),
            "file: ends after 3 of 4611686018427387904 elements (4611686018427387904)");
}

TEST(Npy, RefusesValuesThatAreNotFinite) {
  const std::vector<float> floats{0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", bytes_of(floats))),
            "file: element 1 is nan");
  const std::vector<double> doubles{0, 0, 1e39};
  EXPECT_EQ(refusal(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", bytes_of(doubles))),
            "file: element 2 is 1e+39, which no float32 can hold");
}

TEST(Npy, WritesWhatNumpyWrites) {
  const TestDirectory directory;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  write_npy(directory / "m.npy", values, 3);
  // np.save of a 2×3 float32 array, byte for byte.
  EXPECT_EQ(file_content(directory / "m.npy"),
            "\x93NUMPY\x01\0v\0"s + "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
                std::string(58, ' ') + "\n" + bytes_of(values));
  const NpyArray back = read_npy(Source(directory / "m.npy"));
  EXPECT_EQ(back.shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(back.floats, values);
  write_npy(directory / "none.npy", {}, 0);
  EXPECT_EQ(read_npy(Source(directory / "none.npy")).shape, (std::vector<std::uint64_t>{0, 0}));
}

TEST(Npy, PadsEveryHeaderToALineOf64Bytes) {
  const TestDirectory directory;
  for (std::size_t columns : {1u, 10u, 1000u, 100000u}) {
    const std::vector<float> values(columns * 2, 1.0f);
    write_npy(directory / "m.npy", values, columns);
    const std::string content = file_content(directory / "m.npy");
    const std::size_t header = content.size() - values.size() * sizeof(float);
    EXPECT_EQ(header % 64, 0u);
    EXPECT_EQ(content[header - 1], '\n');
    EXPECT_EQ(read_npy(Source(directory / "m.npy")).floats, values);
  }
}

}  // namespace
}  // namespace filigree::internal
