// SPDX-License-Identifier: Apache-2.0
// Reading and writing safetensors: 8 bytes of header length, a JSON header, then the arrays without a gap.
#include "io/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/json_value.h"
#include "io/message_text.h"

namespace filigree::internal {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the reference implementation
constexpr std::string_view kMetadata = "__metadata__";

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  std::size_t size;
};
constexpr std::array<DTypeFacts, 12> kDTypes = {{{DType::f32, "F32", 4},
                                                 {DType::f64, "F64", 8},
                                                 {DType::i64, "I64", 8},
                                                 {DType::i32, "I32", 4},
                                                 {DType::u32, "U32", 4},
                                                 {DType::u16, "U16", 2},
                                                 {DType::u8, "U8", 1},
                                                 {DType::f16, "F16", 2},
                                                 {DType::bf16, "BF16", 2},
                                                 {DType::i8, "I8", 1},
                                                 {DType::i16, "I16", 2},
                                                 {DType::boolean, "BOOL", 1}}};

const DTypeFacts& facts(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)];
}

// Bytes of an array, or nothing if no memory could hold it.
std::optional<std::uint64_t> bytes_of(DType dtype, const Shape& shape) {
  std::uint64_t bytes = element_size(dtype);
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / 2 / extent) return std::nullopt;
    bytes *= extent;
  }
  return bytes;
}

std::string shape_text(const Shape& shape) {
  return fmt::format("[{}]", joined(shape, ", "));
}

// Where a tensor lies behind the header.
struct Placement {
  std::string tensor;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;
};

// The member of a tensor's description, which must be an array of whole numbers.
Shape numbers(const JsonValue& description, const char* key, const std::string& place) {
  const JsonValue* const found = description.find(key);
  const auto is_whole = [](const JsonValue& element) { return element.is(JsonValue::Kind::whole); };
  if (found == nullptr || !found->is(JsonValue::Kind::array) || !std::ranges::all_of(found->items, is_whole))
    fail("{}: {} is not an array of whole numbers", place, key);
  Shape shape;
  for (const JsonValue& element : found->items) shape.push_back(element.whole);
  return shape;
}

Placement parse_tensor(const std::string& tensor, const JsonValue& description, const std::string& file,
                       std::uint64_t data_bytes) {
  const std::string place = fmt::format("{}: tensor {}", file, in_quotes(tensor));
  if (!description.is(JsonValue::Kind::object)) fail("{}: its description is not a JSON object", place);
  const JsonValue* const dtype = description.find("dtype");
  if (dtype == nullptr || !dtype->is(JsonValue::Kind::text)) fail("{}: dtype is not a string", place);
  const auto* const known = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeFacts& candidate) {
    return candidate.name == dtype->text;
  });
  if (known == kDTypes.end()) {
    std::string names;
    for (const DTypeFacts& each : kDTypes) names.append(names.empty() ? "" : ", ").append(each.name);
    fail("{}: dtype {}, but only {} are read", place, in_quotes(dtype->text), names);
  }
  const Shape offsets = numbers(description, "data_offsets", place);
  if (offsets.size() != 2) fail("{}: {} data_offsets instead of 2", place, offsets.size());
  Placement placement = {tensor, known->dtype, numbers(description, "shape", place), offsets[0], offsets[1]};
  if (placement.begin > placement.end || placement.end > data_bytes) {
    fail("{}: bytes {} to {}, but the data has {}", place, placement.begin, placement.end, data_bytes);
  }
  const auto bytes = bytes_of(placement.dtype, placement.shape);
  if (bytes != placement.end - placement.begin) {
    fail("{}: {} {} needs {} bytes, but its data_offsets hold {}", place, known->name,
         shape_text(placement.shape), bytes ? fmt::format("{}", *bytes) : "too many",
         placement.end - placement.begin);
  }
  return placement;
}

// In the order of the data, which they must cover exactly once.
void check_cover(std::vector<Placement>& placements, const std::string& file, std::uint64_t data_bytes) {
  std::sort(placements.begin(), placements.end(), [](const Placement& a, const Placement& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (const Placement& placement : placements) {
    if (placement.begin != covered) {
      fail("{}: tensor {} begins at byte {}, but the one before it ends at {}", file,
           in_quotes(placement.tensor), placement.begin, covered);
    }
    covered = placement.end;
  }
  if (covered != data_bytes)
    fail("{}: {} bytes of data, but the tensors end at {}", file, data_bytes, covered);
}

// The header as JSON, its names in order.
std::string header_text(const Metadata& metadata, std::map<std::string_view, std::string> entries) {
  const auto object = [](const auto& members, const auto& value) {
    std::string text = "{";
    for (const auto& [name, member] : members)
      text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", json_text(name), value(member));
    return text + "}";
  };
  if (!metadata.empty())
    entries[kMetadata] = object(metadata, [](const std::string& text) { return json_text(text); });
  return object(entries, [](const std::string& text) { return text; });
}

}  // namespace

std::size_t element_size(DType dtype) {
  return facts(dtype).size;
}

std::string_view dtype_name(DType dtype) {
  return facts(dtype).name;
}

const std::string& TensorFile::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) fail("{}: no {} in the metadata", name_, in_quotes(key));
  return found->second;
}

