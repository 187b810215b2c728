// SPDX-License-Identifier: Apache-2.0
// Tests of layer sources: the RadiX-Net recipe, networks in memory, official files, model files.
#include <gtest/gtest.h>

#include <cstring>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "io/challenge_files.h"
#include "io/safetensors.h"
#include "io/test_files.h"
#include "network/challenge.h"
#include "network/model_file.h"
#include "network/test_networks.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

Layer random_layer(Index outputs, Index inputs, std::uint64_t seed) {
  return {random_csr(outputs, inputs, 0.4, seed), std::vector<float>(outputs, -0.5f), {Activation::relu, 32}};
}

TEST(RadixNet, FollowsTheRecipeInTheFirstBlock) {
  // 64 neurons: residues modulo 4, blocks of 2 layers with shifts 1 and 2.
  const RadixNet net(64, 4, 1);
  for (const Index l : {0, 1}) {
    const Layer layer = *net.layer(l);
    const Index shift = l == 0 ? 1 : 2;
    for (Index j = 0; j < 64; ++j) {
      std::vector<Index> expected;
      for (Index i = 0; i < 64; ++i)
        if (i % 4 == j % 4 || i % 4 == (j + shift) % 4) expected.push_back(i);
      EXPECT_TRUE(std::ranges::equal(layer.weights.view().row_columns(j), expected)) << l << ' ' << j;
    }
  }
}

TEST(RadixNet, GivesEveryNeuron32InputsAnd32Outputs) {
  const RadixNet net(256, 12, 5);
  for (Index l = 0; l < net.layers(); ++l) {
    const Layer layer = *net.layer(l);
    validate(layer, "layer");
    std::vector<int> fan_out(256, 0);
    for (const Index c : layer.weights.column) ++fan_out[c];
    EXPECT_TRUE(std::ranges::all_of(fan_out, [](int n) { return n == 32; }));
    EXPECT_TRUE(std::ranges::all_of(layer.weights.value, [](float v) { return v == 0.0625f; }));
  }
}

TEST(RadixNet, DependsOnTheSeedFromTheSecondBlockOn) {
  const RadixNet one(256, 8, 1), same(256, 8, 1), other(256, 8, 2);
  EXPECT_EQ(*one.layer(0), *other.layer(0));
  EXPECT_EQ(*one.layer(7), *same.layer(7));
  EXPECT_NE(*one.layer(7), *other.layer(7));
  EXPECT_NE(one.layer(4)->weights.column, one.layer(5)->weights.column);
}

TEST(RadixNet, RefusesSizesOutsideTheRecipe) {
  EXPECT_THROW(RadixNet(1000, 1, 1), std::invalid_argument);
  EXPECT_THROW(RadixNet(16, 1, 1), std::invalid_argument);
  EXPECT_THROW(RadixNet(131072, 1, 1), std::invalid_argument);
  EXPECT_THROW(RadixNet(64, 0, 1), std::invalid_argument);
}

TEST(MemoryLayers, RefusesLayersThatDoNotFit) {
  const auto message = error_of([] {
    MemoryLayers(std::vector{random_layer(5, 4, 1), random_layer(3, 6, 2)}, "net");
  });
  EXPECT_EQ(message, "net: layer 2 reads 6 neurons, but layer 1 has 5");
  Layer bad = random_layer(5, 4, 1);
  bad.bias[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_of([&] { MemoryLayers(std::vector{bad}, "net"); }),
            "net: layer 1: bias of neuron 2 is nan");
  EXPECT_NE(error_of([] { MemoryLayers(std::vector<Layer>{}, "net"); }), "");
}

TEST(MemoryLayers, KnowsWhetherZeroStaysZero) {
  Layer layer = random_layer(5, 4, 1);
  EXPECT_TRUE(MemoryLayers(std::vector{layer}).keeps_zero());
  layer.bias[3] = 0.1f;
  EXPECT_FALSE(MemoryLayers(std::vector{layer}).keeps_zero());
}

