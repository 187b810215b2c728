// SPDX-License-Identifier: Apache-2.0
#include "device/baseline_runs.h"

#include <algorithm>
#include <numeric>

#include "device/entry_kernels.h"
#include "device/layer_feed.h"
#include "device/library_products.h"
#include "device/tiled_kernel.h"

namespace filigree::internal {

namespace {

using Entries = EntryKernels<kBlockThreads>;

// The rows of a run, copied out of its inputs.
struct OwnRows {
  std::vector<int> begin{0}, column;
  std::vector<float> value;

  OwnRows(const SparseInputs& inputs, unsigned rows) {
    if (!inputs.input_of.empty()) throw Error("baselines run networks as they are, not compiled ones");
    for (unsigned r = 0; r < rows; ++r) {
      const auto row = inputs.row.empty() ? std::size_t{r} : static_cast<std::size_t>(inputs.row[r]);
      for (auto e = static_cast<std::size_t>(inputs.row_begin[row]);
           e < static_cast<std::size_t>(inputs.row_begin[row + 1]); ++e) {
        column.push_back(inputs.column[e]);
        value.push_back(inputs.value.empty() ? 1.0f : inputs.value[e]);
      }
      begin.push_back(column.size());
    }
  }
};

template <typename T>
void send(DeviceArray<T>& to, const std::vector<T>& from, cudaStream_t stream) {
  to.make_room(from.size() + 1);
  to.copy_from(from, stream);
}

// What the baselines share: rows by number, counts, nothing merged.
class BaselineRun : public DeviceRun {
 public:
  BaselineRun(int device, const RunShape& shape, const DeviceRunOptions& options)
      : device_(device), all_rows_(shape.rows), filter_(options.compact_every > 0), row_(shape.rows) {
    std::iota(row_.begin(), row_.end(), 0u);
  }
  ~BaselineRun() override {
    cudaSetDevice(device_);
    cudaDeviceSynchronize();
  }
  unsigned rows() const override { return computed_; }
  Absorbed merge_equal_rows() override { return {}; }
  std::vector<unsigned> live_counts() override { return live_counts_; }
  std::vector<unsigned> live_rows() override {
    std::vector<unsigned> live;
    for (std::size_t r = 0; r < row_.size(); ++r)
      if (kept_[r] > 0) live.push_back(row_[r]);
    return live;
  }

 protected:
  void use() const { check_cuda(cudaSetDevice(device_), "choosing a device"); }
  // `kept`: how many numbers of each row that was computed are not zero.
  void count(std::vector<unsigned> kept) {
    computed_ = kept.size();
    kept_ = std::move(kept);
    live_counts_.push_back(std::ranges::count_if(kept_, [](unsigned k) { return k > 0; }));
  }

  int device_;
  unsigned all_rows_, computed_ = 0, outputs_ = 0;
  bool filter_;
  std::vector<unsigned> row_, kept_, live_counts_;  // row_: those that are not left behind
};

class SpgemmRun final : public BaselineRun {
 public:
  SpgemmRun(int device, const RunShape& shape, const DeviceRunOptions& options, const SparseInputs& inputs)
      : BaselineRun(device, shape, options),
        feed_(shape, FeedForm::wide_inputs),
        multiply_(stream_, options.kernel == DeviceKernel::spgemm_kept) {
    const OwnRows own(inputs, shape.rows);
    send(begin_, own.begin, stream_);
    send(column_, own.column, stream_);
    send(value_, own.value, stream_);
    nnz_ = own.column.size();
    stream_.wait("loading the inputs");
  }

  void run(const HostLayer& layer) override {
    use();
    const LayerFeed::Arrived arrived = feed_.send(layer, stream_);
    outputs_ = layer.outputs();
    const auto rows = static_cast<unsigned>(row_.size());
    if (nnz_ == 0) {  // nothing that the library would multiply
      feed_.used(stream_);
      if (filter_) row_.clear();
      return count(std::vector<unsigned>(row_.size(), 0));
    }
    const DeviceCsr x{
        static_cast<int>(rows), static_cast<int>(layer.inputs), nnz_, begin_.data(), column_.data(),
        value_.data()};
    // What has arrived is only read.
    const DeviceCsr w{
        static_cast<int>(layer.inputs),        static_cast<int>(outputs_),
        static_cast<int>(arrived.connections), reinterpret_cast<int*>(const_cast<unsigned*>(arrived.begin)),
        const_cast<int*>(arrived.wide_column), const_cast<float*>(arrived.value)};
    multiply_(x, w, product_);
    const DeviceEntryRows found{product_.begin.data(), product_.column.data(), product_.value.data()};
    kept_here_.make_room(rows);
    Entries::finish({arrived.bias, layer.scale, layer.activation}, found, rows, kept_here_.data(), stream_);
    feed_.used(stream_);
    count(kept_here_.values(rows, stream_, "counting entries"));

    std::vector<int> begin{0};
    std::vector<unsigned> to(rows), left, left_kept;
    for (unsigned r = 0; r < rows; ++r) {
      to[r] = begin.back();
      if (filter_ && kept_[r] == 0) continue;
      begin.push_back(begin.back() + static_cast<int>(kept_[r]));
      left.push_back(row_[r]);
      left_kept.push_back(kept_[r]);
    }
    nnz_ = begin.back();
    send(begin_, begin, stream_);
    send(to_, to, stream_);
    column_.make_room(static_cast<std::size_t>(nnz_) + 1);
    value_.make_room(static_cast<std::size_t>(nnz_) + 1);
    Entries::move(found, rows, to_.data(), column_.data(), value_.data(), stream_);
    row_ = std::move(left);
    kept_ = std::move(left_kept);
    stream_.wait("moving entries");
    check_cuda(cudaGetLastError(), "running a layer");
  }

