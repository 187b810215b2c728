#include "device/device_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/compact.h"
#include "device/device_memory.h"
#include "device/layer_kernel.h"

namespace filigree {

namespace {

std::size_t padded(std::size_t rows, const DeviceRunOptions& options) {
  const std::size_t together = std::size_t{options.threads} * kRowsPerThread;
  return (rows + together - 1) / together * together;
}

// An array on both sides that grows when it has to.
template <typename T>
struct Staged {
  PinnedArray<T> host;
  DeviceArray<T> device;

  void resize(std::size_t size) {
    if (size <= host.size()) return;
    host = PinnedArray<T>(size);
    device = DeviceArray<T>(size);
  }
  void send(std::size_t size, cudaStream_t stream) {
    device.copy_from(std::span<const T>(host.data(), size), stream);
  }
};

// A layer's place on the way to the device. Two take turns: while one is computed with, the other is filled.
struct Slot {
  Staged<unsigned> begin;
  Staged<std::uint16_t> input;
  Staged<float> value, bias;
  cudaEvent_t sent = nullptr;  // what the host wrote has been copied
  cudaEvent_t used = nullptr;  // the layer has been computed with

  Slot() {
    check_cuda(cudaEventCreate(&sent), "making an event");
    check_cuda(cudaEventCreate(&used), "making an event");
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() {
    cudaEventDestroy(sent);
    cudaEventDestroy(used);
  }
};

struct OwnedStream {
  cudaStream_t stream = nullptr;
  OwnedStream() { check_cuda(cudaStreamCreate(&stream), "making a stream"); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream() { cudaStreamDestroy(stream); }
};

// All weights the same power of two: only the places travel.
bool uniform_power(std::span<const float> value) {
  if (value.empty()) return false;
  int exponent = 0;
  return std::frexp(value[0], &exponent) == 0.5f &&
         std::all_of(value.begin(), value.end(), [&](float v) { return v == value[0]; });
}

}  // namespace

std::size_t device_run_bytes(std::size_t widest, std::size_t rows, const DeviceRunOptions& options) {
  const std::size_t stride = padded(rows, options);
  return 2 * widest * stride * sizeof(float) + 4 * stride * sizeof(unsigned);
}

struct DeviceRun::Impl {
  DeviceRunOptions options;
  std::size_t widest, stride;
  unsigned all_rows, rows;
  unsigned layers = 0, outputs = 0;
  bool all_live = false;  // rows that died have just been left behind
  DeviceArray<float> x, y;
  DeviceArray<unsigned> live, place, count, row, other_row;
  // Streams outlive what runs on them, and come last so that they are waited for first.
  Slot slots[2];
  OwnedStream compute, copy;

  Impl(const SparseInputs& inputs, std::size_t features, std::size_t widest_layer, const DeviceRunOptions& o)
      : options(o),
        widest(std::max(features, widest_layer)),
        stride(padded(inputs.row_begin.size() - 1, o)),
        all_rows(static_cast<unsigned>(inputs.row_begin.size() - 1)),
        rows(all_rows),
        x(widest * stride),
        y(widest * stride),
        live(stride),
        place(stride),
        count(1),
        row(stride),
        other_row(stride) {
    if (o.threads != 32 && o.threads != 128)
      throw Error("blocks of " + std::to_string(o.threads) + " threads, but they have 32 or 128");
    load(inputs);
  }

  // Everything that is under way borrows what goes now.
  ~Impl() { cudaDeviceSynchronize(); }

  void load(const SparseInputs& inputs) {
    std::vector<float> dense(widest * stride, 0.0f);
    for (std::size_t r = 0; r < all_rows; ++r)
      for (auto e = static_cast<std::size_t>(inputs.row_begin[r]);
           e < static_cast<std::size_t>(inputs.row_begin[r + 1]); ++e)
        dense[inputs.column[e] * stride + r] = inputs.value.empty() ? 1.0f : inputs.value[e];
    std::vector<unsigned> numbers(stride);
    std::iota(numbers.begin(), numbers.end(), 0u);
    x.copy_from(dense, compute.stream);
    row.copy_from(numbers, compute.stream);
    y.set_zero(compute.stream);  // places that no row has taken are computed with
    check_cuda(cudaStreamSynchronize(compute.stream), "loading the inputs");
  }

  template <unsigned kThreads>
  void run_with(const DeviceLayer& layer) {
    all_live = false;
    live.set_zero(compute.stream);
    run_layer<kThreads>(layer, x.data(), y.data(), rows, stride, live.data(), compute.stream);
    std::swap(x, y);
    outputs = layer.connections.rows;
    ++layers;
    if (options.compact_every > 0 && layers % options.compact_every == 0) leave_dead_behind<kThreads>();
  }

  template <unsigned kThreads>
  unsigned place_live() {
    unsigned living = 0;
    place_live_rows<kThreads>(live.data(), rows, place.data(), count.data(), compute.stream);
    count.copy_to({&living, 1}, compute.stream);
    check_cuda(cudaStreamSynchronize(compute.stream), "counting live rows");
    return living;
  }

