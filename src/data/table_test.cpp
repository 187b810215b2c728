// SPDX-License-Identifier: Apache-2.0
// Tests of tables with text, gaps and targets of every kind.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "data/dataset.h"
#include "data/split.h"
#include "data/table_columns.h"
#include "io/test_files.h"

namespace filigree::internal {
namespace {

class Tables : public testing::Test {
 protected:
  DataOptions options_{.test_share = 0};
  std::vector<std::string> warnings_;

  Dataset load(std::string_view text, const std::string& label = "y") {
    options_.source = "csv:" + put_file(directory_ / "t.csv", text).string();
    options_.label_column = label;
    warnings_.clear();
    Observer observer;
    observer.warning = [&](const std::string& warning) { warnings_.push_back(warning); };
    return load_dataset(options_, observer);
  }
  std::string refusal(std::string_view text, const std::string& label = "y") {
    const std::string message = error_of([&] { load(text, label); });
    const std::string file = (directory_ / "t.csv").string();
    return message.starts_with(file) ? message.substr(file.size()) : message;
  }

 private:
  TestDirectory directory_;
};

std::vector<float> floats(const DataRows& rows) {
  if (!rows.bytes.empty()) return {rows.bytes.begin(), rows.bytes.end()};
  return {rows.floats.begin(), rows.floats.end()};
}

TEST_F(Tables, WholeNumbersUpTo255AreBytesAndScaleAsFloatsDo) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 50; ++i) text += fmt::format("{},{},{}\n", i * 7 % 256, i % 3, i % 2);
  const Dataset set = load(text);
  ASSERT_EQ(set.train.bytes.size(), 100u);
  EXPECT_FALSE(set.train.pixels);
  EXPECT_EQ(set.train.bytes[2], 7);
  DataRows same;
  same.rows = 50;
  same.features = 2;
  same.floats = buffer_of(floats(set.train));
  std::vector<Index> rows(50);
  std::iota(rows.begin(), rows.end(), 0);
  for (const Scaling kind : {Scaling::standard, Scaling::unit})
    EXPECT_EQ(input_scaling(kind, set.train, rows), input_scaling(kind, same, rows));
  EXPECT_EQ(hash_of_rows(set.train), hash_of_rows(same)) << "a model knows its rows, whatever holds them";
  for (const char* const other : {"256", "1.5", "-1", "-0.0"})
    EXPECT_TRUE(load(text + other + ",1,0\n").train.bytes.empty()) << other;
}

