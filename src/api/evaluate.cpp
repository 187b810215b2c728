// How well a network does on data.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "api/data_impl.h"
#include "api/network_impl.h"
#include "api/outputs.h"
#include "api/rows_loader.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/system.h"

namespace filigree {

namespace {

constexpr std::size_t kOutputsAtATime = std::size_t{1} << 24;  // floats: 64 MiB of outputs in memory

void check_fit(const Network& network, const Data& data, const DataRows& rows, const char* part) {
  if (rows.rows == 0)
    throw std::invalid_argument(fmt::format("{}: there are no {} rows", data.impl().dataset.name, part));
  if (rows.label.empty()) fail("{}: the {} rows have no labels", data.impl().dataset.name, part);
  // A sparse file says nothing about columns that are zero in all its rows.
  if (rows.features > network.inputs() || (!rows.sparse() && rows.features < network.inputs()))
    fail("{}: {} features a row, but the network has {} inputs", data.impl().dataset.name, rows.features,
         network.inputs());
  if (data.classes() > network.outputs())
    fail("{}: {} classes, but the network has {} outputs", data.impl().dataset.name, data.classes(),
         network.outputs());
}

// For each class of the data, the network's output for it. Files number their classes each for itself, so
// labels as they are in the files decide, where the network knows those of its own data.
std::vector<Index> outputs_for(const Network& network, const Dataset& data) {
  const std::vector<Index>& known = network.impl().class_label;
  std::vector<Index> output;
  for (Index c = 0; c < data.classes; ++c) {
    const Index label = data.class_label.empty() ? c : data.class_label[static_cast<std::size_t>(c)];
    if (known.empty()) {
      // Trained on classes called 0, 1, …, or made by another program: numbers are all there is.
      const bool trained = !network.impl().loss.empty();
      output.push_back(trained ? label : c);
      if (output.back() < 0 || output.back() >= network.outputs())
        fail("{}: there is a row of class {}, but the network knows 0 to {}", data.name, label,
             network.outputs() - 1);
      continue;
    }
    const auto at = std::ranges::lower_bound(known, label);
    if (at == known.end() || *at != label)
      fail("{}: there is a row of class {}, but the network knows {}{}", data.name, label,
           fmt::join(std::span(known).first(std::min<std::size_t>(known.size(), 10)), ", "),
           known.size() > 10 ? ", …" : "");
    output.push_back(static_cast<Index>(at - known.begin()));
  }
  return output;
}

// -log of the label's share, by the largest output, so that nothing overflows.
double cross_entropy(std::span<const float> outputs, std::size_t label) {
  const auto largest = static_cast<double>(std::ranges::max(outputs));
  double sum = 0;
  for (const float o : outputs) sum += std::exp(static_cast<double>(o) - largest);
  return std::log(sum) + largest - static_cast<double>(outputs[label]);
}

double squared_error(std::span<const float> outputs, std::size_t label) {
  double sum = 0;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const double error = static_cast<double>(outputs[o]) - (o == label ? 1 : 0);
    sum += error * error;
  }
  return sum / 2;
}

}  // namespace

Evaluation evaluate(const Network& network, const Data& data, Part part, const Observer& observer,
                    const PlanOptions& options) {
  const DataRows& rows = part == Part::train ? data.impl().dataset.train : data.impl().dataset.test;
  check_fit(network, data, rows, part == Part::train ? "training" : "test");
  const std::vector<Index> output_of_class = outputs_for(network, data.impl().dataset);
  const auto output_of_row = [&](std::size_t row) {
    return output_of_class[static_cast<std::size_t>(rows.label[row])];
  };
  const Plan plan = compile(network, observer, options);
  const bool mse = network.impl().loss == word(Loss::mse);
  const auto total = static_cast<std::size_t>(rows.rows), width = static_cast<std::size_t>(plan.outputs());
  const std::size_t batch =
      std::max<std::size_t>(static_cast<std::size_t>(kPanelRows), kOutputsAtATime / width);

  Evaluation result;
  result.rows = rows.rows;
  result.wrong_by_class.assign(width, 0);
  result.rows_by_class.assign(width, 0);
  RunWork work;
  Offset right_rows = 0;
  double loss = 0;
  for (std::size_t first = 0; first < total; first += batch) {
    const std::size_t count = std::min(batch, total - first);
    const double start = seconds_now();
    const auto outputs = plan.impl().run(count, loader_of(rows, first, count, plan.impl()), observer, &work);
    result.seconds += seconds_now() - start;
    std::vector<double> row_loss(count);  // added up in the order of rows, whatever the threads
    std::vector<char> right(count);
    parallel_for(count, 1024, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        const auto row = std::span(outputs).subspan(r * width, width);
        const auto label = static_cast<std::size_t>(output_of_row(first + r));
        right[r] = best_output(row) == output_of_row(first + r);
        row_loss[r] = mse ? squared_error(row, label) : cross_entropy(row, label);
      }
    });
    for (std::size_t r = 0; r < count; ++r) {
      const auto label = static_cast<std::size_t>(output_of_row(first + r));
      ++result.rows_by_class[label];
      result.wrong_by_class[label] += right[r] ? 0 : 1;
      right_rows += right[r];
      loss += row_loss[r];
    }
  }
  result.accuracy = static_cast<double>(right_rows) / static_cast<double>(total);
  result.loss = loss / static_cast<double>(total);
  result.connections_per_row = static_cast<double>(work.connections) / static_cast<double>(total);
  result.rows_by_exit = std::move(work.rows_by_exit);
  return result;
}

}  // namespace filigree
