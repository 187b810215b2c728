// SPDX-License-Identifier: Apache-2.0
#include "device/training.h"

#include <algorithm>
#include <cmath>

#include "device/all_reduce.h"
#include "device/growth_kernels.h"
#include "device/layer_here.h"
#include "device/train_kernels.h"

namespace filigree::internal {

namespace {

// One device's part: all layers, and a share of every batch.
template <unsigned kThreads>
class Replica {
 public:
  using Kernels = TrainKernels<kThreads>;

  Replica(int device, const TrainingShape& shape, unsigned most)
      : device_(device),
        shape_(shape),
        stride_((most + kThreads - 1) / kThreads * kThreads),
        row_(stride_),
        label_(stride_),
        sample_loss_(stride_),
        score_(stride_) {}
  ~Replica() {
    cudaSetDevice(device_);
    cudaDeviceSynchronize();  // everything that is under way borrows what goes now
  }

  void use() const { check_cuda(cudaSetDevice(device_), "choosing a device"); }
  cudaStream_t stream() const { return stream_; }
  std::size_t stride() const { return stride_; }
  std::size_t outputs() const { return shape_.outputs; }
  DeviceSamples samples() const { return {samples_, stride_}; }
  std::vector<std::unique_ptr<LayerHere>>& layers() { return layers_; }
  const float* input(std::size_t l) const { return level_[l].data(); }
  const float* delta(std::size_t l) const { return delta_[l].data(); }

  void set_rows(RowsPart part, const TrainingRows& rows) {
    use();
    RowsHere& here = rows_[static_cast<std::size_t>(part)];
    send(here.bytes, rows.bytes);
    send(here.floats, rows.floats);
    send(here.value, rows.value);
    send(here.mean, rows.mean);
    send(here.scale, rows.scale);
    const std::vector<long long> begin(rows.row_begin.begin(), rows.row_begin.end());
    send(here.row_begin, std::span<const long long>(begin));
    send(here.column, rows.column);
    here.mean_step = rows.mean.size() > 1 ? 1 : 0;
    here.scale_step = rows.scale.size() > 1 ? 1 : 0;
    stream_.wait("copying the data");
  }

  void set_layer(std::size_t l, std::size_t count, const TrainingLayer& from, const Transposed& other) {
    use();
    while (layers_.size() < count) layers_.push_back(std::make_unique<LayerHere>());
    LayerHere& to = *layers_[l];
    to.inputs = from.inputs;
    to.outputs = from.outputs;
    to.connections = static_cast<unsigned>(from.value.size());
    to.activation = from.activation;
    to.by_input = from.by_input;
    to.both = from.by_input || l > 0;  // forward wants outputs together, backward inputs
    to.own.rows = from.by_input ? from.inputs : from.outputs;
    to.other.rows = from.by_input ? from.outputs : from.inputs;
    const std::size_t connections = from.value.size(), numbers = 6 * connections;
    done_.record(stream_);
    done_.hold(copy_);  // what is computed with the layer as it was
    to.staging.begin(sizeof(float) * (numbers + 4 * from.bias.size() + 4) +
                     sizeof(unsigned) * (from.row_begin.size() + other.begin.size()));
    to.staging.add(std::span<const unsigned>(from.row_begin), to.own.begin, copy_);
    to.staging.add(std::span<const float>(from.value), to.own.value, copy_);
    to.staging.add(std::span<const float>(from.first), to.first, copy_);
    to.staging.add(std::span<const float>(from.second), to.second, copy_);
    to.staging.add(std::span<const float>(from.bias), to.bias, copy_);
    to.staging.add(std::span<const float>(from.bias_first), to.bias_first, copy_);
    to.staging.add(std::span<const float>(from.bias_second), to.bias_second, copy_);
    if (to.both) {
      to.staging.add(std::span<const unsigned>(other.begin), to.other.begin, copy_);
      to.staging.add(std::span<const unsigned>(other.order), to.order, copy_);
      to.other.value.make_room(connections);
    }
    // Halves last: whole words stay where they may be.
    to.staging.add(from.column, to.own.column, copy_);
    if (to.both) to.staging.add(std::span<const std::uint16_t>(other.column), to.other.column, copy_);
    to.gradient.make_room(connections);
    to.bias_gradient.make_room(from.bias.size());
    to.staging.end(copy_);
    to.staging.hold(stream_);  // the next batch begins while later layers are still on their way
    clear(to);
    refresh(to);
    make_levels();
  }

