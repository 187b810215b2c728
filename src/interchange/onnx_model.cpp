// SPDX-License-Identifier: Apache-2.0
#include "interchange/onnx_model.h"

namespace filigree::internal {
struct WrongField {};  // of another type than its number says
}  // namespace filigree::internal
// protozero takes that for a mistake of the program; here it is one of the file.
// NOLINTNEXTLINE(readability-identifier-naming)
#define protozero_assert(holds) ((holds) ? static_cast<void>(0) : throw filigree::internal::WrongField())

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <protozero/pbf_reader.hpp>
#include <utility>

#include "base/error.h"
#include "interchange/half.h"
#include "io/message_text.h"

namespace filigree::internal {

namespace {

using Reader = protozero::pbf_reader;

constexpr std::int64_t kMostElements = std::int64_t{1} << 32;  // 32 GB of doubles
constexpr std::size_t kMostDims = 8;

std::string text_of(Reader& reader) {
  return reader.get_string();
}

std::size_t element_bytes(OnnxType type) {
  switch (type) {
    case OnnxType::uint8:
    case OnnxType::int8:
    case OnnxType::boolean:
      return 1;
    case OnnxType::uint16:
    case OnnxType::int16:
    case OnnxType::float16:
    case OnnxType::bfloat16:
      return 2;
    case OnnxType::float32:
    case OnnxType::int32:
    case OnnxType::uint32:
      return 4;
    case OnnxType::int64:
    case OnnxType::uint64:
    case OnnxType::float64:
      return 8;
    case OnnxType::none:
    case OnnxType::string:
      break;
  }
  return 0;
}

OnnxType type_called(std::int32_t number, const std::string& tensor) {
  constexpr std::array kKnown = {OnnxType::float32, OnnxType::uint8,   OnnxType::int8,    OnnxType::uint16,
                                 OnnxType::int16,   OnnxType::int32,   OnnxType::int64,   OnnxType::string,
                                 OnnxType::boolean, OnnxType::float16, OnnxType::float64, OnnxType::uint32,
                                 OnnxType::uint64,  OnnxType::bfloat16};
  const auto* const found =
      std::ranges::find(kKnown, number, [](OnnxType type) { return static_cast<std::int32_t>(type); });
  if (found == kKnown.end())
    fail("tensor {} has elements of ONNX's type {}, which are not read", in_quotes(tensor), number);
  return *found;
}

template <typename T>
T at(std::span<const std::byte> bytes, std::size_t i) {
  T value{};
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

double raw_value(OnnxType type, std::span<const std::byte> bytes, std::size_t i) {
  switch (type) {
    case OnnxType::float32:
      return at<float>(bytes, i);
    case OnnxType::float64:
      return at<double>(bytes, i);
    case OnnxType::float16:
      return half_value(at<std::uint16_t>(bytes, i));
    case OnnxType::bfloat16:
      return bfloat_value(at<std::uint16_t>(bytes, i));
    case OnnxType::uint8:
    case OnnxType::boolean:
      return at<std::uint8_t>(bytes, i);
    case OnnxType::int8:
      return at<std::int8_t>(bytes, i);
    case OnnxType::uint16:
      return at<std::uint16_t>(bytes, i);
    case OnnxType::int16:
      return at<std::int16_t>(bytes, i);
    case OnnxType::int32:
      return at<std::int32_t>(bytes, i);
    case OnnxType::uint32:
      return at<std::uint32_t>(bytes, i);
    case OnnxType::int64:
      return static_cast<double>(at<std::int64_t>(bytes, i));
    case OnnxType::uint64:
      return static_cast<double>(at<std::uint64_t>(bytes, i));
    case OnnxType::none:
    case OnnxType::string:
      break;
  }
  return 0;
}

// Where a tensor's bytes are, if not in the model: "location", "offset", "length".
using Elsewhere = std::map<std::string, std::string>;

// What stands in the fields for one type or another.
struct TensorFields {
  std::int32_t type = 0;
  std::vector<double> numbers;      // of the typed fields
  std::vector<std::int32_t> codes;  // int32_data, which holds bits of 16-bit floats as well
  std::vector<std::string> texts;
  std::optional<protozero::data_view> raw;
  Elsewhere elsewhere;
  bool external = false;
};

template <typename Range, typename To>
void append(const Range& range, std::vector<To>& to) {
  for (const auto value : range) to.push_back(static_cast<To>(value));
}

std::pair<std::string, std::string> key_and_value(Reader reader) {
  std::pair<std::string, std::string> entry;
  while (reader.next()) {
    if (reader.tag() == 1)
      entry.first = text_of(reader);
    else if (reader.tag() == 2)
      entry.second = text_of(reader);
    else
      reader.skip();
  }
  return entry;
}

// Numbers that stand packed or one by one.
template <typename Packed, typename Single, typename To>
void numbers(Reader& reader, Packed packed, Single single, std::vector<To>& to) {
  if (reader.wire_type() == protozero::pbf_wire_type::length_delimited)
    append((reader.*packed)(), to);
  else
    to.push_back(static_cast<To>((reader.*single)()));
}

// Reads the bytes of a tensor from a file of its own.
class Outside {
 public:
  Outside(const std::filesystem::path& directory) : directory_(directory) {}

  std::vector<std::byte> bytes(const OnnxTensor& tensor, const Elsewhere& elsewhere,
                               std::size_t wanted) const {
    const auto found = elsewhere.find("location");
    if (found == elsewhere.end() || directory_.empty())
      fail("tensor {} lies in another file, {}", in_quotes(tensor.name),
           directory_.empty() ? "which bytes in memory do not have" : "but none is named");
    const std::filesystem::path location(found->second);
    const std::filesystem::path root = std::filesystem::weakly_canonical(directory_);
    const std::filesystem::path file = std::filesystem::weakly_canonical(root / location);
    if (location.is_absolute() ||
        std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first != root.end())
      fail("tensor {} lies in {}, which is outside the model's directory", in_quotes(tensor.name),
           in_quotes(found->second));
    const std::uint64_t offset = number(elsewhere, "offset", 0, tensor);
    const std::uint64_t length = number(elsewhere, "length", wanted, tensor);
    if (length != wanted)
      fail("tensor {} takes {} bytes, but {} are to be read from {}", in_quotes(tensor.name), wanted, length,
           in_quotes(found->second));
    // As it lies there: no tensor is a compressed file, whatever its first bytes are.
    std::ifstream stream(file, std::ios::binary);
    std::error_code status;
    const std::uint64_t size = std::filesystem::file_size(file, status);
    if (!stream || status || offset > size || length > size - offset)
      fail("tensor {}: {} bytes from byte {} of {}, which {}", in_quotes(tensor.name), length, offset,
           in_quotes(found->second), !stream || status ? "cannot be read" : fmt::format("has {}", size));
    std::vector<std::byte> result(length);
    stream.seekg(static_cast<std::streamoff>(offset));
    if (!stream.read(reinterpret_cast<char*>(result.data()), static_cast<std::streamsize>(length)))
      fail("tensor {}: {} cannot be read", in_quotes(tensor.name), in_quotes(found->second));
    return result;
  }

 private:
  static std::uint64_t number(const Elsewhere& elsewhere, const std::string& key, std::uint64_t otherwise,
                              const OnnxTensor& tensor) {
    const auto found = elsewhere.find(key);
    if (found == elsewhere.end()) return otherwise;
    const std::string& text = found->second;
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || end != text.data() + text.size())
      fail("tensor {}: its {} is {}", in_quotes(tensor.name), key, in_quotes(text));
    return value;
  }
  const std::filesystem::path& directory_;
};

void set_values(OnnxTensor& tensor, TensorFields& fields, const Outside& outside) {
  const std::int64_t count = tensor.elements();
  const std::string quoted = in_quotes(tensor.name);
  if (tensor.type == OnnxType::string) {
    tensor.texts = std::move(fields.texts);
    if (std::ssize(tensor.texts) != count)
      fail("tensor {}: {} texts for {} elements", quoted, tensor.texts.size(), count);
    return;
  }
  const std::size_t width = element_bytes(tensor.type);
  std::vector<std::byte> read;
  std::span<const std::byte> raw;
  if (fields.external) {
    read = outside.bytes(tensor, fields.elsewhere, count * width);
    raw = read;
  } else if (fields.raw) {
    raw = std::as_bytes(std::span(fields.raw->data(), fields.raw->size()));
  } else {
    if (tensor.type == OnnxType::float16 || tensor.type == OnnxType::bfloat16) {
      for (const std::int32_t code : fields.codes) {
        const auto bits = static_cast<std::uint16_t>(code);
        tensor.values.push_back(tensor.type == OnnxType::float16 ? half_value(bits) : bfloat_value(bits));
      }
    } else if (!fields.codes.empty()) {
      tensor.values.assign(fields.codes.begin(), fields.codes.end());
    } else {
      tensor.values = std::move(fields.numbers);
    }
    if (std::ssize(tensor.values) != count)
      fail("tensor {}: {} values for {} elements", quoted, tensor.values.size(), count);
    return;
  }
  if (raw.size() != count * width)
    fail("tensor {}: {} bytes for {} elements of {} bytes", quoted, raw.size(), count, width);
  tensor.values.resize(count);
  for (std::size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] = raw_value(tensor.type, raw, i);
}

OnnxTensor read_tensor(Reader reader, const Outside& outside) {
  OnnxTensor tensor;
  TensorFields fields;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        numbers(reader, &Reader::get_packed_int64, &Reader::get_int64, tensor.dims);
        break;
      case 2:
        fields.type = reader.get_int32();
        break;
      case 4:
        numbers(reader, &Reader::get_packed_float, &Reader::get_float, fields.numbers);
        break;
      case 5:
        numbers(reader, &Reader::get_packed_int32, &Reader::get_int32, fields.codes);
        break;
      case 6:
        fields.texts.push_back(text_of(reader));
        break;
      case 7:
        numbers(reader, &Reader::get_packed_int64, &Reader::get_int64, fields.numbers);
        break;
      case 8:
        tensor.name = text_of(reader);
        break;
      case 9:
        fields.raw = reader.get_view();
        break;
      case 10:
        numbers(reader, &Reader::get_packed_double, &Reader::get_double, fields.numbers);
        break;
      case 11:
        numbers(reader, &Reader::get_packed_uint64, &Reader::get_uint64, fields.numbers);
        break;
      case 13:
        fields.elsewhere.insert(key_and_value(reader.get_message()));
        break;
      case 14:
        fields.external = reader.get_int32() == 1;
        break;
      default:
        reader.skip();
    }
  }
  tensor.type = type_called(fields.type, tensor.name);
  set_values(tensor, fields, outside);
  return tensor;
}

