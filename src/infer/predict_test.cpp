// SPDX-License-Identifier: Apache-2.0
// Tests of predictions: tables of inputs from files, what networks say about them, files of that.
#include "filigree/predict.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "filigree/plan.h"
#include "io/idx.h"
#include "io/npy.h"
#include "io/test_files.h"
#include "network/layer_source.h"
#include "network/network.h"

namespace filigree::internal {
namespace {

// y0 = x0 - x1, y1 = x1, y2 = 0.
Plan small(std::optional<Loss> loss) {
  return compile(make_network({{2, 3, {0, 2, 3, 3}, {0, 1, 1}, {1, -1, 1}, {0, 0, 0}, Activation::identity}},
                              {.loss = loss}));
}

InputTable floats_of(Index columns, std::vector<float> values) {
  const auto rows = static_cast<Index>(values.size()) / columns;
  return {rows, columns, {}, std::move(values)};
}

// A network that takes rows of so many values.
Network taking(Index inputs, std::vector<std::string> names = {}) {
  return make_network({{inputs, 1, {0, 1}, {0}, {1}, {0}, Activation::identity}},
                      {.input_names = std::move(names)});
}

TEST(ReadInputs, TellsTheFormatsApartByWhatTheyHold) {
  const TestDirectory dir;
  write_idx(dir / "i", {{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}});
  write_idx(dir / "packed.gz", {{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}});
  for (const char* name : {"i", "packed.gz", "packed"}) {
    const InputTable table = read_inputs(taking(4), dir / name);
    EXPECT_EQ(table.rows, 2);
    EXPECT_EQ(table.columns, 4);
    EXPECT_EQ(table.bytes, (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_TRUE(table.floats.empty());
  }
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  write_npy(dir / "n", values, 3);
  EXPECT_EQ(read_inputs(taking(3), dir / "n").columns, 3);
  EXPECT_EQ(read_inputs(taking(3), dir / "n").floats, values);
  put_file(dir / "c", "1,2,3\n4,5,6\n");
  EXPECT_EQ(read_inputs(taking(3), dir / "c").rows, 2);
  EXPECT_EQ(read_inputs(taking(3), dir / "c").floats, values);
  put_file(dir / "header", "a,b,c\r\n1,2,3\r\n4,5,6");
  EXPECT_EQ(read_inputs(taking(3), dir / "header").floats, values);
  put_file(dir / "column", "7\n8\n");
  EXPECT_EQ(read_inputs(taking(1), dir / "column").columns, 1);
}

TEST(ReadInputs, ReadsAPipeOnce) {
  const TestDirectory dir;
  const std::string pipe = (dir / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string text;
  for (int r = 0; r < 30000; ++r) text += "1,2,3\n";  // more than a pipe or the first step holds
  std::thread writer([&] { std::ofstream(pipe) << text; });
  const InputTable table = read_inputs(taking(3), pipe);
  writer.join();
  EXPECT_EQ(table.rows, 30000);
  EXPECT_EQ(table.columns, 3);
}

TEST(ReadInputs, RefusesWhatIsNoTable) {
  const TestDirectory dir;
  const auto refusal = [&](const char* name) {
    return error_of([&] { (void)read_inputs(taking(2), dir / name); });
  };
  EXPECT_NE(refusal("none").find("none"), std::string::npos);
  write_idx(dir / "labels", {{3}, {1, 2, 3}});
  EXPECT_EQ(refusal("labels"),
            (dir / "labels").string() + ": one dimension, but rows and columns are needed");
  write_idx(dir / "empty", {{0, 3}, {}});
  EXPECT_EQ(refusal("empty"), (dir / "empty").string() + ": no values");
  put_file(dir / "words", "a,b\n1,x\n");
  EXPECT_NE(refusal("words").find("words:2"), std::string::npos);
  put_file(dir / "nothing", "");
  EXPECT_NE(refusal("nothing"), "");
  std::filesystem::create_directory(dir / "directory");
  EXPECT_NE(refusal("directory"), "");
}

TEST(Predict, GivesSoftmaxSigmoidOrRawOutputsByTheLoss) {
  const InputTable inputs = floats_of(2, {3, 1, 0, 5});
  const Predictions raw = predict(small({}), inputs);
  EXPECT_FALSE(raw.probabilities);
  EXPECT_EQ(raw.values, (std::vector<float>{2, 1, 0, -5, 5, 0}));
  EXPECT_EQ(raw.best, (std::vector<Index>{0, 1}));
  EXPECT_EQ(predict(small(Loss::cross_entropy), inputs, {.raw = true}).values, raw.values);
  const Predictions mse = predict(small(Loss::mse), inputs);
  EXPECT_TRUE(mse.probabilities);
  EXPECT_EQ(mse.values, raw.values);
  const Predictions shares = predict(small(Loss::cross_entropy), inputs);
  EXPECT_TRUE(shares.probabilities);
  EXPECT_EQ(shares.best, raw.best);
  const double sum = std::exp(2) + std::exp(1) + 1;
  EXPECT_FLOAT_EQ(shares.values[0], static_cast<float>(std::exp(2) / sum));
  EXPECT_FLOAT_EQ(shares.values[2], static_cast<float>(1 / sum));
  EXPECT_NEAR(shares.values[3] + shares.values[4] + shares.values[5], 1, 1e-6);
}

TEST(Predict, RefusesOutputsThatAreNotFiniteUnlessAsked) {
  const Plan plan = compile(make_network({{1, 1, {0, 1}, {0}, {3e38f}, {0}, Activation::identity}}));
  const InputTable inputs{.rows = 1, .columns = 1, .bytes = {}, .floats = {10}};
  EXPECT_THAT(error_of([&] { (void)predict(plan, inputs); }), testing::HasSubstr("output 0 of row 1 is inf"));
  EXPECT_TRUE(std::isinf(predict(plan, inputs, {.any_value = true}).values[0]));
}

TEST(ReadInputs, FindsColumnsByNameAndFillsSparseRows) {
  const TestDirectory dir;
  const Network named = taking(2, {"a", "b"});
  const auto read = [&](const char* text) { return read_inputs(named, put_file(dir / "f", text)).floats; };
  EXPECT_EQ(read("b,id,a\n5,7,9\n"), (std::vector<float>{9, 5}));
  EXPECT_EQ(read("b,id,a\n5,some words,9\n"), (std::vector<float>{9, 5})) << "others are not looked at";
  EXPECT_EQ(read("1,2\n"), (std::vector<float>{1, 2})) << "without names, as they stand";
  EXPECT_EQ(read("1 1:4\n"), (std::vector<float>{4, 0})) << "columns after a sparse file's last are zero";
  EXPECT_THAT(error_of([&] { read("b,c\n5,7\n"); }),
              testing::HasSubstr("no column is called \"a\", which the network was trained on"));
  EXPECT_THAT(error_of([&] { read("4\n"); }), testing::HasSubstr("rows of 1 values, but the network has 2"));
  EXPECT_THAT(error_of([&] { read("1,2,3\n"); }), testing::HasSubstr("is one of them the label"));
  EXPECT_THAT(error_of([&] { read("a,b\n1,\n"); }),
              testing::HasSubstr("f:2: column 2 (\"b\") is missing, but in training it never was"));
  EXPECT_EQ(read_inputs(named, put_file(dir / "g", "7,1,2\n"), {.leave_out = "1"}).floats,
            (std::vector<float>{1, 2}));
}

TEST(ReadInputs, MakesInputsOfWordsAndGapsAsTheNetworkKnowsThem) {
  const TestDirectory dir;
  InputColumn age, colour;
  age.name = "age", age.fill = 40, age.marks_missing = true;
  colour.name = "colour", colour.text = true, colour.categories = {"blue", "red"};
  const Network network =
      make_network({{5, 1, {0, 1}, {0}, {1}, {0}, Activation::identity}},
                   {.input_names = {"age", "age is missing", "colour=blue", "colour=red", "colour=(other)"},
                    .columns = {age, colour}});
  const InputTable table =
      read_inputs(network, put_file(dir / "f", "colour;age\nred;30\ngreen;\n;50\nblue;NA\n"));
  EXPECT_EQ(table.floats, (std::vector<float>{30, 0, 0, 1, 0,  //
                                              40, 1, 0, 0, 1,  // a colour that training never saw, no age
                                              50, 0, 0, 0, 1,  //
                                              40, 1, 1, 0, 0}));
  save(network, dir / "m.safetensors");
  EXPECT_EQ(load(dir / "m.safetensors").facts(), network.facts());
}

TEST(Predict, TakesBytesAsItTakesFloats) {
  const InputTable bytes{2, 2, {3, 1, 0, 5}, {}};
  EXPECT_EQ(predict(small({}), bytes).values, predict(small({}), floats_of(2, {3, 1, 0, 5})).values);
}

TEST(Predict, RefusesTablesThatDoNotFit) {
  EXPECT_EQ(error_of([] {
              (void)predict(small({}), floats_of(3, {1, 2, 3}));
            }),
            "rows of 3 values, but the network has 2 inputs");
  EXPECT_THROW((void)predict(small({}), {2, 2, {}, {1, 2, 3}}), std::invalid_argument);
  EXPECT_THROW((void)predict(small({}), {1, 2, {1}, {1}}), std::invalid_argument);
  EXPECT_EQ(error_of([] {
              (void)predict(small({}), floats_of(2, {1, INFINITY}));
            }),
            "input 1 of row 0 is inf");
}

TEST(WritePredictions, WritesCsvAndNpyByName) {
  const TestDirectory dir;
  const Predictions predictions{Task::classes, 2, 2, true, {0.25f, 0.75f, 1, 0}, {1, 0}};
  write_predictions(dir / "p.csv", predictions);
  EXPECT_EQ(file_content(dir / "p.csv"), "class,p0,p1\n1,0.25,0.75\n0,1,0\n");
  write_predictions(dir / "p.npy", predictions);
  EXPECT_EQ(read_npy(Source(dir / "p.npy")).floats, predictions.values);
  write_predictions(dir / "p.npy.gz", predictions);
  EXPECT_EQ(read_npy(Source(dir / "p.npy.gz")).floats, predictions.values);
  Predictions raw = predictions;
  raw.probabilities = false;
  write_predictions(dir / "raw", raw);
  EXPECT_EQ(file_content(dir / "raw").substr(0, 12), "class,y0,y1\n");
}

TEST(WritePredictions, CallsClassesAsTheTrainingDataDid) {
  const TestDirectory directory;
  const Predictions predictions{.rows = 3,
                                .outputs = 2,
                                .probabilities = true,
                                .values = {0.25f, 0.75f, 1, 0, 0, 0},
                                .best = {1, 0, -1},
                                .names = {"-1", "a, b"}};
  write_predictions(directory / "p.csv", predictions);
  EXPECT_EQ(file_content(directory / "p.csv"), "class,p-1,\"pa, b\"\n\"a, b\",0.25,0.75\n-1,1,0\nnan,0,0\n");
}

TEST(WritePredictions, WritesManyRowsWhole) {
  const TestDirectory dir;
  constexpr std::size_t kRows = 100000;  // more than a block of text
  Predictions predictions{
      Task::classes, kRows, 2, true, std::vector<float>(2 * kRows, 0.1f), std::vector<Index>(kRows, 0)};
  write_predictions(dir / "p.csv", predictions);
  const std::string text = file_content(dir / "p.csv");
  EXPECT_EQ(text.size(), 12 + kRows * 10);
  const InputTable back = read_inputs(taking(3), dir / "p.csv", {.leave_out = ""});
  EXPECT_EQ(back.rows, static_cast<Index>(kRows));
  EXPECT_EQ(back.floats[3 * kRows - 1], 0.1f);
}

}  // namespace
}  // namespace filigree::internal