  void get_layer(std::size_t l, const TrainingLayer& to) {
    use();
    const LayerHere& from = *layers_[l];
    from.own.value.copy_to(to.value, stream_);
    from.first.copy_to(to.first, stream_);
    from.second.copy_to(to.second, stream_);
    from.bias.copy_to(to.bias, stream_);
    from.bias_first.copy_to(to.bias_first, stream_);
    from.bias_second.copy_to(to.bias_second, stream_);
    stream_.wait("reading a layer");
  }

  // A share of a batch: samples from `first` on.
  void load(RowsPart part, const TrainingBatch& batch, std::size_t first, std::size_t count, bool train) {
    use();
    samples_ = static_cast<unsigned>(count);
    std::vector<int> rows(batch.rows.begin() + static_cast<std::ptrdiff_t>(first),
                          batch.rows.begin() + static_cast<std::ptrdiff_t>(first + count));
    const std::size_t width = shape_.outputs;
    const auto [label, target, weight] = batch.targets.part(first, count, width);
    const std::vector<unsigned> labels(label.begin(), label.end());
    std::vector<float> targets(target.empty() ? 0 : width * stride_, 0.0f);  // as the outputs lie
    for (std::size_t i = 0; i < target.size(); ++i) targets[i % width * stride_ + i / width] = target[i];
    has_ = {!labels.empty(), !targets.empty(), !weight.empty()};
    const std::size_t groups = stride_ / 32;
    std::vector<std::uint32_t> keys, lanes;
    const bool drops = train && shape_.dropout + shape_.input_dropout > 0;
    if (drops) {
      const std::size_t all = batch.drop.lane.size();
      for (std::size_t level = 0; level < layers_.size(); ++level)
        for (std::size_t g = 0; g < groups; ++g)
          keys.push_back(first / 32 + g < all ? batch.drop.key[level * all + first / 32 + g] : 0);
      for (std::size_t g = 0; g < groups; ++g)
        lanes.push_back(first / 32 + g < all ? batch.drop.lane[first / 32 + g] : 0);
    }
    batch_staging_.begin(sizeof(int) * (rows.size() + labels.size() + targets.size() + weight.size() +
                                        keys.size() + lanes.size()));
    batch_staging_.add(std::span<const int>(rows), row_, stream_);
    batch_staging_.add(std::span<const unsigned>(labels), label_, stream_);
    batch_staging_.add(std::span<const float>(targets), target_, stream_);
    batch_staging_.add(weight, weight_, stream_);
    batch_staging_.add(std::span<const std::uint32_t>(keys), key_, stream_);
    batch_staging_.add(std::span<const std::uint32_t>(lanes), lane_, stream_);
    batch_staging_.end(stream_);
    const RowsHere& data = rows_[static_cast<std::size_t>(part)];
    if (data.row_begin.size() > 0) level_[0].set_zero(stream_);
    Kernels::load_rows(data.view(), shape_.features, samples(), row_.data(), level_[0].data(), stream_);
    if (train && shape_.input_dropout > 0) drop(0, shape_.input_dropout, level_[0].data(), shape_.features);
  }