TEST(MemoryLayers, KnowsForWhichActivationsZeroStaysZero) {
  const auto keeps = [](Activation activation, float bias) {
    Layer layer = random_layer(5, 4, 1);
    layer.activation = {activation, kNoCap, 0.1f};
    std::ranges::fill(layer.bias, 0.0f);
    layer.bias[3] = bias;
    return MemoryLayers(std::vector{layer}).keeps_zero();
  };
  for (const Activation activation : {Activation::identity, Activation::leaky_relu, Activation::tanh}) {
    EXPECT_TRUE(keeps(activation, 0)) << activation_name(activation);
    EXPECT_FALSE(keeps(activation, 0.1f)) << activation_name(activation);
    EXPECT_FALSE(keeps(activation, -0.1f)) << activation_name(activation);
  }
  EXPECT_TRUE(keeps(Activation::relu, -0.1f));
  EXPECT_FALSE(keeps(Activation::relu, 0.1f));
  EXPECT_FALSE(keeps(Activation::sigmoid, 0));
  EXPECT_FALSE(keeps(Activation::softplus, 0));
}

TEST(MemoryLayers, RefusesASlopeThatIsNotFinite) {
  Layer bad = random_layer(5, 4, 1);
  bad.activation = ActivationFunction::leaky(std::numeric_limits<float>::infinity());
  EXPECT_EQ(error_of([&] { MemoryLayers(std::vector{bad}, "net"); }), "net: layer 1: the slope is inf");
}

TEST(ChallengeFiles, ReadBackWhatTheGeneratorWrote) {
  const TestDirectory dir;
  const RadixNet net(64, 3, 9);
  std::filesystem::create_directory(dir / "neuron64");
  for (Index l = 0; l < 3; ++l) write_layer(layer_path(dir.path(), 64, l + 1), net.layer(l)->weights.view());
  const ChallengeFiles files(dir.path(), 64, 0);
  EXPECT_EQ(files.layers(), 3);
  for (Index l = 0; l < 3; ++l) EXPECT_EQ(*files.layer(l), *net.layer(l));
  EXPECT_NE(error_of([&] {
              ChallengeFiles(dir.path(), 64, 4);
            }).find("3 layers of 64 neurons, but 4 are asked for"),
            std::string::npos);
  std::filesystem::remove(layer_path(dir.path(), 64, 2));
  EXPECT_NE(error_of([&] { ChallengeFiles(dir.path(), 64, 0); }).find("n64-l2.tsv"), std::string::npos);
}

TEST(ModelFile, ReadsBackWhatItWrote) {
  const TestDirectory dir;
  Pieces model;
  model.layers = {random_layer(7, 5, 1), random_layer(4, 7, 2)};
  model.layers[1].activation = Activation::identity;
  model.layers[1].activation.cap = kNoCap;
  model.layers[1].bias = {1, 2, 3, 4};
  model.ports.input_of = {0, 1, -1, 2, 4, 4};
  model.ports.output_of = {3, -1};
  model.ports.output_constant = {0, 7.5f};
  write_model(dir / "m.safetensors", model);
  const Pieces back = pieces_of(read_model(dir / "m.safetensors"));
  EXPECT_EQ(back.layers, model.layers);
  EXPECT_EQ(back.ports.input_of, model.ports.input_of);
  EXPECT_EQ(back.ports.output_of, model.ports.output_of);
  EXPECT_EQ(back.ports.output_constant, model.ports.output_constant);
}