TEST_F(Tables, ClassesOfASingleRowAreNamed) {
  std::string text = "a,y\n1,rare\n";
  for (int i = 0; i < 30; ++i) text += fmt::format("{},{}\n", i * 7 % 11, i % 2 == 0 ? "x" : "y");
  load(text);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(warnings_[0], "t.csv: 1 of 3 classes has a single row to train on, such as \"rare\"");
  load(text + "2,rare\n");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(Tables, RowsBeyondTheMemoryLimitAreTheSameOnDisk) {
  std::string text = "a,word,y\n", many = "a,b,c,d,word,y\n";
  for (int i = 0; i < 5000; ++i) {
    const int x = i * 7 % 1000;
    text += fmt::format("{}.25,w{},{}\n", x, i % 5, i % 2);
    many += fmt::format("{}.25,{},{},{},w{},{}\n", x, x + 1, x + 2, x + 3, i % 500, i % 2);
  }
  for (const std::string& table : {text, many})
    for (const double share : {0.0, 0.25}) {
      options_.test_share = share;
      options_.memory_limit = 0;
      const Dataset in_memory = load(table);
      EXPECT_FALSE(in_memory.train.on_disk());
      EXPECT_TRUE(warnings_.empty());
      options_.memory_limit = 400'000;
      const Dataset on_disk = load(table);
      ASSERT_EQ(warnings_.size(), 1u);
      EXPECT_NE(warnings_[0].find("bytes and are kept in"), std::string::npos) << warnings_[0];
      for (const auto part : {&Dataset::train, &Dataset::test}) {
        const DataRows &one = in_memory.*part, &other = on_disk.*part;
        EXPECT_EQ(other.on_disk(), other.feature_bytes() > 100'000) << other.feature_bytes();
        EXPECT_EQ(one.floats, other.floats);
        EXPECT_EQ(one.row_begin, other.row_begin);
        EXPECT_EQ(one.column, other.column);
        EXPECT_EQ(one.value, other.value);
        EXPECT_EQ(one.label, other.label);
      }
      EXPECT_EQ(in_memory.origin, on_disk.origin);
    }
  options_.memory_limit = 50'000;
  const std::string message = refusal(text);
  EXPECT_NE(message.find("bytes besides their numbers, but the memory limit is 50000"), std::string::npos)
      << message;
}

TEST_F(Tables, TextBecomesAnInputForEachWordAndOneForTheRest) {
  const Dataset set = load("colour,size,y\nred,1,0\nblue,2,1\nred,3,0\ngreen,4,1\nblue,5,0\n");
  EXPECT_EQ(set.feature_names,
            (std::vector<std::string>{"colour=blue", "colour=red", "colour=(other)", "size"}));
  EXPECT_EQ(floats(set.train),
            (std::vector<float>{0, 1, 0, 1, 1, 0, 0, 2, 0, 1, 0, 3, 0, 0, 1, 4, 1, 0, 0, 5}));
  ASSERT_EQ(set.columns.size(), 2u);
  EXPECT_EQ(set.columns[0].categories, (std::vector<std::string>{"blue", "red"})) << "green is rare";
  EXPECT_EQ(set.indicators, (std::vector<char>{1, 1, 1, 0}));
  const InputScaling scaling =
      input_scaling(Scaling::standard, set.train, std::vector<Index>{0, 1, 2, 3, 4}, set.indicators);
  EXPECT_EQ(scaling.mean, (std::vector<float>{0, 0, 0, 3})) << "words are not scaled";
  EXPECT_EQ(scaling.scale[0], 1);
  EXPECT_FLOAT_EQ(scaling.scale[3], static_cast<float>(1 / std::sqrt(2.0)));
}

TEST_F(Tables, ManyWordsStaySparseAndScaleTheSame) {
  std::string text = "word,size,y\n";
  for (int i = 0; i < 600; ++i) text += fmt::format("w{},{},{}\n", i % 200, i, i % 2);
  const Dataset set = load(text);
  ASSERT_TRUE(set.train.sparse());
  EXPECT_EQ(set.train.features, 202);
  EXPECT_EQ(set.train.column.size(), 1200u) << "two entries a row";
  std::vector<Index> rows;
  for (Index r = 0; r < 600; ++r) rows.push_back(r);
  const InputScaling scaling = input_scaling(Scaling::standard, set.train, rows, set.indicators);
  EXPECT_FLOAT_EQ(scaling.mean[201], 299.5f);
  EXPECT_EQ(scaling.mean[0], 0);
  EXPECT_EQ(scaling.scale[0], 1);
}

TEST_F(Tables, GapsAreFilledAsAsked) {
  const char* const text = "a,b,y\n1,5,0\n,6,1\n2,7,0\nNA,8,1\n9,9,1\n";
  EXPECT_EQ(floats(load(text).train), (std::vector<float>{1, 5, 4, 6, 2, 7, 4, 8, 9, 9})) << "the mean";
  options_.table.missing = Missing::median;
  EXPECT_EQ(floats(load(text).train)[2], 2);
  options_.table.missing = Missing::constant;
  options_.table.missing_value = -1;
  options_.table.mark_missing = true;
  const Dataset set = load(text);
  EXPECT_EQ(floats(set.train), (std::vector<float>{1, 0, 5, -1, 1, 6, 2, 0, 7, -1, 1, 8, 9, 0, 9}));
  EXPECT_EQ(set.feature_names, (std::vector<std::string>{"a", "a is missing", "b"}));
  EXPECT_EQ(set.indicators, (std::vector<char>{0, 1, 0}));
  options_.table.missing = Missing::refuse;
  EXPECT_EQ(refusal(text), ":3: column 1 (\"a\") is missing");
}

TEST_F(Tables, ATableWithWordsOrGapsKnowsWhatFillsEveryColumn) {
  for (const char* const text : {"a,word,y\n1,red,0\n2,red,1\n6,blue,0\n", "a,b,y\n1,1,0\n2,,1\n6,2,0\n"})
    EXPECT_EQ(load(text).columns[0].fill, 3) << text;
  EXPECT_TRUE(load("a,b,y\n1,1,0\n2,3,1\n6,2,0\n").columns.empty()) << "numbers alone need no recipe";
  options_.table.missing = Missing::refuse;
  EXPECT_TRUE(std::isnan(load("a,word,y\n1,red,0\n2,red,1\n6,blue,0\n").columns[0].fill));
}

TEST_F(Tables, FillsAreOfTheTrainingRowsAlone) {
  std::string text = "a,y\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("{},{}\n", i % 4 == 0 ? "" : std::to_string(i), i % 2);
  options_.test_share = 0.5;
  const Dataset set = load(text);
  double sum = 0, count = 0;
  for (const float value : set.train.floats)
    if (value == std::floor(value) && static_cast<int>(value) % 4 != 0) sum += value, ++count;
  EXPECT_NEAR(set.columns[0].fill, sum / count, 1e-4);
}

TEST_F(Tables, TasksFollowFromTheTargets) {
  EXPECT_EQ(load("x,y\n1,a\n2,b\n").target_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(load("x,y\n1,-1\n2,10\n3,2\n").target_names, (std::vector<std::string>{"-1", "2", "10"}));
  EXPECT_TRUE(load("x,y\n1,1\n2,0\n").target_names.empty()) << "0 and 1 need no names";
  EXPECT_EQ(load("x,y\n1,True\n2,False\n").target_names, (std::vector<std::string>{"False", "True"}));
  const Dataset values = load("x,y\n1,0.5\n2,1.5\n");
  EXPECT_EQ(values.task, Task::values);
  EXPECT_EQ(values.target_names, std::vector<std::string>{"y"});
  EXPECT_EQ(values.train.target, (std::vector<float>{0.5f, 1.5f}));
  const Dataset labels = load("tag_a,tag_b,x\n0,1,5\n1,1,6\n", "tag_*");
  EXPECT_EQ(labels.task, Task::labels);
  EXPECT_EQ(labels.targets, 2);
  EXPECT_EQ(labels.train.target, (std::vector<float>{0, 1, 1, 1}));
  EXPECT_EQ(load("a,b,x\n0.5,1,5\n1,1,6\n", "a,b").task, Task::values);
  EXPECT_EQ(load("a,b,x\nyes,no,5\nno,no,6\n", "1,2").train.target, (std::vector<float>{1, 0, 0, 0}));
  options_.task = Task::values;
  EXPECT_EQ(load("x,y\n1,1\n2,0\n").task, Task::values) << "as asked for";
  EXPECT_EQ(refusal("x,y\n1,1\n2,a\n"), ":3: column 2 (\"y\") is \"a\", which is not a number to be learned");
  options_.task = Task::classes;
  EXPECT_EQ(load("x,y\n1,0.5\n2,1.5\n").target_names, (std::vector<std::string>{"0.5", "1.5"}));
  options_.task = Task::labels;
  EXPECT_EQ(refusal("x,y\n1,1\n2,3\n"),
            ":3: column 2 (\"y\") is \"3\", but a label holds or not: 1 or 0, yes or no");
}

TEST_F(Tables, ManyWholeNumbersAreValuesUnlessTheyCountTheRows) {
  std::string prices, ids;
  for (int i = 0; i < 100; ++i)
    prices += fmt::format("{},{}\n", 1000 + i * i, i % 3), ids += fmt::format("{},0\n", i);
  EXPECT_EQ(load(prices, "1").task, Task::values);
  EXPECT_THAT(refusal(prices, ""),
              testing::HasSubstr("column 1 holds 100 different whole numbers in 100 rows"))
      << "nobody said that the first column is it";
  EXPECT_THAT(refusal(ids, "1"), testing::HasSubstr("do they count the rows?"));
}

TEST_F(Tables, WhatIsSuspiciousIsNamed) {
  std::string text = "id,same,name,x,y\n";
  for (int i = 0; i < 50; ++i) text += fmt::format("{},7,n{},{},{}\n", i, i, (i * 7) % 11, i % 2);
  const Dataset set = load(text);
  EXPECT_EQ(set.feature_names, (std::vector<std::string>{"id", "same", "x"})) << "names of rows are left out";
  ASSERT_EQ(warnings_.size(), 3u);
  EXPECT_THAT(warnings_[0], testing::HasSubstr("column 1 (\"id\") counts the rows"));
  EXPECT_THAT(warnings_[1], testing::HasSubstr("column 2 (\"same\") is 7 in all 50 training rows"));
  EXPECT_THAT(warnings_[2], testing::HasSubstr("column 3 (\"name\") is left out: it has 50 different texts"));
}

TEST_F(Tables, ColumnsAreChosenByNameNumberAndPattern) {
  options_.table.drop_columns = "b*,4";
  options_.table.text_columns = "z";
  const Dataset set = load("a,b1,b2,c,z,y\n1,2,3,4,5,0\n2,3,4,5,5,1\n");
  EXPECT_EQ(set.feature_names, (std::vector<std::string>{"a", "z=5", "z=(other)"}));
  options_.table = {.drop_columns = "y"};
  EXPECT_EQ(refusal("x,y\n1,0\n"), ":1: column 2 (\"y\") is the label, and to be left out");
  options_.table = {.drop_columns = "x"};
  EXPECT_EQ(refusal("x,y\n1,0\n"), ":1: no column is left to learn from");
  options_.table = {.drop_columns = "q*"};
  EXPECT_EQ(refusal("x,y\n1,0\n"), ":1: no column is called \"q*\"; the header begins \"x,y\"");
  options_.table = {};
  EXPECT_EQ(refusal("x,y\n1,0\n", "9"), ":1: 2 columns, but the label is to be column 9");
  EXPECT_EQ(refusal("x,y\n1,0\n", "0"), "label column 0, but columns are counted from 1");
  EXPECT_EQ(refusal("1,0\n2,1\n", "class"),
            ":1: no header, so there is no column \"class\" to take the label from");
  EXPECT_EQ(refusal("a,b,a\n1,2,3\n", "a"), ":1: 2 columns are called \"a\"");
}

TEST_F(Tables, WeightsAreRead) {
  options_.table.weight_column = "w";
  EXPECT_EQ(load("x,w,y\n1,2,0\n2,0.5,1\n").train.weight, (std::vector<float>{2, 0.5f}));
  EXPECT_EQ(refusal("x,w,y\n1,2,0\n2,-1,1\n"), ":3: column 2 (\"w\") is -1, but a weight is 0 or more");
  EXPECT_EQ(refusal("x,w,y\n1,2,0\n2,,1\n"), ":3: column 2 (\"w\") is missing, but a weight is 0 or more");
  EXPECT_EQ(refusal("x,w,y\n1,0,0\n2,0,1\n"), ": column 2 (\"w\") is 0 in all rows");
}

TEST_F(Tables, MissingAndMixedTargetsAreRefused) {
  EXPECT_EQ(refusal("x,y\n1,0\n2,\n3,1\n"),
            ":3: column 2 (\"y\") is missing, but it is what there is to learn; 1 of 3 rows lack it");
  EXPECT_EQ(
      refusal("x,y\n1,0\n2,1\n3,o\n"),
      ":4: \"o\" in column 2 (\"y\") is not a number, as 2 others of this column are; the task classes takes "
      "each as a class");
  EXPECT_EQ(refusal("x,y\n,0\n,1\n"), ": no column is left to learn from");
}

TEST_F(Tables, AnotherTableIsReadAsTheNetworkKnowsIt) {
  const Dataset first = load("colour,size,y\nred,1,no\nblue,2,yes\nred,,no\nblue,5,yes\n");
  const KnownTable known{{first.columns, true, first.target_columns}, first.task, first.target_names};
  EXPECT_EQ(first.target_columns, std::vector<std::string>{"y"});
  const auto read = [&](std::string_view text, const std::string& label = "") {
    load("x,y\n1,0\n2,1\n");  // for the file's name
    put_file(options_.source.substr(4), text);
    options_.label_column = label;
    return load_dataset_for(known, options_, {});
  };
  const Dataset other = read("y,note,size,colour\nyes,a,,green\nyes,b,3,red\n");
  EXPECT_EQ(floats(other.train), (std::vector<float>{0, 0, 1, first.columns[1].fill, 0, 1, 0, 3}));
  EXPECT_EQ(other.train.label, (std::vector<Index>{1, 1})) << "as the network numbers its classes";
  EXPECT_THAT(error_of([&] { read("y,size,colour\nperhaps,1,red\nno,2,red\n"); }),
              testing::HasSubstr(":2: label \"perhaps\", which the network does not know; it knows no, yes"));
  EXPECT_THAT(error_of([&] { read("y,colour\nno,red\n"); }),
              testing::HasSubstr("no column is called \"size\", which the network was trained on"));
  EXPECT_THAT(error_of([&] { read("size,colour\n1,red\n"); }),
              testing::HasSubstr("no column is called \"y\", which the network was trained to tell"));
  EXPECT_EQ(read("answer,size,colour\nno,1,red\nyes,2,red\n", "answer").train.label,
            (std::vector<Index>{0, 1}));
}

}  // namespace
}  // namespace filigree::internal