  void forward(bool train) {
    use();
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      LayerHere& layer = *layers_[l];
      layer.staging.hold(stream_);
      const Side& side = layer.by_output();
      const bool relu = layer.activation.is(Activation::relu);
      float* y = level_[l + 1].data();
      Kernels::multiply({side.pattern(), side.value.data(), layer.bias.data(),
                         relu ? DeviceEpilogue::relu : DeviceEpilogue::none},
                        samples(), level_[l].data(), y, stream_);
      const std::size_t size = layer.outputs * stride_;
      if (!relu) {
        if (layer.activation.derivative_needs_sum())
          check_cuda(
              cudaMemcpyAsync(sum_[l].data(), y, size * sizeof(float), cudaMemcpyDeviceToDevice, stream_),
              "keeping sums");
        Kernels::activate(layer.activation, y, size, stream_);
      }
      if (train && shape_.dropout > 0 && l + 1 < layers_.size())
        drop(l + 1, shape_.dropout, y, layer.outputs);
    }
  }

  void find_loss(double smoothing, double scale) {
    use();
    const DeviceLoss loss{shape_.loss, shape_.outputs, static_cast<float>(smoothing),
                          static_cast<float>(scale)};
    const DeviceTargets targets{has_.label ? label_.data() : nullptr, has_.target ? target_.data() : nullptr,
                                has_.weight ? weight_.data() : nullptr};
    Kernels::start_back(loss, samples(), level_.back().data(), targets,
                        {delta_.back().data(), sample_loss_.data(), score_.data()}, stream_);
  }

  void backward() {
    use();
    for (std::size_t l = layers_.size(); l-- > 0;) {
      LayerHere& layer = *layers_[l];
      const float *x = level_[l].data(), *delta = delta_[l].data();
      Kernels::add_row_sums(delta, layer.outputs, samples(), layer.bias_gradient.data(), stream_);
      Kernels::add_gradients(layer.own.pattern(), samples(), layer.by_input ? x : delta,
                             layer.by_input ? delta : x, layer.gradient.data(), stream_);
      if (l == 0) break;
      const LayerHere& below = *layers_[l - 1];
      const Side& side = layer.by_inputs();
      const bool gated = below.activation.is(Activation::relu);
      float* next = delta_[l - 1].data();
      Kernels::multiply({side.pattern(), side.value.data(), nullptr,
                         gated ? DeviceEpilogue::gate : DeviceEpilogue::none, x},
                        samples(), delta, next, stream_);
      // A relu that dropped out shows as zero, which closes the gate; what is left is the scale of those
      // kept.
      if (shape_.dropout > 0) drop(l, shape_.dropout, next, below.outputs);
      if (gated) continue;
      const double share = shape_.dropout > 0 ? 1 - std::lround(shape_.dropout * 65536) / 65536.0 : 1;
      Kernels::multiply_by_derivative(below.activation, x, static_cast<float>(share),
                                      below.activation.derivative_needs_sum() ? sum_[l - 1].data() : nullptr,
                                      next, below.outputs * stride_, stream_);
    }
  }

  TrainingSums sums() {
    use();
    const std::vector<float> loss = sample_loss_.values(samples_, stream_, "reading losses");
    const std::vector<float> score = score_.values(samples_, stream_, "reading losses");
    TrainingSums total;
    for (std::size_t b = 0; b < loss.size(); ++b) {
      total.loss += double{loss[b]};
      total.score += double{score[b]};
    }
    return total;
  }

  double squares() {
    use();
    squares_.make_room(2 * layers_.size() * kSquareParts);
    double* to = squares_.data();
    for (const auto& layer : layers_) {
      Kernels::sum_squares(layer->gradient.data(), layer->connections, to, stream_);
      Kernels::sum_squares(layer->bias_gradient.data(), layer->outputs, to + kSquareParts, stream_);
      to += 2 * kSquareParts;
    }
    double sum = 0;
    for (const double part : squares_.values(2 * layers_.size() * kSquareParts, stream_, "reading a norm"))
      sum += part;
    return sum;
  }

  void descend(const DescentRates& rates) {
    use();
    DescentRates of_bias = rates;
    of_bias.decay = 0;
    for (const auto& layer : layers_) {
      Kernels::descend(rates, layer->connections, layer->own.value.data(), layer->gradient.data(),
                       layer->first.data(), layer->second.data(), stream_);
      Kernels::descend(of_bias, layer->outputs, layer->bias.data(), layer->bias_gradient.data(),
                       layer->bias_first.data(), layer->bias_second.data(), stream_);
      clear(*layer);
      refresh(*layer);
    }
  }

