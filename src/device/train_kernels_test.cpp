// SPDX-License-Identifier: Apache-2.0
// Tests of the device's operations of training, emulated, against the CPU's references and plain loops.
#include "device/train_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "device/growth_kernels.h"
#include "device/test_emulated.h"
#include "device/test_stream.h"
#include "kernels/activation.h"
#include "kernels/dropout.h"
#include "sparse/pattern.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kStride = 512;  // of whole blocks of 32 and of 128 threads

std::vector<float> random_values(std::size_t count, Random& random) {
  std::vector<float> values(count);
  for (float& v : values) v = random.normal();
  return values;
}

// Connections on both sides.
struct Connections {
  CsrMatrix host;
  DeviceArray<unsigned> begin;
  DeviceArray<std::uint16_t> column;
  DeviceArray<float> value;

  Connections(Index rows, Index cols, double density, std::uint64_t seed, cudaStream_t stream)
      : host(random_csr(rows, cols, density, seed)),
        begin(on_device(std::vector<unsigned>(host.row_begin.begin(), host.row_begin.end()), stream)),
        column(on_device(std::vector<std::uint16_t>(host.column.begin(), host.column.end()), stream)),
        value(on_device(host.value, stream)) {}
  DevicePattern pattern() const { return {begin.data(), column.data(), static_cast<unsigned>(host.rows)}; }
  // visit(row, column, entry)
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (Index r = 0; r < host.rows; ++r)
      for (Offset e = host.row_begin[r]; e < host.row_begin[r + 1]; ++e)
        visit(r, static_cast<std::size_t>(host.column[e]), e);
  }
};

struct Shape {
  Index rows, cols;
  double density;
  unsigned samples;
};
template <typename Threads>
class TrainKernelsTest : public testing::Test {};
using BlockSizes =
    testing::Types<std::integral_constant<unsigned, 32>, std::integral_constant<unsigned, 128>>;
TYPED_TEST_SUITE(TrainKernelsTest, BlockSizes, );

const Shape kShapes[] = {
    {1, 1, 1.0, 1}, {40, 33, 0.3, 130}, {70, 20, 0.05, 512}, {5, 300, 0.8, 37}, {33, 10, 0.0, 5}};

TYPED_TEST(TrainKernelsTest, ProductsAgreeWithPlainLoops) {
  using Kernels = TrainKernels<TypeParam::value>;
  for (const Shape& shape : kShapes) {
    for (const DeviceEpilogue epilogue : {DeviceEpilogue::none, DeviceEpilogue::relu, DeviceEpilogue::gate}) {
      for (const bool biased : {true, false}) {
        if (!full_tests() && biased != (epilogue == DeviceEpilogue::relu)) continue;
        const TestStream s;
        Random random(1);
        const Connections w(shape.rows, shape.cols, shape.density, 2, s.stream);
        const std::size_t rows = shape.rows;
        const auto x = random_values(shape.cols * kStride, random);
        const auto gate = random_values(rows * kStride, random), bias = random_values(rows, random);
        const auto x_d = on_device(x, s.stream), gate_d = on_device(gate, s.stream),
                   bias_d = on_device(bias, s.stream);
        DeviceArray<float> y_d(rows * kStride);
        Kernels::multiply(
            {w.pattern(), w.value.data(), biased ? bias_d.data() : nullptr, epilogue, gate_d.data()},
            {shape.samples, kStride}, x_d.data(), y_d.data(), s.stream);
        const auto y = on_host(y_d, s.stream);
        std::vector<double> expected(rows * kStride), magnitude(rows * kStride, 1e-3);
        for (std::size_t i = 0; i < expected.size(); ++i)
          expected[i] = biased ? double{bias[i / kStride]} : 0.0;
        w.for_each([&](std::size_t r, std::size_t c, std::size_t e) {
          for (std::size_t b = 0; b < shape.samples; ++b) {
            const double product = double{w.host.value[e]} * double{x[c * kStride + b]};
            expected[r * kStride + b] += product;
            magnitude[r * kStride + b] += std::fabs(product);
          }
        });
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t b = 0; b < shape.samples; ++b) {
            const std::size_t at = r * kStride + b;
            if (epilogue == DeviceEpilogue::relu) expected[at] = std::max(expected[at], 0.0);
            if (epilogue == DeviceEpilogue::gate && gate[at] <= 0) expected[at] = 0;
            ASSERT_NEAR(y[at], expected[at], 600 * 1.2e-7 * magnitude[at] + 1e-6) << r << ", " << b;
          }
      }
    }
  }
}

