// SPDX-License-Identifier: Apache-2.0
// safetensors files: named arrays behind a JSON header, readable from Python in one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "io/source.h"
#include "io/target.h"

namespace filigree::internal {

enum class DType { f32, f64, i64, i32, u32, u16, u8, f16, bf16, i8, i16, boolean };

std::size_t element_size(DType dtype);
std::string_view dtype_name(DType dtype);  // as the file says it: "F32"

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::u32;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::u16;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
}

using Shape = std::vector<std::uint64_t>;
using Metadata = std::map<std::string, std::string>;

// A borrowed tensor, to be written. Whoever owns the bytes outlives the view.
struct TensorView {
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;
};

template <typename T>
TensorView tensor_view(std::span<const T> values, Shape shape) {
  return {dtype_of<T>(), std::move(shape), std::as_bytes(values)};
}
template <typename T>
TensorView tensor_view(std::span<const T> values) {
  return tensor_view(values, {values.size()});
}

// A file that was read. Errors name the file and the tensor.
class TensorFile {
 public:
  struct Tensor {
    DType dtype = DType::f32;
    Shape shape;
    Buffer<std::byte> bytes;
  };

  const std::string& name() const { return name_; }
  const Metadata& metadata() const { return metadata_; }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  bool contains(const std::string& tensor) const { return tensors_.contains(tensor); }

  // Throws if there is none.
  const std::string& metadata(const std::string& key) const;
  const Tensor& at(const std::string& tensor) const;

  // The elements; throws if the tensor is missing or has another dtype (or shape, where one is given).
  template <typename T>
  std::span<const T> get(const std::string& tensor) const {
    return elements<T>(checked(tensor, dtype_of<T>(), nullptr));
  }
  template <typename T>
  std::span<const T> get(const std::string& tensor, const Shape& shape) const {
    return elements<T>(checked(tensor, dtype_of<T>(), &shape));
  }

  // Frees a tensor that was copied out, so that a large model is never in memory twice.
  void release(const std::string& tensor) { tensors_.erase(tensor); }

 private:
  friend TensorFile read_safetensors(Source source, const std::function<void(const TensorFile&)>& check);

  const Tensor& checked(const std::string& tensor, DType dtype, const Shape* shape) const;

  template <typename T>
  static std::span<const T> elements(const Tensor& tensor) {
    return {reinterpret_cast<const T*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(T)};
  }

  std::string name_;
  Metadata metadata_;
  std::map<std::string, Tensor> tensors_;
};

// Reads every tensor straight into its Buffer. The file must be plain: its size is checked before anything
// is allocated.
TensorFile read_safetensors(const std::filesystem::path& path);
// `check` sees the file with its metadata, and throws if it is none to read on.
TensorFile read_safetensors(Source source, const std::function<void(const TensorFile&)>& check = {});

// Tensors sorted by name, the header padded to 8 bytes, the file atomic.
void write_safetensors(Target target, const Metadata& metadata,
                       const std::map<std::string, TensorView>& tensors);

}  // namespace filigree::internal