  std::vector<float> outputs() override {
    use();
    const std::vector<int> begin = begin_.values(row_.size() + 1, stream_, "reading outputs");
    const std::vector<int> column = column_.values(nnz_, stream_, "reading outputs");
    const std::vector<float> value = value_.values(nnz_, stream_, "reading outputs");
    std::vector<float> result(std::size_t{all_rows_} * outputs_, 0.0f);
    for (std::size_t r = 0; r < row_.size(); ++r)
      for (auto e = static_cast<std::size_t>(begin[r]); e < static_cast<std::size_t>(begin[r + 1]); ++e)
        result[row_[r] * std::size_t{outputs_} + static_cast<std::size_t>(column[e])] = value[e];
    return result;
  }

 private:
  DeviceArray<int> begin_, column_;
  DeviceArray<float> value_;
  DeviceArray<unsigned> kept_here_, to_;
  int nnz_ = 0;
  LayerFeed feed_;
  SparseTimesSparse::Result product_;
  CudaStream stream_;
  SparseTimesSparse multiply_;
};

class TiledRun final : public BaselineRun {
 public:
  static constexpr unsigned kTile = kBlockThreads < 128 ? 8 : 32;

  TiledRun(int device, const RunShape& shape, const DeviceRunOptions& options, const SparseInputs& inputs)
      : BaselineRun(device, shape, options),
        x_(std::size_t{shape.rows} * shape.widest),
        y_(std::size_t{shape.rows} * shape.widest),
        w_(std::size_t{shape.widest} * shape.widest),
        count_(shape.rows),
        next_count_(shape.rows),
        feed_(shape, FeedForm::wide_inputs) {
    const OwnRows own(inputs, shape.rows);
    begin_ = DeviceArray<int>(own.begin.size());
    send(begin_, own.begin, stream_);
    send(column_, own.column, stream_);
    send(value_, own.value, stream_);
    std::vector<unsigned> counts(shape.rows, 1);  // without the filter every row is taken for full
    for (std::size_t r = 0; filter_ && r < counts.size(); ++r) counts[r] = own.begin[r + 1] - own.begin[r];
    count_.copy_from(counts, stream_);
    stream_.wait("loading the inputs");
  }

  void run(const HostLayer& layer) override {
    use();
    if (!layer.activation.is(Activation::relu) || layer.scale != 1)
      throw Error("the tiled kernel computes layers with relu as they are");
    const LayerFeed::Arrived arrived = feed_.send(layer, stream_);
    if (live_counts_.empty()) {  // now the number of inputs is known
      x_.set_zero(stream_);
      Entries::fill({begin_.data(), column_.data(), value_.data()}, all_rows_, x_.data(), layer.inputs,
                    stream_);
    }
    outputs_ = layer.outputs();
    w_.set_zero(stream_);
    Entries::fill({reinterpret_cast<const int*>(arrived.begin), const_cast<int*>(arrived.wide_column),
                   const_cast<float*>(arrived.value)},
                  layer.inputs, w_.data(), outputs_, stream_);
    run_tiled_layer<kTile>({w_.data(), arrived.bias, layer.inputs, outputs_, layer.activation.cap}, all_rows_,
                           {x_.data(), count_.data()}, {y_.data(), next_count_.data()}, stream_);
    feed_.used(stream_);
    std::swap(x_, y_);
    count(next_count_.values(all_rows_, stream_, "counting entries"));
    if (filter_) {
      std::swap(count_, next_count_);
      computed_ = live_counts_.size() > 1 ? live_counts_[live_counts_.size() - 2] : all_rows_;
    }
    check_cuda(cudaGetLastError(), "running a layer");
  }

  std::vector<float> outputs() override {
    use();
    return x_.values(std::size_t{all_rows_} * outputs_, stream_, "reading outputs");
  }

 private:
  DeviceArray<float> x_, y_, w_;
  DeviceArray<unsigned> count_, next_count_;
  DeviceArray<int> begin_, column_;
  DeviceArray<float> value_;
  LayerFeed feed_;
  CudaStream stream_;
};

}  // namespace

std::unique_ptr<DeviceRun> start_spgemm_run(int device, const RunShape& shape,
                                            const DeviceRunOptions& options, const SparseInputs& inputs) {
  check_cuda(cudaSetDevice(device), "choosing a device");
  return std::make_unique<SpgemmRun>(device, shape, options, inputs);
}

std::uint64_t spgemm_run_bytes(const RunShape& shape) {
  constexpr std::uint64_t kEntry = sizeof(int) + sizeof(float);
  // Rows, their product, and as much again for cuSPARSE's buffers.
  return 4 * kEntry * shape.rows * shape.widest + LayerFeed::bytes(shape, FeedForm::wide_inputs);
}

std::unique_ptr<DeviceRun> start_tiled_run(int device, const RunShape& shape, const DeviceRunOptions& options,
                                           const SparseInputs& inputs) {
  check_cuda(cudaSetDevice(device), "choosing a device");
  return std::make_unique<TiledRun>(device, shape, options, inputs);
}

std::uint64_t tiled_run_bytes(const RunShape& shape) {
  const std::uint64_t widest = shape.widest;
  return sizeof(float) * (2 * widest * shape.rows + widest * widest) + 4 * sizeof(unsigned) * shape.rows +
         (sizeof(int) + sizeof(float)) * widest * shape.rows + LayerFeed::bytes(shape, FeedForm::wide_inputs);
}

}  // namespace filigree::internal