const TensorFile::Tensor& TensorFile::at(const std::string& tensor) const {
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end()) fail("{}: no tensor {}", name_, in_quotes(tensor));
  return found->second;
}

const TensorFile::Tensor& TensorFile::checked(const std::string& tensor, DType dtype,
                                              const Shape* shape) const {
  const Tensor& found = at(tensor);
  if (found.dtype != dtype) {
    fail("{}: tensor {} is {}, but {} is needed", name_, in_quotes(tensor), dtype_name(found.dtype),
         dtype_name(dtype));
  }
  if (shape != nullptr && found.shape != *shape) {
    fail("{}: tensor {} has shape {}, but {} is needed", name_, in_quotes(tensor), shape_text(found.shape),
         shape_text(*shape));
  }
  return found;
}

TensorFile read_safetensors(Source source, const std::function<void(const TensorFile&)>& check) {
  const std::string& file = source.name();
  const std::optional<std::uint64_t> size = source.size();
  if (!size) fail("{}: compressed or not a regular file; safetensors are read from plain files only", file);
  std::uint64_t header_bytes = 0;
  if (*size < sizeof header_bytes) fail("{}: {} bytes are too few for a safetensors file", file, *size);
  source.read_exactly(std::as_writable_bytes(std::span(&header_bytes, 1)), "the header length");
  const std::uint64_t behind = *size - sizeof header_bytes;
  if (header_bytes > kMaxHeader || header_bytes > behind) {
    fail("{}: not a safetensors file (its first 8 bytes would be the length of a header: {} bytes, but {})",
         file, header_bytes,
         header_bytes > behind ? fmt::format("only {} follow", behind)
                               : fmt::format("at most {} are read", kMaxHeader));
  }
  std::string text(header_bytes, ' ');
  source.read_exactly(std::as_writable_bytes(std::span(text)), "the header");
  constexpr int kDeepest = 3;  // header, tensor, shape
  const JsonValue header = parse_json(text, file + ": the header", kDeepest);
  if (!header.is(JsonValue::Kind::object)) fail("{}: the header is not a JSON object", file);

  TensorFile result;
  result.name_ = file;
  std::vector<Placement> placements;
  const std::uint64_t data_bytes = behind - header_bytes;
  for (const auto& [key, description] : header.members) {
    if (key != kMetadata) {
      placements.push_back(parse_tensor(key, description, file, data_bytes));
      continue;
    }
    if (!description.is(JsonValue::Kind::object)) fail("{}: {} is not a JSON object", file, kMetadata);
    for (const auto& [name, value] : description.members) {
      if (!value.is(JsonValue::Kind::text))
        fail("{}: {} {} is not a string", file, kMetadata, in_quotes(name));
      result.metadata_.emplace(name, value.text);
    }
  }
  check_cover(placements, file, data_bytes);
  if (check) check(result);  // before the arrays, which may be large
  for (Placement& placement : placements) {
    TensorFile::Tensor tensor = {placement.dtype, std::move(placement.shape),
                                 Buffer<std::byte>(placement.end - placement.begin)};
    source.read_exactly(tensor.bytes, fmt::format("tensor {}", in_quotes(placement.tensor)));
    result.tensors_.emplace(std::move(placement.tensor), std::move(tensor));
  }
  return result;
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  return read_safetensors(Source(path));
}

void write_safetensors(Target target, const Metadata& metadata,
                       const std::map<std::string, TensorView>& tensors) {
  // Wide elements first, then by name: every array starts at a multiple of its element, as mapping readers
  // want.
  std::vector<const std::pair<const std::string, TensorView>*> order;
  order.reserve(tensors.size());
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return element_size(a->second.dtype) > element_size(b->second.dtype);
  });
  std::uint64_t end = 0;
  std::map<std::string_view, std::string> entries;  // by name
  for (const auto* const tensor : order) {
    const auto& [name, view] = *tensor;
    if (name == kMetadata) fail("{}: no tensor may be called {}", target.name(), kMetadata);
    if (bytes_of(view.dtype, view.shape) != view.bytes.size()) {
      fail("{}: tensor {}: {} {} does not have {} bytes", target.name(), in_quotes(name),
           dtype_name(view.dtype), shape_text(view.shape), view.bytes.size());
    }
    const std::uint64_t begin = end;
    end += view.bytes.size();
    entries[name] = fmt::format("{{\"data_offsets\":[{},{}],\"dtype\":\"{}\",\"shape\":[{}]}}", begin, end,
                                dtype_name(view.dtype), joined(view.shape, ","));
  }
  std::string text;
  try {
    text = header_text(metadata, std::move(entries));
  } catch (const std::invalid_argument&) {
    fail("{}: a name or a metadata text is not valid UTF-8", target.name());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t header_bytes = text.size();
  target.write(std::as_bytes(std::span(&header_bytes, 1)));
  target.write(text);
  for (const auto* const tensor : order) target.write(tensor->second.bytes);
  target.commit();
}

}  // namespace filigree::internal