TYPED_TEST(TrainKernelsTest, GradientsAgreeWithPlainLoops) {
  using Kernels = TrainKernels<TypeParam::value>;
  for (const Shape& shape : kShapes) {
    const TestStream s;
    Random random(3);
    const Connections w(shape.rows, shape.cols, shape.density, 4, s.stream);
    const std::size_t rows = shape.rows;
    const auto a = random_values(rows * kStride, random);
    const auto b = random_values(shape.cols * kStride, random);
    const auto before = random_values(w.host.column.size(), random),
               sums_before = random_values(rows, random);
    const auto a_d = on_device(a, s.stream), b_d = on_device(b, s.stream);
    auto gradient_d = on_device(before, s.stream), sums_d = on_device(sums_before, s.stream);
    const DeviceSamples samples{shape.samples, kStride};
    Kernels::add_gradients(w.pattern(), samples, a_d.data(), b_d.data(), gradient_d.data(), s.stream);
    Kernels::add_row_sums(a_d.data(), rows, samples, sums_d.data(), s.stream);
    const auto gradient = on_host(gradient_d, s.stream), sums = on_host(sums_d, s.stream);
    w.for_each([&](std::size_t r, std::size_t c, std::size_t e) {
      double sum = double{before[e]}, magnitude = std::fabs(sum);
      for (std::size_t i = 0; i < shape.samples; ++i) {
        const double product = double{a[r * kStride + i]} * double{b[c * kStride + i]};
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(gradient[e], sum, 100 * 1.2e-7 * magnitude) << e;
    });
    for (std::size_t r = 0; r < rows; ++r) {
      double sum = double{sums_before[r]};
      for (std::size_t i = 0; i < shape.samples; ++i) sum += double{a[r * kStride + i]};
      ASSERT_NEAR(sums[r], sum, 1e-3) << r;
    }
  }
}

// Against row_loss() and row_gradient(), whose own test has the definitions.
template <typename Kernels>
void expect_losses(Loss kind, unsigned outputs, unsigned samples, bool weighted) {
  const TestStream s;
  Random random(5);
  constexpr float kSmoothing = 0.1f;
  auto y = random_values(outputs * kStride, random);
  if (kind == Loss::mse)
    for (float& v : y) v = 1 / (1 + std::exp(-v));
  const bool classes = kind == Loss::cross_entropy || kind == Loss::mse, values = fits(kind, Task::values);
  std::vector<unsigned> label(samples);
  for (unsigned& l : label) l = static_cast<unsigned>(random.below(outputs));
  std::vector<float> target = random_values(outputs * kStride, random), weight(samples);
  if (!values)
    for (float& t : target) t = t > 0 ? 1.0f : 0.0f;
  for (float& w : weight) w = static_cast<float>(random.below(3));
  const auto y_d = on_device(y, s.stream), target_d = on_device(target, s.stream),
             weight_d = on_device(weight, s.stream);
  const auto label_d = on_device(label, s.stream);
  DeviceArray<float> delta_d(y.size()), loss_d(samples), score_d(samples);
  const DeviceTargets targets{classes ? label_d.data() : nullptr, classes ? nullptr : target_d.data(),
                              weighted ? weight_d.data() : nullptr};
  Kernels::start_back({kind, outputs, kSmoothing, 0.25f}, {samples, kStride}, y_d.data(), targets,
                      {delta_d.data(), loss_d.data(), score_d.data()}, s.stream);
  const auto delta = on_host(delta_d, s.stream), loss = on_host(loss_d, s.stream),
             score = on_host(score_d, s.stream);
  for (std::size_t b = 0; b < kStride; ++b) {
    if (b >= samples) {
      for (std::size_t c = 0; c < outputs; ++c) ASSERT_EQ(delta[c * kStride + b], 0.0f);
      continue;
    }
    std::vector<float> out, wanted;
    double right = 0;
    for (std::size_t c = 0; c < outputs; ++c) {
      out.push_back(y[c * kStride + b]);
      const float given = classes ? (c == label[b] ? 1.0f : 0.0f) : target[c * kStride + b];
      const float spread = classes ? kSmoothing / static_cast<float>(outputs) : kSmoothing / 2;
      wanted.push_back(values ? given : spread + (1 - kSmoothing) * given);
      const double error = double{out[c]} - given;
      right += values ? 1 - error * error : (out[c] > 0) == (given > 0.5f) ? 1 : 0;
    }
    std::vector<double> slope(outputs);
    row_gradient(kind, out, wanted, slope);
    const double share = weighted ? weight[b] : 1.0;
    for (std::size_t c = 0; c < outputs; ++c)
      ASSERT_NEAR(delta[c * kStride + b], 0.25 * share * slope[c], 1e-6) << word(kind) << b << ", " << c;
    ASSERT_NEAR(loss[b], share * row_loss(kind, out, wanted), 2e-5);
    const bool best = std::ranges::max_element(out) - out.begin() == static_cast<std::ptrdiff_t>(label[b]);
    // A squared error of 36 at most, in floats.
    ASSERT_NEAR(score[b], classes ? (best ? 1.0 : 0.0) : right / outputs, outputs * 36 * 0x1p-23);
  }
}

TYPED_TEST(TrainKernelsTest, LossesAreTheSlopesOfTheirLosses) {
  for (std::size_t l = 0; l < Words<Loss>::kWords.size(); ++l)
    for (const unsigned samples : {1u, 100u, 512u})
      for (const bool weighted : {false, true})
        expect_losses<TrainKernels<TypeParam::value>>(static_cast<Loss>(l), 5, samples, weighted);
}

TYPED_TEST(TrainKernelsTest, DescentHasTheBitsOfTheCpu) {
  using Kernels = TrainKernels<TypeParam::value>;
  for (const Optimizer optimizer :
       {Optimizer::sgd, Optimizer::nesterov, Optimizer::adam, Optimizer::adamw, Optimizer::lion}) {
    for (const std::size_t count : {1, 129, 5000}) {
      const TestStream s;
      Random random(6);
      auto value = random_values(count, random), first = random_values(count, random), second = first;
      const auto gradient = random_values(count, random);
      for (float& v : second) v *= v;
      auto value_d = on_device(value, s.stream), first_d = on_device(first, s.stream);
      auto second_d = on_device(second, s.stream);
      const auto gradient_d = on_device(gradient, s.stream);
      const DescentRates rates{optimizer, 0.1f, 0.01f, 0.5f, 0.9f, 0.9f, 0.99f, 1e-8f, 2.0f, 3.0f};
      Kernels::descend(rates, count, value_d.data(), gradient_d.data(), first_d.data(), second_d.data(),
                       s.stream);
      descend_reference(rates, {value, gradient, first, second});
      EXPECT_EQ(on_host(value_d, s.stream), value) << word(optimizer);
      if (moments_of(optimizer) > 0) {
        EXPECT_EQ(on_host(first_d, s.stream), first);
      }
    }
  }
}

TYPED_TEST(TrainKernelsTest, DropoutHasTheBitsOfTheCpu) {
  using Kernels = TrainKernels<TypeParam::value>;
  // Panels of 64 samples, the last half empty: 32 samples of the batch each, with key and place.
  constexpr unsigned kNeurons = 7, kPanel = 64;
  const std::vector<std::uint32_t> key{11, 11, 99, 5, 5, 7}, lane{0, 32, 0, 0, 32, 0};
  const std::vector<std::size_t> panel{0, 0, 1, 2, 2, 3};
  const std::size_t stride = 32 * key.size();
  const TestStream s;
  Random random(7);
  const auto x = random_values(kNeurons * stride, random);
  std::vector<std::vector<float>> panels(4, std::vector<float>(kNeurons * kPanel, 0.0f));
  const auto visit = [&](const auto& each) {
    for (std::size_t n = 0; n < kNeurons; ++n)
      for (std::size_t b = 0; b < stride; ++b)
        each(n * stride + b, panels[panel[b / 32]][n * kPanel + lane[b / 32] + b % 32]);
  };
  visit([&](std::size_t at, float& place) { place = x[at]; });
  const std::uint32_t panel_key[] = {11, 99, 5, 7};
  for (std::size_t p = 0; p < 4; ++p)
    drop_out_reference(panel_key[p], 0.3, panels[p].data(), panels[p].size());
  auto x_d = on_device(x, s.stream);
  const auto key_d = on_device(key, s.stream), lane_d = on_device(lane, s.stream);
  Kernels::drop_out({key_d.data(), lane_d.data(), kPanel}, 0.3, x_d.data(), kNeurons, stride, s.stream);
  const auto dropped = on_host(x_d, s.stream);
  visit([&](std::size_t at, float& place) { ASSERT_EQ(dropped[at], place) << at; });
}

TYPED_TEST(TrainKernelsTest, ActivationsAndTheirSlopesAreThoseOfTheReference) {
  using Kernels = TrainKernels<TypeParam::value>;
  for (std::size_t kind = 0; kind < kActivationNames.size(); ++kind) {
    for (const float slope : {0.1f, -0.5f}) {
      const ActivationFunction activation{static_cast<Activation>(kind), kNoCap, slope};
      const TestStream s;
      Random random(8);
      const std::size_t count = 777;
      const auto z = random_values(count, random), before = random_values(count, random);
      auto y_d = on_device(z, s.stream), delta_d = on_device(before, s.stream);
      const auto z_d = on_device(z, s.stream);
      Kernels::activate(activation, y_d.data(), count, s.stream);
      const bool by_sum = activation.derivative_needs_sum();
      auto scaled = on_host(y_d, s.stream);
      for (float& v : scaled) v *= 2;  // as dropout leaves it
      const auto scaled_d = on_device(scaled, s.stream);
      Kernels::multiply_by_derivative(activation, scaled_d.data(), 0.5f, by_sum ? z_d.data() : nullptr,
                                      delta_d.data(), count, s.stream);
      const auto y = on_host(y_d, s.stream), delta = on_host(delta_d, s.stream);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_NEAR(y[i], activation(double{z[i]}), 1e-6);
        const double rise = activation.derivative(double{z[i]});
        if (std::fabs(z[i]) > 1e-4) {
          ASSERT_NEAR(delta[i], rise * double{before[i]}, 1e-5) << kActivationNames[kind];
        }
      }
    }
  }
}