  template <unsigned kThreads>
  void leave_dead_behind() {
    const unsigned living = place_live<kThreads>();
    all_live = true;
    if (living == rows) return;
    move_rows<kThreads>(x.data(), stride, row.data(), place.data(), rows, outputs, y.data(), stride,
                        other_row.data(), compute.stream);
    std::swap(x, y);
    std::swap(row, other_row);
    rows = living;
  }

  DeviceLayer send(const HostLayer& layer) {
    Slot& slot = slots[layers % 2];
    check_cuda(cudaEventSynchronize(slot.sent), "sending a layer");  // before its memory is written again
    const auto outputs_here = static_cast<std::size_t>(layer.weights.rows);
    const std::size_t connections = layer.weights.column.size();
    const bool uniform = uniform_power(layer.weights.value);
    if (slot.input.host.size() < connections || slot.begin.host.size() < outputs_here + 1)
      check_cuda(cudaEventSynchronize(slot.used), "computing a layer");  // memory that is computed with goes
    slot.begin.resize(outputs_here + 1);
    slot.bias.resize(outputs_here);
    slot.input.resize(connections);
    if (!uniform) slot.value.resize(connections);
    std::ranges::transform(layer.weights.row_begin, slot.begin.host.data(),
                           [](Offset at) { return static_cast<unsigned>(at); });
    std::ranges::transform(layer.weights.column, slot.input.host.data(),
                           [](Index input) { return static_cast<std::uint16_t>(input); });
    std::ranges::copy(layer.bias, slot.bias.host.data());
    if (!uniform) std::ranges::copy(layer.weights.value, slot.value.host.data());
    check_cuda(cudaStreamWaitEvent(copy.stream, slot.used, 0), "waiting for a layer");
    slot.begin.send(outputs_here + 1, copy.stream);
    slot.bias.send(outputs_here, copy.stream);
    slot.input.send(connections, copy.stream);
    if (!uniform) slot.value.send(connections, copy.stream);
    check_cuda(cudaEventRecord(slot.sent, copy.stream), "recording an event");
    check_cuda(cudaStreamWaitEvent(compute.stream, slot.sent, 0), "waiting for a layer");
    return {{slot.begin.device.data(), slot.input.device.data(), static_cast<unsigned>(outputs_here)},
            uniform ? nullptr : slot.value.device.data(),
            slot.bias.device.data(),
            uniform ? layer.weights.value[0] : 0.0f,
            layer.cap};
  }

  void run(const HostLayer& layer) {
    const auto inputs = static_cast<std::size_t>(layer.weights.cols);
    if (inputs > widest || static_cast<std::size_t>(layer.weights.rows) > widest || inputs > 65536)
      throw Error("a layer of " + std::to_string(inputs) + " to " + std::to_string(layer.weights.rows) +
                  " neurons, but " + std::to_string(std::min<std::size_t>(widest, 65536)) +
                  " is the most here");
    Slot& slot = slots[layers % 2];
    const DeviceLayer on_device = send(layer);
    if (options.threads == 32)
      run_with<32>(on_device);
    else
      run_with<128>(on_device);
    check_cuda(cudaEventRecord(slot.used, compute.stream), "recording an event");
    check_cuda(cudaGetLastError(), "running a layer");
  }

  std::vector<unsigned> rows_here() {
    std::vector<unsigned> numbers(rows);
    row.copy_to(numbers, compute.stream);
    check_cuda(cudaStreamSynchronize(compute.stream), "reading rows");
    return numbers;
  }
};

DeviceRun::DeviceRun(const SparseInputs& inputs, std::size_t features, std::size_t widest,
                     const DeviceRunOptions& options)
    : impl_(std::make_unique<Impl>(inputs, features, widest, options)) {}
DeviceRun::DeviceRun(DeviceRun&&) noexcept = default;
DeviceRun& DeviceRun::operator=(DeviceRun&&) noexcept = default;
DeviceRun::~DeviceRun() = default;

void DeviceRun::run(const HostLayer& layer) {
  impl_->run(layer);
}

unsigned DeviceRun::rows_left() const {
  return impl_->rows;
}

std::vector<unsigned> DeviceRun::live_rows() {
  std::vector<unsigned> numbers = impl_->rows_here();
  if (impl_->all_live) return numbers;
  std::vector<unsigned> live(numbers.size()), result;
  impl_->live.copy_to(live, impl_->compute.stream);
  check_cuda(cudaStreamSynchronize(impl_->compute.stream), "reading live rows");
  for (std::size_t r = 0; r < numbers.size(); ++r)
    if (live[r] != 0) result.push_back(numbers[r]);
  return result;
}

std::vector<float> DeviceRun::outputs() {
  const std::vector<unsigned> numbers = impl_->rows_here();
  const std::size_t outputs = impl_->outputs, stride = impl_->stride;
  std::vector<float> columns(outputs * stride), result(impl_->all_rows * outputs, 0.0f);
  impl_->x.copy_to(columns, impl_->compute.stream);
  check_cuda(cudaStreamSynchronize(impl_->compute.stream), "reading outputs");
  for (std::size_t r = 0; r < numbers.size(); ++r)
    for (std::size_t o = 0; o < outputs; ++o) result[numbers[r] * outputs + o] = columns[o * stride + r];
  return result;
}

}  // namespace filigree