TEST(ModelFile, KeepsEveryActivationTheScalingAndTheLoss) {
  const TestDirectory dir;
  Pieces model;
  for (const Activation activation : {Activation::identity, Activation::relu, Activation::leaky_relu,
                                      Activation::sigmoid, Activation::tanh, Activation::softplus}) {
    model.layers.push_back(random_layer(6, 6, static_cast<std::uint64_t>(activation)));
    model.layers.back().activation = activation;
    if (activation == Activation::leaky_relu) model.layers.back().activation.slope = -0.1f;
  }
  model.facts.scaling.mean = {1, 2, 3, 4, 5, 0.1f};
  model.facts.scaling.scale = {0.25f};
  model.facts.loss = Loss::mse;
  model.facts.output_names = {"-1", "1", "two", "a \"b\"", "ü", ""};
  write_model(dir / "m.safetensors", model);
  const Pieces back = pieces_of(read_model(dir / "m.safetensors"));
  EXPECT_EQ(back.layers, model.layers);
  EXPECT_EQ(back.facts.scaling.mean, model.facts.scaling.mean);
  EXPECT_EQ(back.facts.scaling.scale, model.facts.scaling.scale);
  EXPECT_EQ(back.facts.loss, Loss::mse);
  EXPECT_EQ(back.facts.output_names, model.facts.output_names);
}

TEST(ModelFile, RefusesScalingAndLossesThatMakeNoSense) {
  const TestDirectory dir;
  const auto path = dir / "m.safetensors";
  const auto refusal = [&](const auto& change) {
    Pieces model;
    model.layers = {random_layer(7, 5, 1)};
    change(model);
    write_model(path, model);
    return error_of([&] { read_model(path); });
  };
  EXPECT_EQ(refusal([](Pieces& m) {
              m.facts.scaling.mean = {1, 2, 3};
            }),
            path.string() + ": input.mean holds 3 values for 5 inputs");
  EXPECT_EQ(refusal([](Pieces& m) { m.facts.scaling.scale = {std::numeric_limits<float>::quiet_NaN()}; }),
            path.string() + ": input.scale[0] is nan");
  {
    write_model(path, Pieces{{random_layer(7, 5, 1)}});
    const TensorFile file = read_safetensors(Source(path));
    Metadata metadata = file.metadata();
    metadata["loss"] = "hinge";
    metadata.erase("sums");
    std::map<std::string, TensorView> tensors;
    for (const auto& [name, tensor] : file.tensors())
      tensors[name] = {tensor.dtype, tensor.shape, {tensor.bytes.data(), tensor.bytes.size()}};
    write_safetensors(dir / "other.safetensors", metadata, tensors);
    EXPECT_EQ(error_of([&] { read_model(dir / "other.safetensors"); }),
              (dir / "other.safetensors").string() +
                  ": metadata loss is \"hinge\"; known are cross-entropy, mse, binary-cross-entropy, "
                  "squared, absolute, huber");
  }
  EXPECT_EQ(refusal([](Pieces& m) { m.facts.output_names = {"1", "2", "3", "4", "4", "5", "6"}; }),
            path.string() + ": two outputs are called \"4\"");
  EXPECT_NE(refusal([](Pieces& m) { m.facts.output_names = {"1", "2"}; }), "");
  // Of a compiled model the outer inputs count.
  EXPECT_EQ(refusal([](Pieces& m) {
              m.ports.input_of = {0, 1, 2, 3, 4, -1};
              m.ports.output_of = {0};
              m.ports.output_constant = {0};
              m.facts.scaling.mean = {1, 2, 3, 4, 5, 6};
            }),
            "");
}

TEST(ModelFile, StoresUniformNetworksInTwoBytesPerConnection) {
  const TestDirectory dir;
  Pieces model;
  model.layers = {*RadixNet(1024, 1, 1).layer(0)};
  write_model(dir / "m.safetensors", model);
  EXPECT_LT(std::filesystem::file_size(dir / "m.safetensors"), 1024 * 32 * 2 + 1024 * 8 + 1024u);
  EXPECT_EQ(copied_layers(read_model(dir / "m.safetensors")), model.layers);
}