TYPED_TEST(TrainKernelsTest, ValuesAreGatheredAndSquaresSummed) {
  using Kernels = TrainKernels<TypeParam::value>;
  for (const std::size_t count : {1, 100, 20000}) {
    if (!full_tests() && count == 20000) continue;
    const TestStream s;
    Random random(9);
    const auto from = random_values(count, random);
    std::vector<unsigned> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<unsigned>(i * 7919 % count);
    const auto from_d = on_device(from, s.stream);
    const auto order_d = on_device(order, s.stream);
    DeviceArray<float> to_d(count);
    DeviceArray<double> partial_d(kSquareParts);
    Kernels::gather(from_d.data(), order_d.data(), to_d.data(), count, s.stream);
    Kernels::sum_squares(from_d.data(), count, partial_d.data(), s.stream);
    const auto to = on_host(to_d, s.stream);
    double sum = 0, expected = 0;
    for (const double p : on_host(partial_d, s.stream)) sum += p;
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(to[i], from[order[i]]);
      expected += double{from[i]} * double{from[i]};
    }
    EXPECT_NEAR(sum, expected, 1e-12 * expected);
  }
}

TYPED_TEST(TrainKernelsTest, RowsAreLoadedAndScaled) {
  using Kernels = TrainKernels<TypeParam::value>;
  for (const unsigned features : {1u, 33u, 70u}) {
    for (const unsigned samples : {1u, 40u, 512u}) {
      if (!full_tests() && (features == 33) != (samples == 40)) continue;
      for (const int kind : {0, 1, 2, 3}) {  // bytes with one scale, floats with one each, plain, sparse
        const TestStream s;
        Random random(10);
        constexpr unsigned kRows = 50;
        std::vector<std::uint8_t> bytes(kRows * features);
        for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random.below(256));
        auto floats = random_values(kRows * features, random);
        const auto mean = random_values(kind == 0 ? 1 : features, random);
        const auto scale = random_values(kind == 0 ? 1 : features, random);
        std::vector<long long> begin{0};
        std::vector<int> column;
        std::vector<float> value;
        for (unsigned r = 0; r < kRows; ++r) {
          for (unsigned f = 0; f < features; ++f) {
            if (kind == 3 && random.uniform() < 0.7) floats[r * features + f] = 0;
            if (floats[r * features + f] == 0) continue;
            column.push_back(static_cast<int>(f));
            value.push_back(floats[r * features + f]);
          }
          begin.push_back(static_cast<long long>(column.size()));
        }
        std::vector<int> row(samples);
        for (int& r : row) r = static_cast<int>(random.below(kRows));
        const auto bytes_d = on_device(bytes, s.stream);
        const auto floats_d = on_device(floats, s.stream), mean_d = on_device(mean, s.stream),
                   scale_d = on_device(scale, s.stream), value_d = on_device(value, s.stream);
        const auto begin_d = on_device(begin, s.stream);
        const auto column_d = on_device(column, s.stream), row_d = on_device(row, s.stream);
        DeviceRows data;
        if (kind == 0) data.bytes = bytes_d.data();
        if (kind == 1 || kind == 2) data.floats = floats_d.data();
        if (kind < 2) {
          data.mean = mean_d.data();
          data.scale = scale_d.data();
          data.mean_step = data.scale_step = kind;
        }
        if (kind == 3) {
          data.row_begin = begin_d.data();
          data.column = column_d.data();
          data.value = value_d.data();
        }
        DeviceArray<float> x_d(features * kStride);
        if (kind == 3) x_d.set_zero(s.stream);
        Kernels::load_rows(data, features, {samples, kStride}, row_d.data(), x_d.data(), s.stream);
        const auto x = on_host(x_d, s.stream);
        for (std::size_t f = 0; f < features; ++f)
          for (std::size_t b = 0; b < kStride; ++b) {
            float expected = 0;
            if (b < samples) {
              const std::size_t at = static_cast<std::size_t>(row[b]) * features + f;
              expected = kind == 0 ? static_cast<float>(bytes[at]) : floats[at];
              if (kind < 2) expected = (expected - mean[kind == 0 ? 0 : f]) * scale[kind == 0 ? 0 : f];
            }
            ASSERT_EQ(x[f * kStride + b], expected) << f << ", " << b << ", " << kind;
          }
      }
    }
  }
}

