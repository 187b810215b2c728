// SPDX-License-Identifier: Apache-2.0
#include "infer/device_executor.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "base/session.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kLanes = kPanelRows;
constexpr unsigned kCompactEvery = 4;      // layers: counting rows waits for the device
constexpr std::uint64_t kSpare = 1 << 26;  // bytes of device memory that a run leaves alone

// Rows on one device.
struct Part {
  std::size_t first = 0, count = 0;  // of the rows of this pass
  std::unique_ptr<DeviceRun> run;
};

}  // namespace

DeviceForm::DeviceForm(std::shared_ptr<const PlanLayer> from) : layer(std::move(from)) {
  if (layer->inputs() > kMaxInputColumns)
    fail("a layer of {} inputs, but devices take {} at most", layer->inputs(), kMaxInputColumns);
  CsrMatrix weights = unpack(layer->weights);
  row_begin.assign(weights.row_begin.begin(), weights.row_begin.end());
  column.assign(weights.column.begin(), weights.column.end());
  if (!layer->weights.value.empty()) value = std::move(weights.value);
}

HostLayer DeviceForm::view(Bracket bracket) const {
  HostLayer host;
  host.row_begin = row_begin;
  host.column = column;
  host.value = value;
  host.bias = layer->bias;
  host.inputs = layer->inputs();
  host.uniform = layer->weights.uniform;
  host.activation = layer->activation;
  if (bracket == Bracket::above) host.scale = 1.0f + layer->slack;
  if (bracket == Bracket::below) host.scale = 1.0f - layer->slack;
  return host;
}

DeviceExecutor::DeviceExecutor(const DeviceBackend& backend, std::vector<int> devices,
                               DeviceRunOptions options)
    : backend_(backend), devices_(std::move(devices)), options_(options) {}

void DeviceExecutor::prepare(const PlanSource& plan) {
  if (!plan.resident() || prepared_.contains(&plan)) return;
  std::vector<std::shared_ptr<const DeviceForm>> forms(plan.layers());
  parallel_for(forms.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t l = first; l < last; ++l) forms[l] = std::make_shared<DeviceForm>(plan.layer(l));
  });
  prepared_.emplace(&plan, std::move(forms));
}

std::shared_ptr<const DeviceForm> DeviceExecutor::form(const PlanSource& plan, Index l) {
  const auto found = prepared_.find(&plan);
  return found != prepared_.end() ? found->second[l] : std::make_shared<const DeviceForm>(plan.layer(l));
}

RunShape DeviceExecutor::shape_of(const PlanSource& plan, Index layers) {
  RunShape shape;
  shape.widest = plan.inputs();
  for (Index l = 0; l < layers; ++l) {
    const auto layer = plan.layer(l);
    shape.widest = std::max(shape.widest, static_cast<unsigned>(layer->outputs()));
    shape.connections = std::max(shape.connections, static_cast<unsigned>(layer->weights.nnz));
    if (!plan.resident()) break;  // too large to look at twice; the layers of such networks are alike
  }
  return shape;
}

std::vector<unsigned> DeviceExecutor::rows_that_fit(RunShape shape, const DeviceRunOptions& options,
                                                    std::uint64_t input_bytes) const {
  const std::vector<DeviceFacts> facts = backend_.devices();
  std::vector<unsigned> fitting;
  constexpr unsigned kBlock = 512;  // rows come in whole blocks
  for (const int d : devices_) {
    const DeviceFacts& device = facts[d];
    shape.rows = kBlock;
    const std::uint64_t one = backend_.run_bytes(shape, options) + kBlock * input_bytes;
    shape.rows = 2 * kBlock;
    const std::uint64_t each =
        backend_.run_bytes(shape, options) + 2 * kBlock * input_bytes - one;  // further block
    const std::uint64_t free = device.free_memory > kSpare ? device.free_memory - kSpare : 0;
    if (free < one)
      fail_for("device", "device {} ({}) has {} of {} bytes free, but a run of {} rows takes {}", d,
               device.name, device.free_memory, device.memory, kBlock, one + kSpare);
    const std::uint64_t blocks = 1 + (free - one) / each;
    fitting.push_back(static_cast<unsigned>(std::min<std::uint64_t>(blocks, (1u << 30) / kBlock)) * kBlock);
  }
  return fitting;
}

std::unique_ptr<DeviceExecutor> device_executor(const DeviceRunOptions& options) {
  const std::vector<int>& devices = current_session().devices;
  return devices.empty() ? nullptr : std::make_unique<DeviceExecutor>(*cuda_backend(), devices, options);
}