TEST(ModelFile, StoresPlacesInTheSmallestTypeThatFits) {
  const TestDirectory dir;
  const auto path = dir / "m.safetensors";
  // Connections by the widths of their columns and of row_begin: one row with all inputs of the last few.
  const auto types = [&](Index inputs, Index connections) {
    Pieces model;
    Layer layer;
    layer.weights = {1, inputs, {0, connections}, {}, {}};
    for (Index c = 0; c < connections; ++c) {
      layer.weights.column.push_back(inputs - connections + c);
      layer.weights.value.push_back(c + 1);
    }
    layer.bias = {0};
    model.layers = {layer};
    write_model(path, model);
    EXPECT_EQ(copied_layers(read_model(path)), model.layers) << inputs << ' ' << connections;
    const TensorFile file = read_safetensors(Source(path));
    return fmt::format("{} {}", dtype_name(file.at("layers.0.column").dtype),
                       dtype_name(file.at("layers.0.row_begin").dtype));
  };
  EXPECT_EQ(types(256, 255), "U8 U8");
  EXPECT_EQ(types(257, 255), "U16 U8");
  EXPECT_EQ(types(65536, 256), "U16 U16");
  EXPECT_EQ(types(65537, 65535), "I32 U16");
  EXPECT_EQ(types(65537, 65536), "I32 U32");
}

TEST(ModelFile, StoresAFullLayerAsAMatrix) {
  const TestDirectory dir;
  const auto path = dir / "m.safetensors";
  Pieces model;
  Layer layer;
  layer.weights = full_matrix(3, 2, {1, 2, 3, 4, 5, 6});
  layer.bias = {1, 2, 3};
  model.layers = {layer};
  write_model(path, model);
  EXPECT_EQ(copied_layers(read_model(path)), model.layers);
  const TensorFile file = read_safetensors(Source(path));
  EXPECT_FALSE(file.contains("layers.0.column"));
  EXPECT_EQ(file.at("layers.0.value").shape, (Shape{3, 2}));
  // A matrix that does not fit the layer's inputs, and values without places.
  for (const Shape& shape : {Shape{2, 3}, Shape{6}}) {
    const std::vector<float> values = {1, 2, 3, 4, 5, 6};
    write_safetensors(path, file.metadata(),
                      {{"layers.0.value", tensor_view(std::span(values), shape)},
                       {"layers.0.bias", tensor_view(std::span(values).first(3))}});
    EXPECT_NE(error_of([&] { read_model(path); }).find("layers.0.value has shape ["), std::string::npos);
  }
}

// What a few bytes promise is looked at before memory is taken for it, and nothing in a file is passed over.
TEST(ModelFile, PromisesNoMoreThanItHolds) {
  const TestDirectory dir;
  write_model(dir / "m.safetensors",
              Pieces{{random_layer(7, 5, 1), random_layer(3, 7, 2), random_layer(2, 3, 3)}});
  const TensorFile file = read_safetensors(Source(dir / "m.safetensors"));
  std::map<std::string, TensorView> tensors;
  for (const auto& [name, tensor] : file.tensors())
    tensors[name] = {tensor.dtype, tensor.shape, {tensor.bytes.data(), tensor.bytes.size()}};
  const auto refusal = [&](const Metadata& metadata, const std::map<std::string, TensorView>& with) {
    write_safetensors(dir / "other.safetensors", metadata, with);
    return error_of([&] { read_model(dir / "other.safetensors"); });
  };
  ASSERT_EQ(refusal(file.metadata(), tensors), "");
  Metadata unsummed = file.metadata();  // sums would tell before anything else does
  unsummed.erase("sums");
  const auto changed = [&](const char* key, const char* value) {
    Metadata metadata = unsummed;
    metadata[key] = value;
    return metadata;
  };
  EXPECT_NE(refusal(changed("layers", "2"), tensors).find("belongs to"), std::string::npos);
  EXPECT_NE(refusal(changed("layers.9.inputs", "4"), tensors).find("layers.9.inputs"), std::string::npos);
  EXPECT_NE(refusal(changed("layers.0.inputs", "2147483647"), tensors).find("must be"), std::string::npos);
  auto more = tensors;
  const std::vector<float> one = {1};
  more["extra"] = tensor_view(std::span(one));
  EXPECT_NE(refusal(unsummed, more).find("\"extra\" belongs to nothing"), std::string::npos);
  auto empty = tensors;  // 134,217,728 rows of no columns take no bytes
  empty.erase("layers.0.column");
  empty.erase("layers.0.row_begin");
  empty["layers.0.value"] = {file.at("layers.0.value").dtype, Shape{134217728, 0}, {}};
  EXPECT_NE(refusal(changed("layers.0.inputs", "0"), empty).find("must be"), std::string::npos);
}

