// SPDX-License-Identifier: Apache-2.0
// Settings from text and from TOML, and back.
#include "train/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <cmath>

#include "base/random.h"
#include "filigree/train.h"
#include "io/test_files.h"
#include "train/settings.h"

namespace filigree::internal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TrainConfig parsed(std::string_view text, const TrainConfig& defaults = {}) {
  return parse_config(in_memory(text), defaults);
}

std::string error_in(std::string_view text) {
  return error_of([&] { parsed(text); });
}

std::string refusal(std::string_view name, std::string_view text) {
  try {
    TrainOptions options;
    apply_setting(options, name, text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

void expect_same_data(const DataOptions& a, const DataOptions& b) {
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.label_column, b.label_column);
  EXPECT_EQ(a.test_share, b.test_share);
  EXPECT_EQ(a.seed, b.seed);
}

// Any value that the table allows, often one of its ends.
class RandomSettings {
 public:
  explicit RandomSettings(std::uint64_t seed) : random_(seed) {}

  TrainOptions draw() {
    TrainOptions options;
    for (const Setting& setting : all_settings())
      std::visit([&](auto member) { fill(setting, member); }, setting.member(options));
    return options;
  }

  // Quotes, backslashes, control characters, letters beyond ASCII.
  std::string text() {
    const std::vector<std::string> parts = {"csv:", "a b",  "\"", "\\", "\n", "\t",
                                            "\x7f", "\x01", "ä",  "#",  "'"};
    std::string result;
    for (auto i = random_.below(8); i > 0; --i) result += parts[random_.below(parts.size())];
    return result;
  }

  Random& random() { return random_; }

 private:
  double number(const Setting& setting) {
    for (;;) {
      const double candidates[] = {0,
                                   1,
                                   -1,
                                   0.1,
                                   1e-300,
                                   5e-324,
                                   1 - 0x1p-53,
                                   random_.uniform(),
                                   std::exp(random_.uniform(-30, 30)),
                                   1.7976931348623157e308};
      const double value = candidates[random_.below(std::size(candidates))];
      if (fault_of_number(setting, value).empty()) return value;
    }
  }
  void fill(const Setting&, bool* value) { *value = random_.below(2) == 1; }
  void fill(const Setting&, const WordMember& value) {
    value.set(value.words()[random_.below(value.words().size())]);
  }
  void fill(const Setting& setting, double* value) { *value = number(setting); }
  void fill(const Setting&, std::uint64_t* value) { *value = random_.next() >> random_.below(64); }
  template <typename T>
  void fill(const Setting& setting, T* value) {
    do
      *value =
          static_cast<T>(random_.next() >> (8 * sizeof(std::int64_t) - random_.below(8 * sizeof(T)) - 1));
    while (!fault_of_number(setting, *value).empty());
  }
  template <typename T>
  void fill(const Setting& setting, std::vector<T>* list) {
    list->resize(2 * random_.below(4));
    for (T& value : *list) fill(setting, &value);
  }

  Random random_;
};

TEST(Config, GivesBackWhatItWrote) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomSettings draw(seed);
    TrainConfig config;
    config.options = draw.draw();
    config.data = {.source = draw.text(),
                   .label_column = draw.text(),
                   .test_share = draw.random().uniform(),
                   .seed = draw.random().next()};
    const std::string text = to_toml(config);
    TrainConfig read;
    ASSERT_EQ(error_of([&] { read = parsed(text); }), "") << text;
    EXPECT_EQ(read.options, config.options) << text;
    expect_same_data(read.data, config.data);
    EXPECT_EQ(to_toml(read), text);
    EXPECT_NO_THROW(check_settings(config.options));
  }
}

// How many members an aggregate has: as many as it can be made from.
struct Anything {
  template <typename T>
  operator T() const;
};
template <typename T, typename... Values>
constexpr std::size_t members() {
  if constexpr (requires { T{Values{}..., Anything{}}; })
    return members<T, Values..., Anything>();
  else
    return sizeof...(Values);
}

