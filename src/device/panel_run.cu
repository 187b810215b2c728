// SPDX-License-Identifier: Apache-2.0
#include "device/panel_run.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "device/layer_feed.h"
#include "device/layer_kernel.h"
#include "device/library_products.h"
#include "device/row_kernels.h"

namespace filigree::internal {

namespace {

constexpr unsigned kMostLayers = 1u << 16;

unsigned threads_of(const DeviceRunOptions& options) {
  return options.threads == 0 ? kBlockThreads : options.threads;
}

std::size_t stride_for(const RunShape& shape, const DeviceRunOptions& options) {
  const std::size_t together = std::size_t{threads_of(options)} * ManyRows<1>::kRows;
  return (shape.rows + together - 1) / together * together;
}

FeedForm form_of(const DeviceRunOptions& options) {
  return options.kernel == DeviceKernel::spmm ? FeedForm::wide : FeedForm::narrow;
}

// By the threads of a block.
template <unsigned kThreads>
class PanelRun final : public DeviceRun {
 public:
  PanelRun(int device, const RunShape& shape, const DeviceRunOptions& options, const RunInputs& inputs)
      : device_(device),
        options_(options),
        stride_(stride_for(shape, options)),
        all_rows_(shape.rows),
        rows_(shape.rows),
        computed_(shape.rows),
        x_(shape.widest * stride_),
        y_(shape.widest * stride_),
        live_(stride_),
        place_(stride_),
        count_(1),
        row_(stride_),
        other_row_(stride_),
        weight_(stride_),
        layer_count_(kMostLayers),
        hash_(stride_),
        zeros_(shape.widest),
        feed_(shape, form_of(options)) {
    if (options.kernel == DeviceKernel::spmm) library_.emplace(stream_);
    zeros_.set_zero(stream_);
    std::vector<unsigned> numbers(stride_);
    std::iota(numbers.begin(), numbers.end(), 0u);
    row_.copy_from(numbers, stream_);
    const std::vector<unsigned> ones(stride_, 1);
    weight_.copy_from(ones, stream_);
    layer_count_.set_zero(stream_);
    x_.set_zero(stream_);
    y_.set_zero(stream_);  // places that no row has taken are computed with
    if (std::holds_alternative<SparseInputs>(inputs))
      load(std::get<SparseInputs>(inputs));
    else
      load(std::get<std::span<const float>>(inputs), shape.rows);
    stream_.wait("loading the inputs");
  }
  // Everything that is under way borrows what goes now.
  ~PanelRun() override {
    cudaSetDevice(device_);
    cudaDeviceSynchronize();
  }

  void run(const HostLayer& layer) override {
    check_cuda(cudaSetDevice(device_), "choosing a device");
    if (layers_ == kMostLayers) throw Error("more than " + std::to_string(kMostLayers) + " layers");
    const LayerFeed::Arrived arrived = feed_.send(layer, stream_);
    LayerEpilogue epilogue{arrived.bias, layer.scale, layer.activation};
    if (arrived.value == nullptr) epilogue.scale *= layer.uniform;
    live_.set_zero(stream_);
    all_live_ = false;
    computed_ = rows_;
    outputs_ = layer.outputs();
    if (library_)
      multiply_by_library(arrived, layer.inputs, epilogue);
    else
      run_layer<kThreads>({{arrived.begin, arrived.column, outputs_}, arrived.value, epilogue}, x_.data(),
                          y_.data(), rows_, stride_, live_.data(), stream_);
    feed_.used(stream_);
    std::swap(x_, y_);
    count_live_rows<kThreads>(live_.data(), row_.data(), weight_.data(), rows_, layer_count_.data() + layers_,
                              stream_);
    ++layers_;
    if (options_.compact_every > 0 && layers_ % options_.compact_every == 0) leave_dead_behind();
    check_cuda(cudaGetLastError(), "running a layer");
  }

  unsigned rows() const override { return computed_; }