// 5-4-4-3: a mixture of two experts of four neurons each, exits behind both hidden layers.
Pieces branched_model() {
  Pieces model;
  model.layers = {random_layer(8, 5, 1), random_layer(4, 4, 2), random_layer(3, 4, 3)};
  const Layer gate = random_layer(2, 5, 4);
  model.layers[0].gate = Gate{gate.weights, gate.bias, 1};
  for (const Index after : {1, 2}) {
    model.exits.push_back({after, random_layer(3, 4, 5 + static_cast<std::uint64_t>(after))});
    model.exits.back().layer.activation = Activation::identity;
  }
  return model;
}

TEST(ModelFile, KeepsMixturesAndExits) {
  const TestDirectory dir;
  const Pieces model = branched_model();
  write_model(dir / "m.safetensors", model);
  const Pieces back = pieces_of(read_model(dir / "m.safetensors"));
  EXPECT_EQ(back.layers, model.layers);
  EXPECT_EQ(back.layers[0].outputs(), 4);
  EXPECT_EQ(back.layers[0].experts(), 2);
  ASSERT_EQ(back.exits.size(), 2u);
  for (std::size_t e = 0; e < 2; ++e) {
    EXPECT_EQ(back.exits[e].after, model.exits[e].after);
    EXPECT_EQ(back.exits[e].layer.weights, model.exits[e].layer.weights);
    EXPECT_EQ(back.exits[e].layer.bias, model.exits[e].layer.bias);
  }
  // Experts come apart and together again.
  Layer again = expert_of(back.layers[0], 0);
  append_expert(again, expert_of(back.layers[0], 1));
  again.gate = back.layers[0].gate;
  EXPECT_EQ(again, back.layers[0]);
}

TEST(Network, ShowsGatesAndExitsWhereTheyAre) {
  const TestDirectory dir;
  const Pieces model = branched_model();
  write_model(dir / "m.safetensors", model);
  const Network network = from_bytes(to_bytes(load(dir / "m.safetensors")));  // and through memory
  const Gate& gate = *model.layers[0].gate;
  const LayerView view = network.gate(0);
  EXPECT_EQ(view.outputs, gate.weights.rows);
  EXPECT_TRUE(std::ranges::equal(view.value, gate.weights.value));
  EXPECT_TRUE(std::ranges::equal(view.bias, gate.bias));
  ASSERT_EQ(network.exits().size(), 2u);
  const LayerView head = network.exit(1);
  EXPECT_TRUE(std::ranges::equal(head.value, model.exits[1].layer.weights.value));
  EXPECT_EQ(head.outputs, network.outputs());
  EXPECT_THROW((void)network.gate(1), std::invalid_argument);
  EXPECT_THROW((void)network.exit(2), std::invalid_argument);
  EXPECT_THROW((void)network.exit(-1), std::invalid_argument);
}