TYPED_TEST(TrainKernelsTest, GrowthFindsTheLargestGradientsOfFreePlaces) {
  using Kernels = GrowthKernels<TypeParam::value>;
  for (const Shape& shape : kShapes) {
    for (const bool listed : {false, true}) {
      const TestStream s;
      Random random(11);
      const Connections w(shape.rows, shape.cols, shape.density, 4, s.stream);
      const auto rows = static_cast<std::size_t>(shape.rows), cols = static_cast<std::size_t>(shape.cols);
      auto a = random_values(rows * kStride, random);
      const auto b = random_values(cols * kStride, random);
      for (std::size_t i = 0; i < kStride; ++i) a[i] = 0;  // a row without gradients
      std::vector<unsigned> row_list;
      for (unsigned r = 0; r < rows; r += 2) row_list.push_back(r);
      const auto a_d = on_device(a, s.stream), b_d = on_device(b, s.stream);
      const auto list_d = on_device(row_list, s.stream);
      GrowthSearch search{a_d.data(), b_d.data(), shape.samples, kStride, w.pattern()};
      search.row_list = listed ? list_d.data() : nullptr;
      search.rows = static_cast<unsigned>(listed ? row_list.size() : rows);
      search.columns = static_cast<unsigned>(cols);
      DeviceArray<unsigned> bucket_d(kGrowthBuckets), count_d(1);
      bucket_d.set_zero(s.stream);
      Kernels::count_gradients(search, bucket_d.data(), s.stream);
      const auto bucket = on_host(bucket_d, s.stream);

      std::vector<std::vector<char>> taken(rows, std::vector<char>(cols, 0));
      w.for_each([&](std::size_t r, std::size_t c, std::size_t) { taken[r][c] = 1; });
      std::vector<double> expected;  // magnitudes at free places
      for (std::size_t r = 0; r < rows; r += listed ? 2 : 1)
        for (std::size_t c = 0; c < cols; ++c) {
          double sum = 0;
          for (std::size_t i = 0; i < shape.samples; ++i)
            sum += double{a[r * kStride + i]} * double{b[c * kStride + i]};
          if (!taken[r][c] && sum != 0) expected.push_back(std::fabs(sum));
        }
      std::sort(expected.rbegin(), expected.rend());
      unsigned all = 0, above = 0, least = kGrowthBuckets;
      for (const unsigned n : bucket) all += n;
      ASSERT_EQ(all, expected.size());
      const std::size_t wanted = std::min<std::size_t>(20, all);
      while (above < wanted) above += bucket[--least];
      DeviceArray<PlacedGradient> found_d(above);
      count_d.set_zero(s.stream);
      Kernels::collect_gradients(search, least, found_d.data(), above, count_d.data(), s.stream);
      EXPECT_EQ(on_host(count_d, s.stream)[0], above);
      auto found = on_host(found_d, s.stream);
      std::sort(found.begin(), found.end(), [](const PlacedGradient& x, const PlacedGradient& y) {
        return std::fabs(x.gradient) > std::fabs(y.gradient);
      });
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(std::fabs(found[i].gradient), expected[i], 1e-4);
        ASSERT_FALSE(taken[found[i].row][found[i].column]);
        ASSERT_TRUE(!listed || found[i].row % 2 == 0);
      }
      DeviceArray<double> cost_d(rows);
      Kernels::sum_magnitudes(a_d.data(), static_cast<unsigned>(rows), shape.samples, kStride, cost_d.data(),
                              s.stream);
      const auto cost = on_host(cost_d, s.stream);
      for (std::size_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (std::size_t i = 0; i < shape.samples; ++i) sum += std::fabs(double{a[r * kStride + i]});
        ASSERT_NEAR(cost[r], sum, 1e-12 * sum);
      }
    }
  }
}

}  // namespace
}  // namespace filigree::internal
