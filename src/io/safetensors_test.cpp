// SPDX-License-Identifier: Apache-2.0
// Tests of safetensors files: round trips, the exact bytes, and every way a header can lie.
#include "io/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "io/test_files.h"

namespace filigree::internal {
namespace {

using namespace std::string_literals;

std::string file_of(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

std::string refusal(const std::string& bytes) {
  return error_of([&] { read_safetensors(in_memory(bytes)); });
}

TEST(Safetensors, ReadsAFileWrittenByHand) {
  const std::string bytes =
      file_of(R"({"__metadata__":{"made by":"hand"},"b":{"dtype":"U16","shape":[3],"data_offsets":[8,14]},)"
              R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}} )",
              "\0\0\x80\x3f\0\0\0\xc0\x01\0\x02\0\xff\xff"s);
  const TensorFile file = read_safetensors(in_memory(bytes));
  EXPECT_EQ(file.metadata("made by"), "hand");
  const auto a = file.get<float>("a", {1, 2});
  EXPECT_EQ(std::vector(a.begin(), a.end()), (std::vector<float>{1, -2}));
  const auto b = file.get<std::uint16_t>("b");
  EXPECT_EQ(std::vector(b.begin(), b.end()), (std::vector<std::uint16_t>{1, 2, 65535}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % kAlignment, 0U);
}

TEST(Safetensors, WritesSortedNamesPaddedToEightBytesWideElementsFirst) {
  const TestDirectory directory;
  const std::vector<std::uint8_t> bytes = {7};
  const std::vector<std::int64_t> words = {-1};
  write_safetensors(directory / "out", {{"k", "v"}},
                    {{"a", tensor_view(std::span(bytes))}, {"b", tensor_view(std::span(words), {1, 1})}});
  std::string header = R"({"__metadata__":{"k":"v"},"a":{"data_offsets":[8,9],"dtype":"U8","shape":[1]},)"
                       R"("b":{"data_offsets":[0,8],"dtype":"I64","shape":[1,1]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(file_content(directory / "out"), file_of(header, std::string(8, '\xff') + "\x07"));
}

TEST(Safetensors, RoundTripsEveryElementTypeEmptyTensorsAndScalars) {
  const TestDirectory directory;
  const std::vector<float> f32 = {1.5F, -0.0F, 3e38F};
  const std::vector<double> f64 = {1e300};
  const std::vector<std::int64_t> i64 = {-1, 1};
  const std::vector<std::int32_t> i32 = {-7};
  const std::vector<std::uint32_t> u32 = {4000000000U};
  const std::vector<std::uint16_t> u16 = {65535};
  const std::vector<std::uint8_t> u8 = {1, 2, 3};
  const Metadata metadata = {{"ünï", "\"quotes\"\n"}};
  write_safetensors(directory / "out", metadata,
                    {{"f32", tensor_view(std::span(f32))},
                     {"f64", tensor_view(std::span(f64), {})},
                     {"i64", tensor_view(std::span(i64))},
                     {"i32", tensor_view(std::span(i32))},
                     {"u32", tensor_view(std::span(u32))},
                     {"u16", tensor_view(std::span(u16))},
                     {"u8", tensor_view(std::span(u8))},
                     {"none", tensor_view(std::span<const float>(), {0, 9})}});
  TensorFile file = read_safetensors(directory / "out");
  EXPECT_EQ(file.metadata(), metadata);
  EXPECT_EQ(file.tensors().size(), 8U);
  EXPECT_TRUE(std::ranges::equal(file.get<float>("f32"), f32));
  EXPECT_TRUE(std::signbit(file.get<float>("f32")[1]));
  EXPECT_TRUE(std::ranges::equal(file.get<double>("f64", {}), f64));
  EXPECT_TRUE(std::ranges::equal(file.get<std::int64_t>("i64"), i64));
  EXPECT_TRUE(std::ranges::equal(file.get<std::int32_t>("i32"), i32));
  EXPECT_TRUE(std::ranges::equal(file.get<std::uint32_t>("u32"), u32));
  EXPECT_TRUE(std::ranges::equal(file.get<std::uint16_t>("u16"), u16));
  EXPECT_TRUE(std::ranges::equal(file.get<std::uint8_t>("u8", {3}), u8));
  EXPECT_TRUE(file.get<float>("none", {0, 9}).empty());
  file.release("u8");
  EXPECT_FALSE(file.contains("u8"));
}

TEST(Safetensors, RoundTripsAFileWithoutTensors) {
  const TestDirectory directory;
  write_safetensors(directory / "out", {}, {});
  EXPECT_EQ(file_content(directory / "out"), file_of("{}      "));
  EXPECT_TRUE(read_safetensors(directory / "out").tensors().empty());
}

TEST(Safetensors, AccessNamesFileAndTensor) {
  const std::string bytes = file_of(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "ab");
  const TensorFile file = read_safetensors(in_memory(bytes));
  EXPECT_EQ(error_of([&] { file.get<float>("y"); }), "file: no tensor \"y\"");
  EXPECT_EQ(error_of([&] { file.get<float>("x"); }), "file: tensor \"x\" is U8, but F32 is needed");
  EXPECT_EQ(error_of([&] {
              file.get<std::uint8_t>("x", {1, 2});
            }),
            "file: tensor \"x\" has shape [2], but [1, 2] is needed");
  EXPECT_EQ(error_of([&] { file.metadata("format"); }), "file: no \"format\" in the metadata");
}

TEST(Safetensors, RefusesALyingHeaderLength) {
  EXPECT_EQ(refusal("abc"), "file: 3 bytes are too few for a safetensors file");
  EXPECT_EQ(refusal(std::string(8, '\xff') + "{}"),
            "file: not a safetensors file (its first 8 bytes would be the length of a header: "
            "18446744073709551615 bytes, but only 2 follow)");
  EXPECT_EQ(
      refusal("\x03\0\0\0\0\0\0\0{}"s),
      "file: not a safetensors file (its first 8 bytes would be the length of a header: 3 bytes, but only 2 "
      "follow)");
}

TEST(Safetensors, RefusesHeadersThatAreNoJsonObject) {
  EXPECT_EQ(refusal(file_of("")), "file: the header is not valid JSON at its byte 1");
  EXPECT_EQ(refusal(file_of("{\"a\":")), "file: the header is not valid JSON at its byte 6");
  EXPECT_EQ(refusal(file_of("{} x")), "file: the header is not valid JSON at its byte 4");
  EXPECT_EQ(refusal(file_of("{\"\xff\":1}")), "file: the header is not valid JSON at its byte 3");
  EXPECT_EQ(refusal(file_of("{\"a\":1e999}")), "file: the header holds a number that no double can");
  EXPECT_EQ(refusal(file_of("[]")), "file: the header is not a JSON object");
  EXPECT_EQ(refusal(file_of(std::string(100000, '['))), "file: the header is nested too deeply");
  std::string many = "{\"a\":[0";
  for (int i = 0; i < 1'000'000; ++i) many += ",0";
  EXPECT_EQ(refusal(file_of(many + "]}")), "file: the header holds more than 1000000 values");
}

TEST(Safetensors, RefusesNamesGivenTwice) {
  EXPECT_EQ(refusal(file_of(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                            R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                            "a")),
            "file: the header names \"x\" twice");
  EXPECT_EQ(refusal(file_of(R"({"__metadata__":{"a":"b","a":"c"}})")), "file: the header names \"a\" twice");
}

TEST(Safetensors, RefusesBrokenDescriptions) {
  const auto one = [](const std::string& description) {
    return refusal(file_of("{\"x\":" + description + "}", "ab"));
  };
  EXPECT_EQ(one("1"), "file: tensor \"x\": its description is not a JSON object");
  EXPECT_EQ(one(R"({"shape":[2],"data_offsets":[0,2]})"), "file: tensor \"x\": dtype is not a string");
  EXPECT_EQ(
      one(R"({"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,2]})"),
      "file: tensor \"x\": dtype \"F8_E4M3\", but only F32, F64, I64, I32, U32, U16, U8, F16, BF16, I8, "
      "I16, BOOL are read");
  EXPECT_EQ(one(R"({"dtype":"U8","data_offsets":[0,2]})"),
            "file: tensor \"x\": shape is not an array of whole numbers");
  EXPECT_EQ(one(R"({"dtype":"U8","shape":[-2],"data_offsets":[0,2]})"),
            "file: tensor \"x\": shape is not an array of whole numbers");
  EXPECT_EQ(one(R"({"dtype":"U8","shape":[2.0],"data_offsets":[0,2]})"),
            "file: tensor \"x\": shape is not an array of whole numbers");
  EXPECT_EQ(one(R"({"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,2]})"),
            "file: tensor \"x\": shape is not an array of whole numbers");
  EXPECT_EQ(one(R"({"dtype":"U8","shape":[2],"data_offsets":[0]})"),
            "file: tensor \"x\": 1 data_offsets instead of 2");
  EXPECT_EQ(refusal(file_of(R"({"__metadata__":{"a":1}})")), "file: __metadata__ \"a\" is not a string");
  EXPECT_EQ(refusal(file_of(R"({"__metadata__":[]})")), "file: __metadata__ is not a JSON object");
}

