// SPDX-License-Identifier: Apache-2.0
// ONNX files as they stand: nodes, tensors, names. What they mean is the business of onnx_read.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace filigree::internal {

// The element types of ONNX that are read, by their numbers there.
enum class OnnxType : std::int32_t {
  none = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16,
};

// Numbers as doubles (integers beyond 2⁵³ are rounded), or texts. A sparse one has its indices, counted
// through all dimensions, ascending, and as many values.
struct OnnxTensor {
  std::string name;
  OnnxType type = OnnxType::float32;
  std::vector<std::int64_t> dims;  // none: a single value
  std::vector<double> values;
  std::vector<std::string> texts;
  std::optional<std::vector<std::int64_t>> indices;

  std::int64_t elements() const;  // by the dimensions
};

struct OnnxAttribute {
  std::string name;
  double number = 0;       // FLOAT
  std::int64_t whole = 0;  // INT
  std::string text;        // STRING
  std::vector<double> numbers;
  std::vector<std::int64_t> wholes;
  std::vector<std::string> texts;
  std::optional<OnnxTensor> tensor;
  bool has_graph = false;
};

struct OnnxNode {
  std::string name, type, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<OnnxAttribute> attributes;

  const OnnxAttribute* find(std::string_view attribute) const;
  double number(std::string_view attribute, double otherwise) const;
  std::int64_t whole(std::string_view attribute, std::int64_t otherwise) const;
};

// An input or output of the graph. A dimension that is not known, or has a name, is -1.
struct OnnxPort {
  std::string name;
  std::optional<std::vector<std::int64_t>> dims;
};

struct OnnxModel {
  std::string name;  // of the file
  std::int64_t opset = 0;
  std::string producer;
  std::map<std::string, std::string> metadata;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> tensors;  // initialisers
  std::vector<OnnxPort> inputs, outputs;
};

// Reads the bytes of a file. Tensors that lie in files of their own are read from below `directory`, which
// they may not leave. Throws Error that begins with `name`.
OnnxModel parse_onnx(std::span<const std::byte> bytes, const std::string& name,
                     const std::filesystem::path& directory);

// Whether bytes look like a model of ONNX: the fields that one begins with.
bool looks_like_onnx(std::span<const std::byte> bytes);

}  // namespace filigree::internal
