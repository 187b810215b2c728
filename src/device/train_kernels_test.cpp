// Tests of the device's operations of training, emulated, against the CPU's references and plain loops.
#include "device/train_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "device/test_stream.h"
#include "kernels/dropout.h"
#include "sparse/pattern.h"
#include "sparse/test_matrices.h"

namespace filigree {
namespace {

constexpr std::size_t kStride = std::size_t{kDeviceThreads} * kRowsPerThread;

std::vector<float> random_values(std::size_t count, Random& random) {
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(random.normal());
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
    for (std::size_t r = 0; r < static_cast<std::size_t>(host.rows); ++r)
      for (auto e = static_cast<std::size_t>(host.row_begin[r]);
           e < static_cast<std::size_t>(host.row_begin[r + 1]); ++e)
        visit(r, static_cast<std::size_t>(host.column[e]), e);
  }
};

struct Shape {
  Index rows, cols;
  double density;
  unsigned samples;
};
const Shape kShapes[] = {
    {1, 1, 1.0, 1}, {40, 33, 0.3, 130}, {70, 20, 0.05, 512}, {5, 300, 0.8, 37}, {33, 10, 0.0, 5}};

TEST(DeviceMultiply, AgreesWithPlainLoops) {
  for (const Shape& shape : kShapes) {
    for (const DeviceEpilogue epilogue : {DeviceEpilogue::none, DeviceEpilogue::relu, DeviceEpilogue::gate}) {
      for (const bool biased : {true, false}) {
        const TestStream s;
        Random random(1);
        const Connections w(shape.rows, shape.cols, shape.density, 2, s.stream);
        const auto rows = static_cast<std::size_t>(shape.rows);
        const auto x = random_values(static_cast<std::size_t>(shape.cols) * kStride, random);
        const auto gate = random_values(rows * kStride, random), bias = random_values(rows, random);
        const auto x_d = on_device(x, s.stream), gate_d = on_device(gate, s.stream),
                   bias_d = on_device(bias, s.stream);
        DeviceArray<float> y_d(rows * kStride);
        multiply(w.pattern(), w.value.data(), biased ? bias_d.data() : nullptr, epilogue, gate_d.data(),
                 x_d.data(), y_d.data(), shape.samples, kStride, s.stream);
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

TEST(DeviceGradients, AgreeWithPlainLoops) {
  for (const Shape& shape : kShapes) {
    const TestStream s;
    Random random(3);
    const Connections w(shape.rows, shape.cols, shape.density, 4, s.stream);
    const auto rows = static_cast<std::size_t>(shape.rows);
    const auto a = random_values(rows * kStride, random);
    const auto b = random_values(static_cast<std::size_t>(shape.cols) * kStride, random);
    const auto before = random_values(w.host.column.size(), random),
               sums_before = random_values(rows, random);
    const auto a_d = on_device(a, s.stream), b_d = on_device(b, s.stream);
    auto gradient_d = on_device(before, s.stream), sums_d = on_device(sums_before, s.stream);
    add_gradients(w.pattern(), a_d.data(), b_d.data(), shape.samples, kStride, gradient_d.data(), s.stream);
    add_row_sums(a_d.data(), static_cast<unsigned>(rows), shape.samples, kStride, sums_d.data(), s.stream);
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

TEST(DeviceLosses, AreTheSlopesOfTheirLosses) {
  for (const Loss kind : {Loss::cross_entropy, Loss::mse}) {
    for (const unsigned samples : {1u, 100u, 512u}) {
      const TestStream s;
      Random random(5);
      constexpr unsigned kClasses = 5;
      auto y = random_values(kClasses * kStride, random);
      if (kind == Loss::mse)
        for (float& v : y) v = 1 / (1 + std::exp(-v));
      std::vector<unsigned> label(samples);
      for (unsigned& l : label) l = static_cast<unsigned>(random.below(kClasses));
      const auto y_d = on_device(y, s.stream);
      const auto label_d = on_device(label, s.stream);
      DeviceArray<float> delta_d(y.size()), loss_d(samples);
      DeviceArray<unsigned> correct_d(samples);
      start_back({kind, kClasses, 0.1f, 0.25f}, y_d.data(), label_d.data(), samples, kStride, delta_d.data(),
                 loss_d.data(), correct_d.data(), s.stream);
      const auto delta = on_host(delta_d, s.stream), loss = on_host(loss_d, s.stream);
      const auto correct = on_host(correct_d, s.stream);
      for (std::size_t b = 0; b < kStride; ++b) {
        if (b >= samples) {
          for (std::size_t c = 0; c < kClasses; ++c) ASSERT_EQ(delta[c * kStride + b], 0.0f);
          continue;
        }
        double powers = 0, expected = 0;
        std::size_t best = 0;
        for (std::size_t c = 0; c < kClasses; ++c) {
          powers += std::exp(double{y[c * kStride + b]});
          if (y[c * kStride + b] > y[best * kStride + b]) best = c;
        }
        for (std::size_t c = 0; c < kClasses; ++c) {
          const double out = double{y[c * kStride + b]}, target = 0.02 + (c == label[b] ? 0.9 : 0.0);
          const bool entropy = kind == Loss::cross_entropy;
          expected += entropy ? target * (std::log(powers) - out) : 0.5 * (out - target) * (out - target);
          const double slope = entropy ? std::exp(out) / powers - target : (out - target) * out * (1 - out);
          ASSERT_NEAR(delta[c * kStride + b], 0.25 * slope, 1e-6) << b << ", " << c;
        }
        ASSERT_NEAR(loss[b], expected, 1e-5);
        ASSERT_EQ(correct[b], best == label[b] ? 1u : 0u);
      }
    }
  }
}

TEST(DeviceDescent, HasTheBitsOfTheCpu) {
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::nesterov, Optimizer::adam, Optimizer::adamw}) {
    for (const std::size_t count : {1, 129, 5000}) {
      const TestStream s;
      Random random(6);
      auto value = random_values(count, random), first = random_values(count, random), second = first;
      const auto gradient = random_values(count, random);
      for (float& v : second) v *= v;
      auto value_d = on_device(value, s.stream), first_d = on_device(first, s.stream);
      auto second_d = on_device(second, s.stream);
      const auto gradient_d = on_device(gradient, s.stream);
      const DescentRates rates{0.1f, 0.01f, 0.5f, 0.9f, 0.9f, 0.99f, 1e-8f, 2.0f, 3.0f};
      descend(optimizer, rates, count, value_d.data(), gradient_d.data(), first_d.data(), second_d.data(),
              s.stream);
      descend_reference(optimizer, rates, {value, gradient, first, second});
      EXPECT_EQ(on_host(value_d, s.stream), value) << word(optimizer);
      if (optimizer != Optimizer::sgd) {
        EXPECT_EQ(on_host(first_d, s.stream), first);
      }
    }
  }
}

TEST(DeviceDropout, HasTheBitsOfTheCpu) {
  for (const std::size_t count : {32, 4096, 96000}) {
    const TestStream s;
    Random random(7);
    auto x = random_values(count, random);
    auto x_d = on_device(x, s.stream);
    drop_out(1234567u, 0.3, x_d.data(), count, s.stream);
    drop_out_reference(1234567u, 0.3, x.data(), count);
    EXPECT_EQ(on_host(x_d, s.stream), x);
  }
}

}  // namespace
}  // namespace filigree