  Absorbed merge_equal_rows() override {
    check_cuda(cudaSetDevice(device_), "choosing a device");
    hash_rows<kThreads>(x_.data(), stride_, rows_, outputs_, hash_.data(), stream_);
    const auto hash = hash_.values(rows_, stream_, "reading hashes");
    const std::vector<unsigned> number = row_.values(rows_, stream_, "reading rows");
    std::map<unsigned long long, unsigned> first;  // of each hash, the place of the first row
    std::vector<unsigned> like(rows_);
    bool any = false;
    for (unsigned r = 0; r < rows_; ++r) {
      like[r] = first.emplace(hash[r], r).first->second;
      any = any || like[r] != r;
    }
    if (!any) return {};
    place_.copy_from(like, stream_);
    compare_rows<kThreads>(x_.data(), stride_, place_.data(), rows_, outputs_, live_.data(), stream_);
    std::vector<unsigned> stays = live_.values(rows_, stream_, "comparing rows");  // those that differ
    std::vector<unsigned> weight = weight_.values(all_rows_, stream_, "reading weights");
    Absorbed absorbed;
    for (unsigned r = 0; r < rows_; ++r) {
      if (like[r] == r) stays[r] = 1;
      if (stays[r] != 0) continue;
      absorbed.row.push_back(number[r]);
      absorbed.by.push_back(number[like[r]]);
      weight[number[like[r]]] += weight[number[r]];
    }
    weight_.copy_from(weight, stream_);
    live_.copy_from(stays, stream_);
    stream_.wait("merging rows");
    move_marked(rows_);
    all_live_ = false;  // whether a row of the last layer lives has to be looked at again
    find_live();
    return absorbed;
  }

  std::vector<unsigned> live_counts() override {
    check_cuda(cudaSetDevice(device_), "choosing a device");
    return layer_count_.values(layers_, stream_, "reading counts");
  }

  std::vector<unsigned> live_rows() override {
    check_cuda(cudaSetDevice(device_), "choosing a device");
    std::vector<unsigned> number = row_.values(rows_, stream_, "reading rows");
    if (all_live_) return number;
    const std::vector<unsigned> live = live_.values(rows_, stream_, "reading live rows");
    std::vector<unsigned> result;
    for (std::size_t r = 0; r < number.size(); ++r)
      if (live[r] != 0) result.push_back(number[r]);
    return result;
  }

  std::vector<float> outputs() override {
    check_cuda(cudaSetDevice(device_), "choosing a device");
    const std::vector<unsigned> number = row_.values(rows_, stream_, "reading rows");
    const std::vector<float> columns = x_.values(outputs_ * stride_, stream_, "reading outputs");
    std::vector<float> result(std::size_t{all_rows_} * outputs_, 0.0f);
    for (std::size_t r = 0; r < number.size(); ++r)
      for (std::size_t o = 0; o < outputs_; ++o)
        result[number[r] * std::size_t{outputs_} + o] = columns[o * stride_ + r];
    return result;
  }

 private:
  void load(const SparseInputs& inputs) {
    // The rows asked for, one after the other: entries travel in 16 bits and are spread out on the device.
    std::vector<unsigned long long> begin{0};
    std::vector<std::uint16_t> column;
    std::vector<float> value;
    for (unsigned r = 0; r < all_rows_; ++r) {
      const auto row = inputs.row.empty() ? std::size_t{r} : static_cast<std::size_t>(inputs.row[r]);
      const auto first = static_cast<std::size_t>(inputs.row_begin[row]);
      const auto last = static_cast<std::size_t>(inputs.row_begin[row + 1]);
      column.insert(column.end(), inputs.column.begin() + static_cast<std::ptrdiff_t>(first),
                    inputs.column.begin() + static_cast<std::ptrdiff_t>(last));
      if (!inputs.value.empty())
        value.insert(value.end(), inputs.value.begin() + static_cast<std::ptrdiff_t>(first),
                     inputs.value.begin() + static_cast<std::ptrdiff_t>(last));
      begin.push_back(column.size());
    }
    DeviceArray<unsigned long long> begin_here(begin.size());
    DeviceArray<std::uint16_t> column_here(column.size());
    DeviceArray<float> value_here(value.size());
    DeviceArray<int> input_of(inputs.input_of.size());
    begin_here.copy_from(begin, stream_);
    column_here.copy_from(column, stream_);
    value_here.copy_from(value, stream_);
    input_of.copy_from(inputs.input_of, stream_);
    expand_rows<kThreads>({begin_here.data(), column_here.data(), value_here.data(), input_of.data()},
                          all_rows_, x_.data(), stride_, stream_);
    stream_.wait("loading the inputs");  // what it reads goes now
  }