  void clear_gradients() {
    use();
    for (const auto& layer : layers_) clear(*layer);
  }

  CudaStream& own_stream() { return stream_; }

 private:
  template <typename T>
  void send(DeviceArray<T>& to, std::span<const T> from) {
    to = DeviceArray<T>(from.size());
    to.copy_from(from, stream_);
  }
  void clear(LayerHere& layer) {
    layer.gradient.set_zero(stream_);
    layer.bias_gradient.set_zero(stream_);
  }
  void refresh(LayerHere& layer) {
    if (layer.both)
      Kernels::gather(layer.own.value.data(), layer.order.data(), layer.other.value.data(), layer.connections,
                      stream_);
  }
  void drop(std::size_t level, double rate, float* x, unsigned neurons) {
    Kernels::drop_out({key_.data() + level * (stride_ / 32), lane_.data(), shape_.panel}, rate, x, neurons,
                      stride_, stream_);
  }
  void make_levels() {
    level_.resize(layers_.size() + 1);
    delta_.resize(layers_.size());
    sum_.resize(layers_.size());
    level_[0].make_room(shape_.features * stride_);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const std::size_t size = layers_[l]->outputs * stride_;
      level_[l + 1].make_room(size);
      delta_[l].make_room(size);
      if (layers_[l]->activation.derivative_needs_sum()) sum_[l].make_room(size);
    }
  }

  int device_;
  TrainingShape shape_;
  std::size_t stride_;
  unsigned samples_ = 0;
  RowsHere rows_[2];
  std::vector<std::unique_ptr<LayerHere>> layers_;
  std::vector<DeviceArray<float>> level_, delta_, sum_;
  DeviceArray<int> row_;
  DeviceArray<unsigned> label_;
  DeviceArray<std::uint32_t> key_, lane_;
  DeviceArray<float> sample_loss_;
  DeviceArray<float> score_, target_, weight_;
  struct {
    bool label = false, target = false, weight = false;
  } has_;  // the batch
  DeviceArray<double> squares_;
  Staging batch_staging_;
  CudaEvent done_;
  CudaStream stream_, copy_;
};

// Batches shared out, gradients added up over devices; each device then does the same step. Growth happens on
// the first, with what the others kept.
template <unsigned kThreads>
class CudaTraining final : public DeviceTraining {
 public:
  CudaTraining(std::span<const int> devices, const TrainingShape& shape) : shape_(shape), sum_over_(devices) {
    // Whole groups of 32 samples each, because these share what drops out.
    const std::size_t groups = (shape.batch + 31) / 32;
    const auto most = static_cast<unsigned>((groups + devices.size() - 1) / devices.size() * 32);
    for (const int device : devices) {
      check_cuda(cudaSetDevice(device), "choosing a device");
      replicas_.push_back(std::make_unique<Replica<kThreads>>(device, shape, most));
    }
  }