TEST(ModelFile, RefusesMixturesAndExitsThatDoNotFit) {
  const TestDirectory dir;
  const auto path = dir / "m.safetensors";
  const auto refusal = [&](const auto& change) {
    Pieces model = branched_model();
    change(model);
    write_model(path, model);
    return error_of([&] { read_model(path); });
  };
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(refusal([](Pieces& m) { m.layers[0].gate->active = 3; }), "3 of 2 experts");
  expect(refusal([](Pieces& m) { m.layers[0].gate->active = 0; }), "0 of 2 experts");
  expect(refusal([](Pieces& m) {
           const Layer gate = random_layer(3, 5, 4);
           m.layers[0].gate = Gate{gate.weights, gate.bias, 1};
         }),
         "8 neurons cannot be divided among 3 experts");
  expect(refusal([](Pieces& m) {
           const Layer gate = random_layer(2, 6, 4);
           m.layers[0].gate = Gate{gate.weights, gate.bias, 1};
         }),
         "the gate reads 6 inputs, the experts 5");
  expect(refusal([](Pieces& m) { m.exits[1].after = 3; }), "\"exits.3.");
  expect(refusal([](Pieces& m) { m.exits[0].after = 0; }), "\"exits.0.");
  expect(refusal([](Pieces& m) { m.exits[0].layer = random_layer(3, 5, 1); }),
         "the exit behind layer 1 is 5 to 3");
  expect(refusal([](Pieces& m) { m.exits[0].layer = random_layer(2, 4, 1); }),
         "the exit behind layer 1 is 4 to 2");
  expect(refusal([](Pieces& m) {
           m.ports.input_of = {0, 1, 2, 3, 4};
           m.ports.output_of = {0, 1, 2};
           m.ports.output_constant = {0, 0, 0};
         }),
         "neither gates nor exits");
}

TEST(ModelFile, FindsEveryFlippedBitAndNamesTheTensor) {
  std::vector<std::byte> bytes;
  write_model(Target(bytes), Pieces{{random_layer(7, 5, 1), random_layer(3, 7, 2)}}.network());
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t begin = sizeof header + header;
  const auto refusal = [&] { return error_of([&] { read_model(Source(bytes, "model")); }); };
  ASSERT_EQ(refusal(), "");
  for (std::size_t bit = begin * 8; bit < bytes.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1u << (bit % 8));
    bytes[bit / 8] ^= mask;
    const std::string message = refusal();
    ASSERT_TRUE(message.starts_with("model: tensor \"layers.")) << bit << ": " << message;
    ASSERT_NE(message.find(" is damaged: its CRC-32 is "), std::string::npos) << message;
    bytes[bit / 8] ^= mask;
  }
  // A header that is damaged is no model, or says what it said: the key of the sums may be missing, and
  // spaces say nothing.
  std::vector<std::byte> whole;
  write_model(Target(whole), read_model(Source(bytes, "model")));
  int harmless = 0;
  std::string harmless_at;
  for (std::size_t bit = sizeof header * 8; bit < begin * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1u << (bit % 8));
    bytes[bit / 8] ^= mask;
    if (refusal().empty()) {
      std::vector<std::byte> again;
      write_model(Target(again), read_model(Source(bytes, "model")));
      EXPECT_EQ(again, whole) << bit;
      harmless_at += fmt::format(" {}:{}", bit, static_cast<char>(bytes[bit / 8]));
      ++harmless;
    }
    bytes[bit / 8] ^= mask;
  }
  EXPECT_LE(harmless, 4 * 8 + 7) << harmless_at;  // within the word "sums", and in spaces at the end
}

TEST(ModelFile, RefusesDamage) {
  const TestDirectory dir;
  Pieces model;
  model.layers = {random_layer(7, 5, 1)};
  model.layers[0].weights.column[0] = 5;  // there are inputs 0 … 4
  write_model(dir / "m.safetensors", model);
  EXPECT_NE(error_of([&] { read_model(dir / "m.safetensors"); }).find("layer 1"), std::string::npos);
  std::ofstream(dir / "junk.safetensors") << "this is no model at all, but long enough for a header";
  EXPECT_NE(error_of([&] { read_model(dir / "junk.safetensors"); }).find("junk.safetensors"),
            std::string::npos);
  EXPECT_NE(error_of([&] { read_model(dir / "none.safetensors"); }).find("none.safetensors"),
            std::string::npos);
}

}  // namespace
}  // namespace filigree::internal