// Values and where they are: indices through all dimensions, or one for each dimension.
OnnxTensor read_sparse_tensor(Reader reader, const Outside& outside) {
  OnnxTensor values, indices;
  std::vector<std::int64_t> dims;
  while (reader.next()) {
    if (reader.tag() == 1)
      values = read_tensor(reader.get_message(), outside);
    else if (reader.tag() == 2)
      indices = read_tensor(reader.get_message(), outside);
    else if (reader.tag() == 3)
      numbers(reader, &Reader::get_packed_int64, &Reader::get_int64, dims);
    else
      reader.skip();
  }
  OnnxTensor tensor = std::move(values);
  tensor.dims = std::move(dims);
  const std::string quoted = in_quotes(tensor.name);
  const std::int64_t elements = tensor.elements();
  const std::size_t count = tensor.values.size(), rank = indices.dims.size() == 2 ? tensor.dims.size() : 1;
  if (indices.values.size() != count * rank)
    fail("sparse tensor {}: {} indices for {} values", quoted, indices.values.size(), count);
  std::vector<std::int64_t>& places = tensor.indices.emplace(count);
  for (std::size_t i = 0; i < count; ++i) {
    double place = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      const double index = indices.values[i * rank + d];
      if (rank > 1 && !(index >= 0 && index < static_cast<double>(tensor.dims[d])))
        fail("sparse tensor {}: index {} of a dimension of {}", quoted, index, tensor.dims[d]);
      place = rank > 1 ? place * static_cast<double>(tensor.dims[d]) + index : index;
    }
    if (!(place >= 0 && place < static_cast<double>(elements)) ||
        (i > 0 && place <= static_cast<double>(places[i - 1])))
      fail("sparse tensor {}: index {} after {}, of {} elements", quoted, place, i == 0 ? 0 : places[i - 1],
           elements);
    places[i] = static_cast<std::int64_t>(place);
  }
  return tensor;
}