TEST(Settings, HaveARowForEveryMember) {
  const auto rows = [](std::string_view group) {
    return static_cast<std::size_t>(std::ranges::count(all_settings(), group, &Setting::group));
  };
  EXPECT_EQ(rows("network"), members<NetworkOptions>());
  EXPECT_EQ(rows("topology updates"), members<EvolutionOptions>());
  EXPECT_EQ(rows("pruning"), members<PruningOptions>());
  EXPECT_EQ(rows("learning"), members<LearningOptions>());
  EXPECT_EQ(rows("run"), members<LoopOptions>());
}

TEST(Config, NamesEverySettingInTheTable) {
  const std::vector<SettingInfo> infos = setting_infos({});
  ASSERT_EQ(infos.size(), all_settings().size());
  std::set<std::string_view> names;
  for (const SettingInfo& info : infos) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
    EXPECT_FALSE(info.possible.empty()) << info.name;
    EXPECT_EQ(setting_text({}, info.name), info.standard);
  }
  EXPECT_EQ(infos[3].possible, "from 0 to below 1");
  EXPECT_EQ(infos[6].possible, "he, glorot or ertl");
  EXPECT_NO_THROW(check_settings({}));  // the defaults are possible
}

TEST(Config, KeepsDefaultsForWhatIsNotSaid) {
  TrainConfig defaults;
  defaults.options.learning.lr = 0.25;
  defaults.options.run.epochs = 7;
  defaults.data.source = "digits";
  const TrainConfig config = parsed("epochs = 9\n[data]\ntest-share = 0.5\n", defaults);
  EXPECT_EQ(config.options.learning.lr, 0.25);
  EXPECT_EQ(config.options.run.epochs, 9);
  EXPECT_EQ(config.data.source, "digits");
  EXPECT_EQ(config.data.test_share, 0.5);
  EXPECT_EQ(parsed("").options, TrainOptions());
}

TEST(Config, ReadsEveryKindOfValue) {
  const TrainConfig config = parsed(
      "network = [784, 256, 10]\ndense = true\nsparsity = 0\ndensities = [0.5, 1]\ninit = \"glorot\"\n"
      "loss = 'mse'\nbatch = 1_000\nseed = \"18446744073709551615\"\nepsilon = 1e-7\n"
      "data.label-column = 29\ndata.seed = 0x10\n");
  EXPECT_THAT(config.options.network.neurons, ElementsAre(784, 256, 10));
  EXPECT_TRUE(config.options.network.dense);
  EXPECT_EQ(config.options.network.sparsity, 0.0);
  EXPECT_THAT(config.options.network.densities, ElementsAre(0.5, 1.0));
  EXPECT_EQ(config.options.network.init, Initial::glorot);
  EXPECT_EQ(config.options.learning.loss, Loss::mse);
  EXPECT_EQ(config.options.run.batch, 1000);
  EXPECT_EQ(config.options.run.seed, 18446744073709551615u);
  EXPECT_EQ(config.options.learning.epsilon, 1e-7);
  EXPECT_EQ(config.data.label_column, "29");
  EXPECT_EQ(config.data.seed, 16u);
}