  void load(std::span<const float> columns, unsigned rows) {
    if (rows == 0) return;
    check_cuda(
        cudaMemcpy2DAsync(x_.data(), stride_ * sizeof(float), columns.data(), rows * sizeof(float),
                          rows * sizeof(float), columns.size() / rows, cudaMemcpyHostToDevice, stream_),
        "copying to the device");
    stream_.wait("loading the inputs");
  }

  void multiply_by_library(const LayerFeed::Arrived& w, unsigned inputs, const LayerEpilogue& epilogue) {
    if (rows_ == 0) return;
    (*library_)({static_cast<int>(outputs_), static_cast<int>(inputs), static_cast<int>(w.connections),
                 reinterpret_cast<int*>(const_cast<unsigned*>(w.begin)), const_cast<int*>(w.wide_column),
                 const_cast<float*>(w.value)},
                x_.data(), y_.data(), rows_, stride_);
    finish_layer<kThreads>(epilogue, outputs_, y_.data(), rows_, stride_, live_.data(), stream_);
  }

  // Rows whose mark in live_ is set move together, unless more than `most` have one.
  bool move_marked(unsigned most) {
    unsigned living = 0;
    place_live_rows<kThreads>(live_.data(), rows_, place_.data(), count_.data(), stream_);
    count_.copy_to({&living, 1}, stream_);
    stream_.wait("counting live rows");
    if (living > most || living == rows_) return living == rows_;
    move_rows<kThreads>({x_.data(), stride_, row_.data()}, place_.data(), rows_, outputs_,
                        {y_.data(), stride_, other_row_.data()}, stream_);
    std::swap(x_, y_);
    std::swap(row_, other_row_);
    rows_ = living;
    return true;
  }

  void leave_dead_behind() {
    all_live_ =
        move_marked(rows_ - rows_ / 8);  // moving costs as much as a sixteenth of a layer of 32 inputs
  }

  void find_live() {
    live_.set_zero(stream_);
    const LayerEpilogue nothing{zeros_.data(), 1, Activation::identity};
    finish_layer<kThreads>(nothing, outputs_, x_.data(), rows_, stride_, live_.data(), stream_);
  }
  int device_;
  DeviceRunOptions options_;
  std::size_t stride_;
  unsigned all_rows_, rows_, computed_;  // rows_: not left behind
  unsigned layers_ = 0, outputs_ = 0;
  bool all_live_ = false;  // rows that died have just been left behind
  DeviceArray<float> x_, y_;
  DeviceArray<unsigned> live_, place_, count_, row_, other_row_, weight_, layer_count_;
  DeviceArray<unsigned long long> hash_;
  DeviceArray<float> zeros_;
  LayerFeed feed_;
  CudaStream stream_;
  std::optional<SparseTimesDense> library_;  // in the place of our kernel
};

}  // namespace

std::uint64_t panel_run_bytes(const RunShape& shape, const DeviceRunOptions& options) {
  const std::uint64_t stride = stride_for(shape, options);
  return (2 * std::uint64_t{shape.widest} * sizeof(float) + 5 * sizeof(unsigned) + 8) * stride +
         (kMostLayers + 1 + shape.widest) * sizeof(unsigned) + LayerFeed::bytes(shape, form_of(options));
}

std::unique_ptr<DeviceRun> start_panel_run(int device, const RunShape& shape, const DeviceRunOptions& options,
                                           const RunInputs& inputs) {
  check_cuda(cudaSetDevice(device), "choosing a device");
  if (threads_of(options) == 32) return std::make_unique<PanelRun<32>>(device, shape, options, inputs);
  if (threads_of(options) == 128) return std::make_unique<PanelRun<128>>(device, shape, options, inputs);
  throw Error("blocks of " + std::to_string(options.threads) + " threads, but they have 32 or 128");
}

}  // namespace filigree::internal