OnnxAttribute read_attribute(Reader reader, const Outside& outside) {
  OnnxAttribute attribute;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        attribute.name = text_of(reader);
        break;
      case 2:
        attribute.number = reader.get_float();
        break;
      case 3:
        attribute.whole = reader.get_int64();
        break;
      case 4:
        attribute.text = text_of(reader);
        break;
      case 5:
        attribute.tensor = read_tensor(reader.get_message(), outside);
        break;
      case 7:
        numbers(reader, &Reader::get_packed_float, &Reader::get_float, attribute.numbers);
        break;
      case 8:
        numbers(reader, &Reader::get_packed_int64, &Reader::get_int64, attribute.wholes);
        break;
      case 9:
        attribute.texts.push_back(text_of(reader));
        break;
      case 22:
        attribute.tensor = read_sparse_tensor(reader.get_message(), outside);
        break;
      case 6:
      case 11:
        attribute.has_graph = true;  // not looked into
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
  return attribute;
}

OnnxNode read_node(Reader reader, const Outside& outside) {
  OnnxNode node;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        node.inputs.push_back(text_of(reader));
        break;
      case 2:
        node.outputs.push_back(text_of(reader));
        break;
      case 3:
        node.name = text_of(reader);
        break;
      case 4:
        node.type = text_of(reader);
        break;
      case 5:
        node.attributes.push_back(read_attribute(reader.get_message(), outside));
        break;
      case 7:
        node.domain = text_of(reader);
        break;
      default:
        reader.skip();
    }
  }
  return node;
}