TEST(Config, NamesFileLineAndWhatIsPossible) {
  EXPECT_THAT(error_in("lr = 0.1\n\nrate = 0.2\n"),
              AllOf(HasSubstr("file:3: unknown key \"rate\""), HasSubstr(" lr,"), HasSubstr("[data]")));
  EXPECT_THAT(error_in("lr = 0.1\nlr = 0.2\n"), HasSubstr("file:2: "));
  EXPECT_THAT(error_in("lr = \n"), HasSubstr("file:1: "));
  EXPECT_THAT(error_in("\nlr = \"fast\"\n"),
              HasSubstr("file:2: lr is \"fast\", but must be a number from 0"));
  EXPECT_THAT(error_in("sparsity = 1.0"), HasSubstr("file:1: sparsity is 1, but must be from 0 to below 1"));
  EXPECT_THAT(error_in("sparsity = nan"), HasSubstr("sparsity is nan"));
  EXPECT_THAT(error_in("clip-norm = inf"), HasSubstr("clip-norm is inf"));
  EXPECT_THAT(error_in("init = \"best\""), HasSubstr("init is \"best\", but must be he, glorot or ertl"));
  EXPECT_THAT(error_in("init = 3"), HasSubstr("init is 3, but must be he, glorot or ertl"));
  EXPECT_THAT(error_in("epochs = 1.5"), HasSubstr("epochs is 1.5, but must be a whole number from 1"));
  EXPECT_THAT(error_in("epochs = 0"), HasSubstr("epochs is 0"));
  EXPECT_THAT(error_in("batch = 4294967297"), HasSubstr("batch is 4294967297"));
  EXPECT_THAT(error_in("dense = 1"), HasSubstr("dense is 1, but must be true or false"));
  EXPECT_THAT(error_in("network = 784"), HasSubstr("network is 784, but must be a list"));
  EXPECT_THAT(error_in("network = [784]"), HasSubstr("network has one number"));
  EXPECT_THAT(error_in("network = [784,\n 0]"), HasSubstr("file:2: network is 0"));
  EXPECT_THAT(error_in("network = [784, [10]]"), HasSubstr("network is a list"));
  EXPECT_THAT(error_in("densities = [0.5, 0]"), HasSubstr("densities is 0, but must be above 0"));
  EXPECT_THAT(error_in("seed = -1"), HasSubstr("2^64"));
  EXPECT_THAT(error_in("seed = \"1x\""), HasSubstr("2^64"));
  EXPECT_THAT(error_in("lr = 2020-01-01"), HasSubstr("lr is a date or time"));
  EXPECT_THAT(error_in("[lr]\n"), HasSubstr("lr is a table"));
  EXPECT_THAT(error_in("data = \"digits\""), HasSubstr("[data]"));
  EXPECT_THAT(error_in("[data]\nsource = 3"), HasSubstr("file:2: source is 3, but must be text"));
  EXPECT_THAT(error_in("[data]\ntest-share = 1"), HasSubstr("test-share is 1"));
  EXPECT_THAT(error_in("[data]\nfile = \"x\""), AllOf(HasSubstr("file:2: "), HasSubstr("label-column")));
  EXPECT_THAT(error_in("\n'\u00e4%' = 1"), HasSubstr("file:2: unknown key \"\\xc3\\xa4%\""));
  EXPECT_THAT(error_in("init = '\u00e4%'"), HasSubstr("init is \"\\xc3\\xa4%\""));
  EXPECT_THAT(error_in("data.source = \"\\u0025\""), HasSubstr("write % itself"));
  EXPECT_THAT(error_in(std::string(2 << 20, '#')), HasSubstr("longer than 1048576 bytes"));
  EXPECT_THAT(error_of([] { read_config("none.toml", {}); }), HasSubstr("none.toml"));
}

TEST(Config, SurvivesWhatBreaksTheParser) {
  for (const char* text : {"\u00e4 = 1", "lr = 1 \ufe7f", "lr = +\"a\\\"\u079d", "lr = 1\n[\f]",
                           "network = [[}0[1]", "data.source = \"a\n\u00e4\""})
    EXPECT_THAT(error_in(text), HasSubstr("file:")) << text;
  // Depth is counted outside of strings, however they are quoted.
  const auto repeated = [](const char* part) {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += part;
    return text;
  };
  for (const std::string& deep :
       {"a" + repeated(".a") + " = 1", "a = " + repeated("["), "a = " + repeated("{b="),
        "a = [\"\"\"\n'\"\"\", {b" + repeated(".b") + " = 1}]", "a = ['''\n\"''', " + repeated("["),
        "a = [\"\"\"x\"\"\"\", " + repeated("["), "a = '\\' # '\nb" + repeated(".b") + " = 1"})
    EXPECT_THAT(error_in(deep), HasSubstr("nested more than 32 deep")) << deep.substr(0, 20);
  const std::string dots(100, '.'), brackets(100, '[');
  for (const char* quotes : {"'", "\"", "'''", "\"\"\""})
    EXPECT_EQ(parsed("data.source = " + (quotes + dots + brackets) + quotes).data.source, dots + brackets);
  EXPECT_EQ(parsed("data.source = \"\"\"\\\n\u00a7\"\"\"").data.source, "\u00a7");
  EXPECT_EQ(parsed("# \u00e4 %\ndata.source = '\u00e4 %c3%25 \xff'").data.source, "\u00e4 %c3%25 \xff");
  EXPECT_EQ(parsed("data.source = \"\\u00e4%\"").data.source, "\u00e4%");
}

