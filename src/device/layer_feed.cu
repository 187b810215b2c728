// SPDX-License-Identifier: Apache-2.0
#include "device/layer_feed.h"

#include <algorithm>

namespace filigree::internal {

LayerFeed::Slot::Slot(const RunShape& shape, FeedForm form)
    : begin(shape.widest + std::size_t{1}),
      column(form == FeedForm::narrow ? shape.connections : 0),
      wide_column(form == FeedForm::narrow ? 0 : shape.connections),
      value(shape.connections),
      bias(shape.widest) {}

LayerFeed::LayerFeed(const RunShape& shape, FeedForm form)
    : shape_(shape), form_(form), slots_{{shape, form}, {shape, form}} {}

std::uint64_t LayerFeed::bytes(const RunShape& shape, FeedForm form) {
  const std::uint64_t connection = sizeof(float) + (form == FeedForm::narrow ? 2 : 4);
  return 2 * (8 * std::uint64_t{shape.widest} + 4 + connection * shape.connections);
}

void LayerFeed::transpose(const HostLayer& layer, Slot& slot) {
  unsigned* begin = slot.begin.host.data();
  std::fill_n(begin, layer.inputs + 1, 0u);
  for (const std::uint16_t input : layer.column) ++begin[input + 1];
  for (unsigned i = 0; i < layer.inputs; ++i) begin[i + 1] += begin[i];
  std::vector<unsigned> next(begin, begin + layer.inputs);
  for (unsigned o = 0; o < layer.outputs(); ++o)
    for (unsigned e = layer.row_begin[o]; e < layer.row_begin[o + 1]; ++e) {
      const unsigned to = next[layer.column[e]]++;
      slot.wide_column.host.data()[to] = o;
      slot.value.host.data()[to] = layer.value.empty() ? layer.uniform : layer.value[e];
    }
}

LayerFeed::Arrived LayerFeed::send(const HostLayer& layer, cudaStream_t compute) {
  const auto connections = static_cast<unsigned>(layer.column.size());
  const unsigned outputs = layer.outputs();
  if (layer.inputs > shape_.widest || outputs > shape_.widest)
    throw Error("a layer of " + std::to_string(layer.inputs) + " to " + std::to_string(outputs) +
                " neurons, but there is room for " + std::to_string(shape_.widest));
  Slot& slot = slots_[sent_++ % 2];
  slot.sent.wait();  // before the host's side is written again
  if (connections > slot.value.host.size()) {
    slot.used.wait();
    slot.value.grow(connections);
    form_ == FeedForm::narrow ? slot.column.grow(connections) : slot.wide_column.grow(connections);
  }
  const bool by_input = form_ == FeedForm::wide_inputs;
  const bool values = form_ != FeedForm::narrow || !layer.value.empty();
  std::ranges::copy(layer.bias, slot.bias.host.data());
  if (by_input) {
    transpose(layer, slot);
  } else {
    std::ranges::copy(layer.row_begin, slot.begin.host.data());
    if (form_ == FeedForm::narrow)
      std::ranges::copy(layer.column, slot.column.host.data());
    else
      std::ranges::copy(layer.column, slot.wide_column.host.data());
    if (!layer.value.empty())
      std::ranges::copy(layer.value, slot.value.host.data());
    else if (values)
      std::fill_n(slot.value.host.data(), connections, layer.uniform);
  }
  slot.used.hold(copy_);  // before the device's side is
  slot.begin.send((by_input ? layer.inputs : outputs) + std::size_t{1}, copy_);
  slot.bias.send(outputs, copy_);
  if (form_ == FeedForm::narrow)
    slot.column.send(connections, copy_);
  else
    slot.wide_column.send(connections, copy_);
  if (values) slot.value.send(connections, copy_);
  slot.sent.record(copy_);
  slot.sent.hold(compute);
  return {slot.begin.device.data(),       slot.column.device.data(),
          slot.wide_column.device.data(), values ? slot.value.device.data() : nullptr,
          slot.bias.device.data(),        connections};
}

void LayerFeed::used(cudaStream_t compute) {
  slots_[(sent_ + 1) % 2].used.record(compute);
}

}  // namespace filigree::internal