  void set_rows(RowsPart part, const TrainingRows& rows) override {
    for (const auto& replica : replicas_) replica->set_rows(part, rows);
  }
  void set_layers(std::span<const TrainingLayer> layers) override {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const Transposed other(layers[l]);
      for (const auto& replica : replicas_) replica->set_layer(l, layers.size(), layers[l], other);
    }
  }
  void get_layers(std::span<const TrainingLayer> layers) override {
    for (std::size_t l = 0; l < layers.size(); ++l) first().get_layer(l, layers[l]);
  }
  void get_gradients(std::size_t layer, std::span<float> value, std::span<float> bias) override {
    first().use();
    first().layers()[layer]->gradient.copy_to(value, first().stream());
    first().layers()[layer]->bias_gradient.copy_to(bias, first().stream());
    first().own_stream().wait("reading gradients");
  }

  TrainingSums add_gradients(const TrainingBatch& batch, int keep_as) override {
    run(RowsPart::train, batch, true);
    for (const auto& replica : active()) replica->backward();
    if (replicas_.size() > 1) add_up();
    if (keep_as >= 0) keep(static_cast<unsigned>(keep_as));
    return sums();
  }
  double gradient_norm() override { return std::sqrt(first().squares()); }
  void descend(const DescentRates& rates) override {
    for (const auto& replica : replicas_) replica->descend(rates);
  }
  void clear_gradients() override {
    for (const auto& replica : replicas_) replica->clear_gradients();
  }

  TrainingSums evaluate(RowsPart part, std::span<const Index> rows, const TrainingTargets& targets) override {
    TrainingSums total;
    const std::size_t most = replicas_.size() * first().stride();
    for (std::size_t done = 0; done < rows.size(); done += most) {
      const std::size_t count = std::min(most, rows.size() - done);
      run(part, {rows.subspan(done, count), targets.part(done, count, first().outputs())}, false);
      const TrainingSums here = sums();
      total.loss += here.loss;
      total.score += here.score;
    }
    return total;
  }

  std::vector<double> costs(std::size_t layer) override {
    first().use();
    const unsigned outputs = first().layers()[layer]->outputs;
    DeviceArray<double> cost(outputs);
    GrowthKernels<kThreads>::sum_magnitudes(kept_[layer].delta.data(), outputs, static_cast<unsigned>(width_),
                                            width_, cost.data(), first().stream());
    return cost.values(outputs, first().stream(), "reading costs");
  }

  std::vector<PlacedGradient> largest_gradients(std::size_t layer, std::span<const std::uint32_t> row_begin,
                                                std::span<const std::uint16_t> column, std::size_t count,
                                                std::span<const std::uint32_t> outputs) override {
    if (count == 0) return {};
    using Kernels = GrowthKernels<kThreads>;
    first().use();
    const cudaStream_t stream = first().stream();
    const LayerHere& here = *first().layers()[layer];
    DeviceArray<unsigned> begin(row_begin.size()), list(outputs.size()), bucket(kGrowthBuckets),
        found_count(1);
    DeviceArray<std::uint16_t> taken(column.size());
    begin.copy_from(row_begin, stream);
    taken.copy_from(column, stream);
    list.copy_from(outputs, stream);
    bucket.set_zero(stream);
    found_count.set_zero(stream);
    const bool by_input = here.by_input;
    const float *x = kept_[layer].x.data(), *delta = kept_[layer].delta.data();
    const unsigned listed = outputs.empty() ? here.outputs : static_cast<unsigned>(outputs.size());
    GrowthSearch search{by_input ? x : delta,
                        by_input ? delta : x,
                        static_cast<unsigned>(width_),
                        width_,
                        {begin.data(), taken.data(), here.own.rows}};
    (by_input ? search.column_list : search.row_list) = list.data();
    search.rows = by_input ? here.inputs : listed;
    search.columns = by_input ? listed : here.inputs;
    Kernels::count_gradients(search, bucket.data(), stream);
    const std::vector<unsigned> counts = bucket.values(kGrowthBuckets, stream, "counting gradients");
    std::size_t above = 0;
    unsigned least = kGrowthBuckets;
    while (above < count && least > 0) above += counts[--least];
    if (above == 0) return {};
    DeviceArray<PlacedGradient> found(above);
    Kernels::collect_gradients(search, least, found.data(), static_cast<unsigned>(above), found_count.data(),
                               stream);
    return found.values(above, stream, "collecting gradients");
  }

 private:
  struct Kept {
    DeviceArray<float> x, delta;
  };

  Replica<kThreads>& first() { return *replicas_.front(); }
  std::span<const std::unique_ptr<Replica<kThreads>>> active() const {
    return std::span(replicas_).first(shares_.size());
  }

  // Forward, and what the loss is.
  void run(RowsPart part, const TrainingBatch& batch, bool train) {
    shares_.clear();
    std::size_t done = 0;
    for (std::size_t d = 0; d < replicas_.size() && done < batch.rows.size(); ++d) {
      const std::size_t groups = (batch.rows.size() - done + 31) / 32, devices = replicas_.size() - d;
      shares_.push_back({done, std::min(batch.rows.size() - done, (groups + devices - 1) / devices * 32)});
      done += shares_.back().count;
    }
    for (std::size_t d = 0; d < shares_.size(); ++d)
      replicas_[d]->load(part, batch, shares_[d].first, shares_[d].count, train);
    for (const auto& replica : active()) replica->forward(train);
    for (const auto& replica : active())
      replica->find_loss(train ? shape_.label_smoothing : 0, train ? batch.scale : 1);
  }

  TrainingSums sums() {
    TrainingSums total;
    for (const auto& replica : active()) {
      const TrainingSums here = replica->sums();
      total.loss += here.loss;
      total.score += here.score;
    }
    return total;
  }

  void add_up() {
    std::vector<cudaStream_t> streams;
    for (const auto& replica : replicas_) streams.push_back(replica->stream());
    std::vector<float*> data(replicas_.size());
    for (std::size_t l = 0; l < first().layers().size(); ++l) {
      for (const bool bias : {false, true}) {
        for (std::size_t d = 0; d < data.size(); ++d) {
          LayerHere& layer = *replicas_[d]->layers()[l];
          data[d] = bias ? layer.bias_gradient.data() : layer.gradient.data();
        }
        const LayerHere& layer = *first().layers()[l];
        sum_over_.add(data, bias ? layer.outputs : layer.connections, streams);
      }
    }
  }

  // Inputs and output gradients of each layer, next to those of the batches before.
  void keep(unsigned number) {
    first().use();
    const std::size_t groups = (shape_.batch + 31) / 32, batch = groups * 32;
    width_ = batch * shape_.growth_batches;
    kept_.resize(first().layers().size());
    for (std::size_t l = 0; l < kept_.size(); ++l) {
      const LayerHere& layer = *first().layers()[l];
      kept_[l].x.make_room(layer.inputs * width_);
      kept_[l].delta.make_room(layer.outputs * width_);
      if (number == 0) {
        kept_[l].x.set_zero(first().stream());
        kept_[l].delta.set_zero(first().stream());
      }
    }
    if (number == 0) first().own_stream().wait("clearing what is kept");
    for (std::size_t d = 0; d < shares_.size(); ++d) {
      Replica<kThreads>& from = *replicas_[d];
      from.use();
      const auto copy = [&](DeviceArray<float>& to, const float* values, unsigned neurons) {
        check_cuda(cudaMemcpy2DAsync(to.data() + number * batch + shares_[d].first, width_ * sizeof(float),
                                     values, from.stride() * sizeof(float), shares_[d].count * sizeof(float),
                                     neurons, cudaMemcpyDefault, from.stream()),
                   "keeping a batch");
      };
      for (std::size_t l = 0; l < kept_.size(); ++l) {
        copy(kept_[l].x, from.input(l), from.layers()[l]->inputs);
        copy(kept_[l].delta, from.delta(l), from.layers()[l]->outputs);
      }
      if (d > 0) from.own_stream().wait("keeping a batch");
    }
    first().use();
  }

  struct Share {
    std::size_t first = 0, count = 0;
  };

  TrainingShape shape_;
  AllReduce sum_over_;
  std::vector<std::unique_ptr<Replica<kThreads>>> replicas_;
  std::vector<Share> shares_;  // of the batch under way
  std::vector<Kept> kept_;
  std::size_t width_ = 0;
};

}  // namespace

std::unique_ptr<DeviceTraining> start_cuda_training(std::span<const int> devices, const TrainingShape& shape,
                                                    unsigned threads) {
  if ((threads == 0 ? kBlockThreads : threads) == 32)
    return std::make_unique<CudaTraining<32>>(devices, shape);
  return std::make_unique<CudaTraining<128>>(devices, shape);
}

}  // namespace filigree::internal
