// SPDX-License-Identifier: Apache-2.0
// ONNX files for tests, written byte by byte: nothing of what is tested helps.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace filigree::internal {

// Fields of protobuf, one after the other.
class Message {
 public:
  Message& whole(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& bytes(int field, const std::string& text) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(text.size());
    text_ += text;
    return *this;
  }
  Message& message(int field, const Message& inner) { return bytes(field, inner.text_); }
  Message& number(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) text_ += static_cast<char>((value & 127) | 128);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

template <typename T>
Message onnx_tensor(const std::string& name, int type, const std::vector<std::int64_t>& dims,
                    const std::vector<T>& values) {
  Message tensor;
  for (const std::int64_t dim : dims) tensor.whole(1, dim);
  tensor.whole(2, type).bytes(8, name);
  return tensor.bytes(9,
                      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}
inline Message floats(const std::string& name, const std::vector<std::int64_t>& dims,
                      const std::vector<float>& values) {
  return onnx_tensor(name, 1, dims, values);
}
inline Message wholes(const std::string& name, const std::vector<std::int64_t>& values) {
  return onnx_tensor(name, 7, {static_cast<std::int64_t>(values.size())}, values);
}

inline Message attribute(const std::string& name, std::int64_t value) {
  return Message().bytes(1, name).whole(3, value).whole(20, 2);
}
inline Message attribute(const std::string& name, float value) {
  return Message().bytes(1, name).number(2, value).whole(20, 1);
}
inline Message attribute(const std::string& name, const std::vector<std::int64_t>& values) {
  Message message = Message().bytes(1, name).whole(20, 7);
  for (const std::int64_t value : values) message.whole(8, value);
  return message;
}

inline Message node(const std::string& type, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::vector<Message>& attributes = {}) {
  Message message;
  for (const std::string& each : inputs) message.bytes(1, each);
  for (const std::string& each : outputs) message.bytes(2, each);
  message.bytes(3, "the_" + outputs.front()).bytes(4, type);
  for (const Message& each : attributes) message.message(5, each);
  return message;
}

// 0: a dimension without a number.
inline Message port(const std::string& name, const std::vector<std::int64_t>& dims) {
  Message shape;
  for (const std::int64_t dim : dims)
    shape.message(1, dim == 0 ? Message().bytes(2, "N") : Message().whole(1, dim));
  return Message().bytes(1, name).message(2, Message().message(1, Message().whole(1, 1).message(2, shape)));
}

struct Graph {
  std::vector<Message> nodes, tensors, sparse = {};
  std::vector<std::int64_t> input = {0, 3};
  std::vector<std::string> outputs = {"y"};
  std::int64_t opset = 17;
  std::vector<std::pair<std::string, std::string>> metadata = {};

  std::string bytes() const {
    Message graph;
    for (const Message& each : nodes) graph.message(1, each);
    for (const Message& each : tensors) graph.message(5, each);
    graph.message(11, port("x", input));
    for (const std::string& each : outputs) graph.message(12, Message().bytes(1, each));
    for (const Message& each : sparse) graph.message(15, each);
    Message model = Message().whole(1, 8).message(7, graph).message(8, Message().whole(2, opset));
    for (const auto& [key, value] : metadata) model.message(14, Message().bytes(1, key).bytes(2, value));
    return model.text();
  }
};

}  // namespace filigree::internal