TEST(Safetensors, RefusesOffsetsThatDoNotFit) {
  const auto one = [](const std::string& description) {
    return refusal(file_of("{\"x\":" + description + "}", "ab"));
  };
  EXPECT_EQ(one(R"({"dtype":"U8","shape":[3],"data_offsets":[0,3]})"),
            "file: tensor \"x\": bytes 0 to 3, but the data has 2");
  EXPECT_EQ(one(R"({"dtype":"U8","shape":[1],"data_offsets":[2,1]})"),
            "file: tensor \"x\": bytes 2 to 1, but the data has 2");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,2]})"),
            "file: tensor \"x\": F32 [1] needs 4 bytes, but its data_offsets hold 2");
  EXPECT_EQ(
      one(R"({"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]})"),
      "file: tensor \"x\": F64 [4294967296, 4294967296] needs too many bytes, but its data_offsets hold 0");
  EXPECT_EQ(one(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})"),
            "file: 2 bytes of data, but the tensors end at 1");
  EXPECT_EQ(one(R"({"dtype":"U8","shape":[1],"data_offsets":[1,2]})"),
            "file: tensor \"x\" begins at byte 1, but the one before it ends at 0");
}

TEST(Safetensors, RefusesOverlappingTensors) {
  EXPECT_EQ(refusal(file_of(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                            R"("y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                            "abc")),
            "file: tensor \"y\" begins at byte 1, but the one before it ends at 2");
}

