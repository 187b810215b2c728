// SPDX-License-Identifier: Apache-2.0
// Tests of state dicts and of files of one matrix each.
#include <gtest/gtest.h>

#include <cmath>
#include <list>

#include "interchange/interchange.h"
#include "interchange/stored_layers.h"
#include "interchange/text_matrices.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/test_files.h"
#include "network/test_networks.h"

namespace filigree::internal {
namespace {

// Tensors of a file that is being made.
class StateFile {
 public:
  template <typename T>
  StateFile& add(const std::string& name, DType dtype, Shape shape, const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    kept_.emplace_back(bytes.begin(), bytes.end());
    tensors_[name] = {dtype, std::move(shape), kept_.back()};
    return *this;
  }
  StateFile& add(const std::string& name, Shape shape, const std::vector<float>& values) {
    return add(name, DType::f32, std::move(shape), values);
  }
  Imported read(const ImportOptions& options = {}, const Metadata& metadata = {}) {
    std::vector<std::byte> bytes;
    write_safetensors(Target(bytes), metadata, tensors_);
    return read_state_dict(Source(bytes, "state"), options);
  }
  std::string refusal(const ImportOptions& options = {}) {
    return error_of([&] { (void)read(options); });
  }

 private:
  std::list<std::vector<std::byte>> kept_;
  std::map<std::string, TensorView> tensors_;
};

std::vector<float> bias_of(const Network& network, Index l) {
  const LayerView layer = network.layer(l);
  return {layer.bias.begin(), layer.bias.end()};
}
CsrMatrix weights_of(const Network& network, Index l) {
  return all_layers(network)[l]->weights;
}

TEST(StateDict, TakesLayersInTheOrderOfTheirNumbers) {
  StateFile file;
  file.add("10.weight", {1, 3}, {7, 8, 9})
      .add("2.weight", {3, 2}, {1, 0, 0, 2, 3, 0})
      .add("2.bias", {3}, {1, 2, 3});
  const Imported imported = file.read();
  ASSERT_EQ(imported.network.layers(), 2);
  EXPECT_EQ(weights_of(imported.network, 0), (CsrMatrix{3, 2, {0, 1, 2, 3}, {0, 1, 0}, {1, 2, 3}}));
  EXPECT_EQ(bias_of(imported.network, 0), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(bias_of(imported.network, 1), std::vector<float>{0});
  EXPECT_TRUE(imported.network.layer(0).activation.is(Activation::relu));
  EXPECT_TRUE(imported.network.layer(1).activation.is(Activation::identity));
  EXPECT_EQ(imported.stored, 9);
  EXPECT_EQ(imported.zeros, 3);
  EXPECT_EQ(file.read({.keep_zeros = true}).network.layer(0).value.size(), 6u);
  EXPECT_TRUE(file.read({}, {{"activation", "tanh"}}).network.layer(0).activation.is(Activation::tanh));
  const Imported capped = file.read({.hidden = {Activation::relu, 1}, .last = Activation::sigmoid});
  EXPECT_EQ(capped.network.layer(0).activation, ActivationFunction(Activation::relu, 1));
  EXPECT_TRUE(capped.network.layer(1).activation.is(Activation::sigmoid));
}

TEST(StateDict, ReadsEveryTypeOfNumber) {
  const auto value = [](StateFile& file) { return weights_of(file.read().network, 0).value; };
  const std::vector<float> expected = {1, -2};
  StateFile f64, f16, bf16, i8;
  f64.add<double>("0.weight", DType::f64, {1, 2}, {1, -2});
  f16.add<std::uint16_t>("0.weight", DType::f16, {1, 2}, {0x3c00, 0xc000});
  bf16.add<std::uint16_t>("0.weight", DType::bf16, {1, 2}, {0x3f80, 0xc000});
  i8.add<std::int8_t>("0.weight", DType::i8, {1, 2}, {7, 1})
      .add("0.weight_scale", {1}, {0.5F})
      .add<std::int8_t>("0.weight_zero_point", DType::i8, {1}, {5});
  for (StateFile* file : {&f64, &f16, &bf16, &i8}) EXPECT_EQ(value(*file), expected);
  StateFile unscaled;
  unscaled.add<std::int8_t>("0.weight", DType::i8, {1, 2}, {7, 1});
  EXPECT_NE(unscaled.refusal().find("without a weight_scale"), std::string::npos);
}

TEST(StateDict, ReadsWeightsByBits) {
  StateFile file;
  // Row 0 has columns 1 and 9, row 1 none, row 2 column 0.
  file.add("fc.weight.compressed", {3}, {5, 6, 7})
      .add<std::uint8_t>("fc.weight.bitmask", DType::u8, {3, 2}, {2, 2, 0, 0, 1, 0})
      .add<std::int64_t>("fc.weight.shape", DType::i64, {2}, {3, 10})
      .add<std::int64_t>("fc.weight.row_offsets", DType::i64, {3}, {0, 2, 2});
  EXPECT_EQ(weights_of(file.read().network, 0), (CsrMatrix{3, 10, {0, 2, 2, 3}, {1, 9, 0}, {5, 6, 7}}));
  file.add<std::uint8_t>("fc.weight.bitmask", DType::u8, {3, 2}, {2, 4, 0, 0, 1, 0});  // column 10 of 10
  EXPECT_NE(file.refusal().find("row 0 has a weight in column 10 of 10"), std::string::npos);
  file.add<std::uint8_t>("fc.weight.bitmask", DType::u8, {3, 2}, {3, 2, 0, 0, 1, 0});
  EXPECT_NE(file.refusal().find("4 bits are set for 3 weights"), std::string::npos);
}

TEST(StateDict, FoldsNormalizationWhereItStands) {
  const auto with = [](const std::string& normalization) {
    StateFile file;
    file.add("0.weight", {1, 1}, {2}).add("0.bias", {1}, {1});
    const std::string n = normalization + ".";
    file.add(n + "weight", {1}, {3})
        .add(n + "bias", {1}, {4})
        .add(n + "running_mean", {1}, {5})
        .add(n + "running_var", {1}, {4});
    file.add<std::int64_t>(n + "num_batches_tracked", DType::i64, {}, {9}).add("4.weight", {1, 1}, {10});
    return file.read({.epsilon = 0}).network;
  };
  const Network before = with("1");  // (2x + 1 − 5) · 3 / 2 + 4, then relu
  EXPECT_EQ(weights_of(before, 0).value, std::vector<float>{3});
  EXPECT_EQ(bias_of(before, 0), std::vector<float>{-2});
  EXPECT_EQ(weights_of(before, 1).value, std::vector<float>{10});
  const Network behind = with("2");  // relu(2x + 1), then normalised
  EXPECT_EQ(weights_of(behind, 0).value, std::vector<float>{2});
  EXPECT_EQ(weights_of(behind, 1).value, std::vector<float>{15});
  EXPECT_EQ(bias_of(behind, 1), std::vector<float>{-35});
}

TEST(StateDict, SaysWhatDoesNotFit) {
  StateFile conv, norm, gap, stray;
  EXPECT_NE(
      conv.add("0.weight", {1, 1, 2, 2}, {1, 2, 3, 4}).refusal().find("convolutions are not computed here"),
      std::string::npos);
  EXPECT_NE(norm.add("0.weight", {2}, {1, 2}).refusal().find("normalisation of each row by itself"),
            std::string::npos);
  gap.add("0.weight", {3, 2}, {1, 2, 3, 4, 5, 6}).add("1.weight", {1, 2}, {1, 2});
  EXPECT_NE(gap.refusal().find("\"1\": 2 inputs, but 3 values come before it"), std::string::npos);
  EXPECT_NE(
      stray.add("embedding.table", {1}, {1}).refusal().find("\"embedding.table\" belongs to no linear layer"),
      std::string::npos);
  StateFile bad;
  EXPECT_NE(
      bad.add("0.weight", {1, 1}, {1}).add("0.bias", {2}, {1, 2}).refusal().find("2 biases for 1 outputs"),
      std::string::npos);
  StateFile nan;
  EXPECT_NE(nan.add("0.weight", {1, 1}, {std::nanf("")}).refusal().find("nan"), std::string::npos);
}

TEST(StateDict, IsReadBackAsItWasWritten) {
  const Network network = in_memory({{{2, 3, {0, 1, 2}, {0, 2}, {1.5F, -2}}, {1, 2}, Activation::relu},
                                     {{1, 2, {0, 2}, {0, 1}, {3, 4}}, {5}, Activation::identity}});
  std::vector<std::byte> bytes;
  write_state_dict(Target(bytes), network, {});
  const Network back = read_state_dict(Source(bytes, "state"), {}).network;
  for (Index l = 0; l < 2; ++l) EXPECT_EQ(*all_layers(back)[l], *all_layers(network)[l]);
}

class Matrices : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) {
    return put_file(directory_ / name, text).string();
  }
  std::string refusal(const std::string& path, const ImportOptions& options = {}) const {
    return error_of([&] { (void)import_network(path, options); });
  }
  TestDirectory directory_;
};

TEST_F(Matrices, MarketFilesOfEveryKind) {
  const auto first = [&](const std::string& text, const ImportOptions& options = {}) {
    return weights_of(import_network(put("m.mtx", text), options).network, 0);
  };
  EXPECT_EQ(first("%%MatrixMarket matrix coordinate real general\n% of two rows\n2 3 2\n2 1 -1.5\n1 3 2e1\n"),
            (CsrMatrix{2, 3, {0, 1, 2}, {2, 0}, {20, -1.5F}}));
  EXPECT_EQ(first("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n"),
            (CsrMatrix{2, 2, {0, 2, 3}, {0, 1, 0}, {1, 1, 1}}));
  EXPECT_EQ(first("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 3\n"),
            (CsrMatrix{2, 2, {0, 1, 2}, {1, 0}, {-3, 3}}));
  EXPECT_EQ(first("%%MatrixMarket matrix array real general\n2 2\n1\n0\n3\n4\n"),
            (CsrMatrix{2, 2, {0, 2, 3}, {0, 1, 1}, {1, 3, 4}}));
  EXPECT_EQ(first("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n"),
            (CsrMatrix{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 2, 3}}));
  EXPECT_EQ(
      first("%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 0\n1 2 1\n", {.keep_zeros = true})
          .nnz(),
      2);
}