// -1 where it has a name, or none.
std::int64_t read_dimension(Reader reader) {
  std::int64_t size = -1;
  while (reader.next()) {
    if (reader.tag() == 1)
      size = reader.get_int64();
    else
      reader.skip();
  }
  return size;
}

// The one message in a field of another, where it is there.
template <typename Each>
void each_message(Reader reader, protozero::pbf_tag_type tag, const Each& each) {
  while (reader.next()) {
    if (reader.tag() == tag && reader.wire_type() == protozero::pbf_wire_type::length_delimited)
      each(reader.get_message());
    else
      reader.skip();
  }
}

OnnxPort read_port(Reader reader) {
  OnnxPort port;
  while (reader.next()) {
    if (reader.tag() == 1) {
      port.name = text_of(reader);
    } else if (reader.tag() == 2) {
      each_message(reader.get_message(), 1, [&](Reader tensor_type) {  // a type: of a tensor
        each_message(tensor_type, 2, [&](Reader shape) {
          port.dims.emplace();
          each_message(shape, 1, [&](Reader dimension) { port.dims->push_back(read_dimension(dimension)); });
        });
      });
    } else {
      reader.skip();
    }
  }
  return port;
}

void read_graph(Reader reader, const Outside& outside, OnnxModel& model) {
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        model.nodes.push_back(read_node(reader.get_message(), outside));
        break;
      case 5:
        model.tensors.push_back(read_tensor(reader.get_message(), outside));
        break;
      case 11:
        model.inputs.push_back(read_port(reader.get_message()));
        break;
      case 12:
        model.outputs.push_back(read_port(reader.get_message()));
        break;
      case 15:
        model.tensors.push_back(read_sparse_tensor(reader.get_message(), outside));
        break;
      default:
        reader.skip();
    }
  }
}