TEST(Safetensors, RefusesCompressedFiles) {
  EXPECT_EQ(refusal("\x1f\x8b\x08\0\0\0\0\0"s),
            "file: compressed or not a regular file; safetensors are read from plain files only");
}

TEST(Safetensors, WritesOnlySoundTensors) {
  const TestDirectory directory;
  const auto path = directory / "out";
  const std::vector<float> values = {1, 2, 3};
  EXPECT_EQ(error_of([&] {
              write_safetensors(path, {}, {{"x", tensor_view(std::span(values), {2, 2})}});
            }),
            path.string() + ": tensor \"x\": F32 [2, 2] does not have 12 bytes");
  EXPECT_EQ(error_of([&] {
              write_safetensors(path, {}, {{"__metadata__", tensor_view(std::span(values))}});
            }),
            path.string() + ": no tensor may be called __metadata__");
  EXPECT_EQ(error_of([&] {
              write_safetensors(path, {{"k", "\xff"}}, {});
            }),
            path.string() + ": a name or a metadata text is not valid UTF-8");
  EXPECT_EQ(directory.files(), 0U);
}

TEST(Safetensors, AFullDeviceIsAnError) {
  const std::vector<float> values(1 << 20);
  EXPECT_NE(error_of([&] {
              write_safetensors("/dev/full", {}, {{"x", tensor_view(std::span(values))}});
            }).find("No space left on device"),
            std::string::npos);
}

}  // namespace
}  // namespace filigree::internal