RunResult DeviceExecutor::run(const PlanSource& plan, const InputRows& inputs,
                              std::span<const Index> input_of, std::span<const Index> rows,
                              const RunOptions& options, const Observer& observer) {
  const Index layers = options.depth > 0 ? std::min(options.depth, plan.layers()) : plan.layers();
  std::vector<Index> all;
  if (rows.empty()) {
    all.resize(inputs.rows);
    std::iota(all.begin(), all.end(), 0);
    rows = all;
  }
  DeviceRunOptions how = options_;
  how.compact_every = options.filter && plan.keeps_zero() ? kCompactEvery : 0;
  RunShape shape = shape_of(plan, layers);
  // Rows are about as full as each other; twice the mean is room for those that are not.
  const std::uint64_t entry_bytes = inputs.binary() ? 2 : 6;
  const std::uint64_t mean = static_cast<std::uint64_t>(inputs.nnz()) / (std::max<Index>(1, inputs.rows));
  const std::vector<unsigned> fitting = rows_that_fit(shape, how, 2 * entry_bytes * mean + sizeof(Offset));
  std::vector<Index> absorbed_by(inputs.rows, -1);
  std::vector<char> alive(inputs.rows, 0);
  RunResult result;
  result.live_rows.assign(layers, 0);
  result.distinct_rows.assign(layers, 0);

  for (std::size_t done = 0; done < rows.size();) {
    std::vector<Part> parts;
    std::size_t next = done;
    for (std::size_t d = 0; d < devices_.size() && next < rows.size(); ++d) {
      const std::size_t left = (rows.size() - next + devices_.size() - d - 1) / (devices_.size() - d);
      Part& part = parts.emplace_back();
      part.first = next;
      part.count = std::min<std::size_t>(left, fitting[d]);
      shape.rows = part.count;
      part.run = backend_.start(devices_[d], shape, how,
                                {inputs.row_begin,
                                 {inputs.column.data(), inputs.column.size()},
                                 {inputs.value.data(), inputs.value.size()},
                                 rows.subspan(part.first, part.count),
                                 input_of});
      next += part.count;
    }
    // One thread drives all devices: launches do not wait.
    for (Index l = 0; l < layers; ++l) {
      observer.check_stop();
      const auto layer = form(plan, l);
      for (Part& part : parts) part.run->run(layer->view(options.bracket));
      for (const Part& part : parts) result.distinct_rows[l] += part.run->rows();
      if (options.merge_rows && is_merge_point(l + 1) && l + 1 < layers)
        for (Part& part : parts) {
          const DeviceRun::Absorbed absorbed = part.run->merge_equal_rows();
          for (std::size_t i = 0; i < absorbed.row.size(); ++i)
            absorbed_by[rows[part.first + absorbed.row[i]]] = rows[part.first + absorbed.by[i]];
        }
      observer.report("run", done + static_cast<double>(next - done) * (l + 1) / layers, rows.size(),
                      "inputs");
    }
    for (Part& part : parts) {
      for (const unsigned row : part.run->live_rows()) alive[rows[part.first + row]] = 1;
      const std::vector<unsigned> counts = part.run->live_counts();
      for (std::size_t l = 0; l < counts.size(); ++l) result.live_rows[l] += counts[l];
    }
    done = next;
  }
  for (const Index row : rows)
    if (alive[standing_for(absorbed_by, row)]) result.live.push_back(row);
  return result;
}

void DeviceExecutor::run_dense(const PlanSource& plan, std::size_t rows, const MakeLoader& make_loader,
                               const OutputMap& map, std::span<float> outputs, const Observer& observer) {
  RunShape shape = shape_of(plan, plan.layers());
  const std::vector<unsigned> fitting = rows_that_fit(shape, options_, 0);
  const std::size_t width = plan.inputs();
  const std::size_t last = plan.layer(plan.layers() - 1)->outputs();
  constexpr std::size_t kMostRows = 1 << 16;  // on the host at a time
  for (std::size_t done = 0; done < rows;) {
    std::vector<Part> parts;
    for (std::size_t d = 0; d < devices_.size() && done < rows; ++d) {
      Part& part = parts.emplace_back();
      part.first = done;
      part.count = std::min({(rows - done + devices_.size() - d - 1) / (devices_.size() - d),
                             std::size_t{fitting[d]}, kMostRows});
      std::vector<float> columns(width * part.count);
      parallel_for((part.count + kLanes - 1) / kLanes, 8, [&](std::size_t from, std::size_t to) {
        const std::unique_ptr<PanelLoader> loader = make_loader();
        for (std::size_t p = from; p < to; ++p) {
          const std::size_t count = std::min(kLanes, part.count - p * kLanes);
          const float* panel = loader->load(part.first + p * kLanes, count);
          for (std::size_t n = 0; n < width; ++n)
            std::copy_n(panel + n * kLanes, count, columns.data() + n * part.count + p * kLanes);
        }
      });
      shape.rows = part.count;
      part.run = backend_.start(devices_[d], shape, options_, columns);
      done += part.count;
    }
    for (Index l = 0; l < plan.layers(); ++l) {
      observer.check_stop();
      const auto layer = form(plan, l);
      for (Part& part : parts) part.run->run(layer->view(Bracket::none));
    }
    for (Part& part : parts) {
      const std::vector<float> found = part.run->outputs();
      for (std::size_t r = 0; r < part.count; ++r)
        for (std::size_t o = 0; o < map.output_of.size(); ++o)
          outputs[(part.first + r) * map.output_of.size() + o] =
              map.output_of[o] < 0 ? map.constant[o] : found[r * last + map.output_of[o]];
    }
    observer.report("run", done, rows, "rows");
  }
}

}  // namespace filigree::internal