TEST(Config, SaysWhichTextIsNoSetting) {
  TrainOptions options;
  apply_setting(options, "network", "784-256,10");
  apply_setting(options, "densities", "0.25,1");
  apply_setting(options, "sparsity", "1e-1");
  apply_setting(options, "activation", "all-relu");
  apply_setting(options, "free-lost", "false");
  apply_setting(options, "seed", "18446744073709551615");
  EXPECT_THAT(options.network.neurons, ElementsAre(784, 256, 10));
  EXPECT_THAT(options.network.densities, ElementsAre(0.25, 1.0));
  EXPECT_EQ(options.network.sparsity, 0.1);
  EXPECT_EQ(options.network.activation, HiddenActivation::all_relu);
  EXPECT_FALSE(options.evolution.free_lost);
  EXPECT_EQ(options.run.seed, 18446744073709551615u);

  EXPECT_EQ(refusal("sparsity", "1.5"), "sparsity is 1.5, but must be from 0 to below 1");
  EXPECT_EQ(refusal("init", "x"), "init is 'x', but must be he, glorot or ertl");
  EXPECT_THAT(refusal("network", "784"), HasSubstr("two or more"));
  for (const char* text : {"784-", "-784-10", "784--10", "784-x-10", "784-2.5-10", "", "784-99999999999"})
    EXPECT_THAT(refusal("network", text), HasSubstr("a whole number from 1")) << text;
  EXPECT_THAT(refusal("densities", "0.5,"), HasSubstr("a number above 0"));
  EXPECT_THAT(refusal("epochs", "3.5"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("epochs", "-1"), HasSubstr("epochs is -1"));
  EXPECT_THAT(refusal("lr", "nan"), HasSubstr("lr is nan"));
  EXPECT_THAT(refusal("lr", "1e999"), HasSubstr("'1e999'"));
  EXPECT_THAT(refusal("lr", " 1"), HasSubstr("' 1'"));
  EXPECT_THAT(refusal("seed", "-1"), HasSubstr("'-1'"));
  EXPECT_THAT(refusal("dense", "yes"), HasSubstr("true or false"));
  EXPECT_THAT(refusal("rate", "1"), HasSubstr("there is no setting 'rate'"));

  options.learning.lr = std::nan("");
  EXPECT_THROW(check_settings(options), std::invalid_argument);
}

TEST(Config, AppliesThePresetBeforeTheKeys) {
  const TrainOptions best = preset_options("best");
  // The key stands below, but the preset comes first.
  const TrainConfig config = parsed("epochs = 3\npreset = \"best\"\n");
  TrainOptions expected = best;
  expected.run.epochs = 3;
  expected.preset = "best";
  EXPECT_EQ(config.options, expected);
  EXPECT_EQ(parsed(to_toml(config)).options, expected);

  // A preset chosen before beats the file's, but not its other keys.
  TrainConfig defaults;
  defaults.options = preset_options("fast");
  defaults.options.preset = "fast";
  expected = defaults.options;
  expected.run.epochs = 3;
  EXPECT_EQ(parsed("epochs = 3\npreset = \"best\"\n", defaults).options, expected);

  EXPECT_THAT(error_in("\npreset = \"worst\""), AllOf(HasSubstr("file:2: "), HasSubstr("best")));
  EXPECT_THAT(error_in("preset = 3"), HasSubstr("preset is 3"));
}

}  // namespace
}  // namespace filigree::internal
