// SPDX-License-Identifier: Apache-2.0
// Tests of data made of rows in memory.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/data.h"
#include "sparse/test_errors.h"

namespace filigree::internal {
namespace {

const std::vector<Index> kClasses = {1, 0, 1};

std::vector<float> floats_of(const Data& data) {
  const Buffer<float>& floats = data.impl().dataset.train.floats;
  return {floats.begin(), floats.end()};
}

TEST(MakeData, TakesFloatsOfAnyStrideAndBytes) {
  const std::vector<float> dense = {1, 2, 3, 4, 5, 6}, gaps = {1, 2, -1, 3, 4, -1, 5, 6};
  EXPECT_EQ(floats_of(make_data({Rows(dense, 2), kClasses})), dense);
  EXPECT_EQ(floats_of(make_data({Rows(gaps, 2, 3), kClasses})), dense);
  EXPECT_EQ(floats_of(make_data({Rows(gaps, 2, 3), kClasses}, {.borrow = true})), dense);
  const Data borrowed = make_data({Rows(dense, 2), kClasses}, {.borrow = true});
  EXPECT_EQ(borrowed.impl().dataset.train.floats.data(), dense.data()) << "nothing is copied";
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 4, 5, 255};
  EXPECT_EQ(make_data({Rows(bytes, 2), kClasses}).impl().dataset.train.bytes[5], 255);
}

TEST(MakeData, TakesDoublesAndColumnsOfAnyLayout) {
  const std::vector<double> doubles = {1, 2, 3, 4, 5, 6};
  const std::vector<float> dense = {1, 2, 3, 4, 5, 6}, by_column = {1, 3, 5, 2, 4, 6};
  EXPECT_EQ(floats_of(make_data({Rows(doubles, 2), kClasses})), dense);
  EXPECT_EQ(floats_of(make_data({Rows(by_column, 3, 2, {1, 3}), kClasses}, {.borrow = true})), dense);
  const std::vector<std::uint8_t> bytes = {1, 9, 2, 9, 3, 9};
  const Data every_other = make_data({Rows(bytes, 3, 1, {2, 2}), kClasses});
  const Buffer<std::uint8_t>& taken = every_other.impl().dataset.train.bytes;
  EXPECT_EQ(std::vector<std::uint8_t>(taken.begin(), taken.end()), (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_EQ(make_data({Rows(dense, 3, 2, {0, 1}), kClasses}).train_rows(), 3) << "one row, three times";
  EXPECT_THROW(Rows(dense, 3, 2, {2, 2}), std::invalid_argument) << "the last element is the seventh";
  EXPECT_THROW(Rows(dense, 3, 2, {std::size_t{1} << 63, 1}), std::invalid_argument);
  const std::vector<double> wide = {1, 1e39, 3};
  EXPECT_EQ(error_of([&] {
              (void)make_data({Rows(wide, 1), kClasses});
            }),
            "value 0 of row 1 is 1e+39, which does not fit a float");
}

TEST(MakeData, TakesSparseRows) {
  const std::vector<Offset> begin = {0, 2, 2, 3};
  const std::vector<Index> column = {0, 3, 2};
  const std::vector<float> value = {1, 2, 3};
  const Data data = make_data({Rows(begin, column, value, 4), kClasses});
  EXPECT_TRUE(data.impl().dataset.train.sparse());
  EXPECT_EQ(data.features(), 4);
  const std::vector<Index> falling = {3, 0, 2};
  EXPECT_EQ(error_of([&] {
              (void)make_data({Rows(begin, falling, value, 4), kClasses});
            }),
            "the columns of row 0 do not ascend: 0 after 3");
}

TEST(MakeData, TakesTargetsOfEveryTask) {
  const std::vector<float> rows = {1, 2, 3}, values = {.5f, 1, 2, 3, 4, 5}, labels = {0, 1, 1, 1, 0, 0};
  const Data two = make_data({Rows(rows, 1), {}, values}, {.task = Task::values, .target_names = {"a", "b"}});
  EXPECT_EQ(two.task(), Task::values);
  EXPECT_EQ(two.targets(), 2);
  EXPECT_EQ(two.target_names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(make_data({Rows(rows, 1), {}, labels}, {.task = Task::labels}).targets(), 2);
  EXPECT_EQ(make_data({Rows(rows, 1), kClasses}, {.targets = 5}).classes(), 5) << "as it is said";
  const std::vector<float> weights = {1, 0, 2};
  EXPECT_EQ(make_data({Rows(rows, 1), kClasses, {}, weights}).impl().dataset.train.weight, weights);
  const std::vector<float> other = {7};
  const std::vector<Index> one = {1};
  EXPECT_EQ(make_data({Rows(rows, 1), kClasses}, {.test = LabelledRows{Rows(other, 1), one}}).test_rows(), 1);
}

TEST(MakeData, RefusesWhatDoesNotFit) {
  const std::vector<float> rows = {1, 2, 3}, two = {1, 2}, odd = {1, NAN, 2};
  const std::vector<Index> few = {0, 1}, negative = {0, -1, 1}, high = {0, 3, 1};
  EXPECT_THROW((void)make_data({Rows(rows, 1), few}), std::invalid_argument);
  EXPECT_THROW((void)make_data({Rows(rows, 1)}), std::invalid_argument) << "nothing is said of the rows";
  EXPECT_THROW((void)make_data({Rows(rows, 1), {}, two}, {.task = Task::values, .targets = 1}),
               std::invalid_argument);
  EXPECT_THROW((void)make_data({Rows(rows, 1), kClasses}, {.target_names = {"a"}}), std::invalid_argument);
  const LabelledRows wide{Rows(two, 2), {few.data(), 1}};
  EXPECT_THROW((void)make_data({Rows(rows, 1), kClasses}, {.test = wide}), std::invalid_argument);
  EXPECT_THROW((void)make_data({Rows(rows, 1), kClasses}, {.validation = wide}), std::invalid_argument);
  EXPECT_NE(error_of([&] { (void)make_data({Rows(rows, 1), negative}); }), "");
  EXPECT_EQ(error_of([&] {
              (void)make_data({Rows(rows, 1), high}, {.targets = 3});
            }),
            "label of row 1 is 3, but labels are 0, 1, … up to 2");
  EXPECT_EQ(error_of([&] { (void)make_data({Rows(odd, 1), kClasses}); }), "feature 0 of row 1 is nan");
  EXPECT_EQ(error_of([&] {
              (void)make_data({Rows(rows, 1), {}, odd}, {.task = Task::values});
            }),
            "target 0 of row 1 is nan");
  EXPECT_EQ(error_of([&] {
              (void)make_data({Rows(rows, 1), {}, rows}, {.task = Task::labels});
            }),
            "target 0 of row 1 is 2, but a label is 0 or 1");
  EXPECT_EQ(error_of([&] {
              (void)make_data({Rows(rows, 1), kClasses, {}, odd});
            }),
            "the weight of row 1 is nan, but a weight is 0 or more");
}

}  // namespace
}  // namespace filigree::internal