TEST_F(Matrices, MarketFilesThatAreWrongNameTheLine) {
  const std::pair<const char*, const char*> kCases[] = {
      {"%%MatrixMarket matrix coordinate complex general\n", ":1: entries of kind \"complex\""},
      {"%%MatrixMarket vector\n", ":1: a Matrix Market file begins"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", ":3: row 3, but it is from 1 to 2"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 x\n", ":3: \"x\" is not a number"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 nan\n", ":3: \"nan\" is not finite"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n",
       ": 2 entries are promised, but 1 follow"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n1 2 1\n", ":4: more than 1 entries"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 1 1\n",
       ": two entries in row 1, column 1"},
      {"%%MatrixMarket matrix coordinate real general\n99999999 2 2\n", ":2: number of rows 99999999"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1", ":3: the last line does not end"},
      {"%%MatrixMarket matrix coordinate real general\n", ": there is no line with the sizes"},
  };
  for (const auto& [text, message] : kCases) {
    const std::string path = put("m.mtx", text);
    EXPECT_TRUE(refusal(path).starts_with(path + message)) << refusal(path);
  }
}

TEST_F(Matrices, TurnWhicheverWayTheyFollowEachOther) {
  // Rows for inputs, the last of them the biases: 2 inputs, 3 neurons, 1 output.
  put("layer-1.mtx", "%%MatrixMarket matrix array real general\n3 3\n1\n2\n10\n3\n4\n20\n5\n6\n30\n");
  put("layer-2.mtx", "%%MatrixMarket matrix array real general\n4 1\n7\n8\n9\n40\n");
  const std::string path = directory_.path().string();
  EXPECT_NE(refusal(path).find("but would if one row of each held the biases"), std::string::npos)
      << refusal(path);
  const Network network = import_network(path, {.bias_row = true}).network;
  EXPECT_EQ(network.inputs(), 2);
  EXPECT_EQ(weights_of(network, 0).value, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(bias_of(network, 0), (std::vector<float>{10, 20, 30}));
  EXPECT_EQ(bias_of(network, 1), std::vector<float>{40});
  EXPECT_NE(refusal(path, {.orientation = Orientation::out_in}), "");
}

TEST_F(Matrices, ComeBackFromADirectoryAsTheyWere) {
  const Network network = in_memory({{{2, 3, {0, 1, 2}, {0, 2}, {1.5F, -0.1F}}, {1, 2}, Activation::relu},
                                     {{1, 2, {0, 2}, {0, 1}, {3, 4}}, {5}, Activation::identity}});
  for (const ModelForm form : {ModelForm::scipy, ModelForm::matrix_market}) {
    const std::filesystem::path path = directory_ / std::string(word(form));
    export_network(network, path, {.form = form});
    const Imported back = import_network(path);
    EXPECT_EQ(back.form, form);
    for (Index l = 0; l < 2; ++l) EXPECT_EQ(*all_layers(back.network)[l], *all_layers(network)[l]);
  }
}

TEST_F(Matrices, TextLayersAreReadByInputs) {
  put("weights-l1-dense.tsv", "1\n2\n3\n4\n5\n6\n");  // 3 inputs, 2 outputs
  put("biases-l1-dense.tsv", "0.5\n-0.5\n");
  put("weights-l2-sparse.tsv", "0\t1\t7\n1\t0\t8\n");
  put("biases-l2-sparse.tsv", "0\n0\n");
  const Imported imported = import_network(directory_.path(), {.hidden = {Activation::relu, 1}});
  EXPECT_EQ(imported.form, ModelForm::text);
  EXPECT_EQ(weights_of(imported.network, 0),
            (CsrMatrix{2, 3, {0, 3, 6}, {0, 1, 2, 0, 1, 2}, {1, 3, 5, 2, 4, 6}}));
  EXPECT_EQ(weights_of(imported.network, 1), (CsrMatrix{2, 2, {0, 1, 2}, {1, 0}, {8, 7}}));
  put("weights-l2-sparse.tsv", "0\t2\t7\n");
  EXPECT_NE(
      refusal(directory_.path().string()).find("weights-l2-sparse.tsv:1: column 2, but it is from 0 to 1"),
      std::string::npos);
  put("weights-l2-sparse.tsv", "0\t1\t7\n");
  put("weights-l4-sparse.tsv", "0\t0\t7\n");
  EXPECT_NE(refusal(directory_.path().string()).find("layer 4 follows layer 2"), std::string::npos);
}

}  // namespace
}  // namespace filigree::internal