void read_opset(Reader reader, OnnxModel& model) {
  std::string domain;
  std::int64_t version = 0;
  while (reader.next()) {
    if (reader.tag() == 1)
      domain = text_of(reader);
    else if (reader.tag() == 2)
      version = reader.get_int64();
    else
      reader.skip();
  }
  if (domain.empty() || domain == "ai.onnx") model.opset = version;
}

OnnxModel read_model_message(Reader reader, const std::string& name, const Outside& outside) {
  OnnxModel model;
  model.name = name;
  bool graph = false;
  while (reader.next()) {
    switch (reader.tag()) {
      case 2:
        model.producer = text_of(reader);
        break;
      case 7:
        read_graph(reader.get_message(), outside, model);
        graph = true;
        break;
      case 8:
        read_opset(reader.get_message(), model);
        break;
      case 14:
        model.metadata.insert(key_and_value(reader.get_message()));
        break;
      default:
        reader.skip();
    }
  }
  if (!graph) fail("an ONNX model without a graph");
  if (model.opset < 1)
    fail("an ONNX model that does not say which operator set it uses: was the file cut off?");
  return model;
}

}  // namespace

std::int64_t OnnxTensor::elements() const {
  std::int64_t count = 1;
  if (dims.size() > kMostDims) fail("tensor {} has {} dimensions", in_quotes(name), dims.size());
  for (const std::int64_t dim : dims) {
    if (dim < 0 || (dim > 0 && count > kMostElements / dim))
      fail("tensor {}: its shape, {}, is more than any memory holds", in_quotes(name), fmt::join(dims, "×"));
    count *= dim;
  }
  return count;
}

const OnnxAttribute* OnnxNode::find(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &OnnxAttribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

double OnnxNode::number(std::string_view attribute, double otherwise) const {
  const OnnxAttribute* const found = find(attribute);
  return found == nullptr ? otherwise : found->number;
}

std::int64_t OnnxNode::whole(std::string_view attribute, std::int64_t otherwise) const {
  const OnnxAttribute* const found = find(attribute);
  return found == nullptr ? otherwise : found->whole;
}

OnnxModel parse_onnx(std::span<const std::byte> bytes, const std::string& name,
                     const std::filesystem::path& directory) {
  try {
    return read_model_message(Reader(reinterpret_cast<const char*>(bytes.data()), bytes.size()), name,
                              Outside(directory));
  } catch (const protozero::exception& error) {
    fail("{}: not an ONNX model, or a damaged one ({})", name, error.what());
  } catch (const WrongField&) {
    fail("{}: not an ONNX model, or a damaged one (a field is of another type than its number says)", name);
  } catch (const Error& error) {
    fail("{}: {}", name, error.what());
  }
}

bool looks_like_onnx(std::span<const std::byte> bytes) try {
  // Its version, which is a small number, comes first; then fields of a model.
  Reader reader(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!reader.next() || reader.tag() != 1 || reader.wire_type() != protozero::pbf_wire_type::varint)
    return false;
  if (const std::int64_t version = reader.get_int64(); version < 1 || version > 1000) return false;
  if (bytes.size() < 3) return false;
  if (bytes.size() > 8 && bytes[7] == std::byte{0} && bytes[8] == std::byte{'{'})
    return false;  // safetensors
  const auto next = std::to_integer<unsigned>(bytes[2]);
  return next >> 3 != 0 && ((next & 7) == 2 || (next & 7) == 0);
} catch (const protozero::exception&) {
  return false;
}

}  // namespace filigree::internal
