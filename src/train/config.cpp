// SPDX-License-Identifier: Apache-2.0
// TOML to settings: every key is looked at, everything unexpected has its line.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1  // without them toml++ 3.3 goes on after some errors
// Malformed text can break its assertions ("a = [[}"), which neither abort here nor go unchecked.
#define TOML_ASSERT(condition) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : filigree::internal::refuse_malformed())

namespace filigree::internal {
[[noreturn]] void refuse_malformed();
}

#include "train/config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "base/error.h"
#include "filigree/train.h"
#include "io/message_text.h"
#include "train/settings.h"
#include "train/toml_letters.h"

namespace filigree::internal {

void refuse_malformed() {
  throw std::domain_error("malformed TOML");
}

namespace {

// Where the string that begins at `begin` ends: behind its closing quotes, or where the parser will complain.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const bool several_lines = text.substr(begin).starts_with(std::string(3, quote));
  for (std::size_t i = begin + (several_lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == '\n' && !several_lines) {
      return i;
    } else if (text[i] == quote && !several_lines) {
      return i + 1;
    } else if (text[i] == quote && text.substr(i).starts_with(std::string(3, quote))) {
      for (i += 3; i < text.size() && text[i] == quote;) ++i;  // a string may end with quotes of its own
      return i;
    }
  }
  return text.size();
}

// The library descends into nested values, and into the parts of dotted keys, by recursion: no deeper than
// makes sense.
void check_depth(std::string_view text, const std::string& file) {
  constexpr int kDeepest = 32;
  int depth = 0, dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '#':
        i = std::min(text.find('\n', i), text.size()) - 1;
        break;
      case '"':
      case '\'':
        i = end_of_string(text, i) - 1;
        break;
      case '.':
        ++dots;
        break;
      case '[':
      case '{':
        ++depth;
        dots = 0;
        break;
      case ']':
      case '}':
        depth = std::max(0, depth - 1);
        dots = 0;
        break;
      case ',':
      case '=':
      case '\n':
        dots = 0;
        break;
      default:
        break;
    }
    if (depth > kDeepest || dots > kDeepest)
      fail("{}:{}: values or keys nested more than {} deep", file,
           1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n'), kDeepest);
  }
}

// One value and where it stands.
struct Place {
  const std::string& file;
  std::string_view key;
  const toml::node& node;
  const Setting* setting = nullptr;  // that it is a value of

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}:{}: {}", file, node.source().begin.line, fmt::format(format, std::forward<Args>(args)...));
  }

  // "but must be …", with what it is instead.
  [[noreturn]] void mismatch(const std::string& wanted) const {
    std::string found = "a table";
    if (node.is_array()) found = "a list";
    if (node.is_boolean()) found = **node.as_boolean() ? "true" : "false";
    if (node.is_integer()) found = fmt::format("{}", **node.as_integer());
    if (node.is_floating_point()) found = fmt::format("{}", **node.as_floating_point());
    if (node.is_string()) found = in_quotes(show_letters(**node.as_string()));
    if (node.is_date() || node.is_time() || node.is_date_time()) found = "a date or time";
    refuse("{} is {}, but must be {}", key, found, wanted);
  }

  void check_range(double number) const {
    if (const std::string fault = fault_of_number(*setting, number); !fault.empty()) refuse("{}", fault);
  }
  std::string possible() const { return possible_numbers(*setting); }
};

std::string text_at(const Place& place) {
  if (!place.node.is_string()) place.mismatch("text in quotes");
  return show_letters(**place.node.as_string());
}

double number_at(const Place& place, const std::string& wanted) {
  if (place.node.is_integer()) return **place.node.as_integer();
  if (!place.node.is_floating_point()) place.mismatch(wanted);
  return **place.node.as_floating_point();
}

// TOML's numbers end at 2^63; larger ones are written as text.
std::uint64_t seed_at(const Place& place) {
  if (place.node.is_integer() && **place.node.as_integer() >= 0) return **place.node.as_integer();
  if (place.node.is_string()) {
    const std::string& text = **place.node.as_string();
    std::uint64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error == std::errc() && end == text.data() + text.size()) return seed;
  }
  place.mismatch("a whole number from 0 to 2^64 - 1");
}

void read_value(const Place& place, bool& value) {
  if (!place.node.is_boolean()) place.mismatch("true or false");
  value = **place.node.as_boolean();
}

void read_value(const Place& place, double& value) {
  value = number_at(place, "a number " + place.possible());
  place.check_range(value);
}

void read_value(const Place& place, const WordMember& value) {
  if (!place.node.is_string() || !value.set(**place.node.as_string())) place.mismatch(one_of(value.words()));
}

template <typename T>
requires std::is_integral_v<T>
void read_value(const Place& place, T& value) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    value = seed_at(place);
  } else {
    if (!place.node.is_integer()) place.mismatch("a whole number " + place.possible());
    const std::int64_t number = **place.node.as_integer();
    place.check_range(number);
    value = static_cast<T>(number);  // the ranges lie within the types
  }
}

template <typename T>
void read_value(const Place& place, std::vector<T>& list) {
  if (!place.node.is_array()) place.mismatch("a list of numbers in [ ]");
  list.clear();
  for (const toml::node& each : *place.node.as_array())
    read_value({place.file, place.key, each, place.setting}, list.emplace_back());
  if (const std::string fault = fault_of_length(*place.setting, list.size()); !fault.empty())
    place.refuse("{}", fault);
}

bool flag_at(const Place& place) {
  if (!place.node.is_boolean()) place.mismatch("true or false");
  return **place.node.as_boolean();
}

// Names, or the number of one column.
std::string columns_at(const Place& place) {
  return place.node.is_integer() ? fmt::format("{}", **place.node.as_integer()) : text_at(place);
}

template <typename T>
T word_at(const Place& place) {
  const std::optional<T> value = place.node.is_string() ? from_word<T>(text_at(place)) : std::nullopt;
  if (!value) place.mismatch(one_of(Words<T>::kWords));
  return *value;
}

std::string toml_text(std::string_view text);
std::string toml_number(double value);
std::string toml_number(std::uint64_t value);

// A key of [data]: how it is read, and its value as TOML; nothing where it need not be written.
struct DataKey {
  std::string_view name;
  void (*read)(const Place& place, DataOptions& data);
  std::optional<std::string> (*write)(const DataOptions& data);
};

std::optional<std::string> unless(bool usual, std::string text) {
  return usual ? std::nullopt : std::optional(std::move(text));
}

constexpr DataKey kDataKeys[] = {
    {"source", [](const Place& at, DataOptions& d) { d.source = text_at(at); },
     [](const DataOptions& d) { return std::optional(toml_text(d.source)); }},
    {"label-column", [](const Place& at, DataOptions& d) { d.label_column = columns_at(at); },
     [](const DataOptions& d) { return std::optional(toml_text(d.label_column)); }},
    {"test-share",
     [](const Place& at, DataOptions& d) {
       d.test_share = number_at(at, "a number from 0 to below 1");
       if (!(d.test_share >= 0 && d.test_share < 1)) at.mismatch("from 0 to below 1");
     },
     [](const DataOptions& d) { return std::optional(toml_number(d.test_share)); }},
    {"seed", [](const Place& at, DataOptions& d) { d.seed = seed_at(at); },
     [](const DataOptions& d) { return std::optional(toml_number(d.seed)); }},
    {"task", [](const Place& at, DataOptions& d) { d.task = word_at<Task>(at); },
     [](const DataOptions& d) { return unless(!d.task, d.task ? toml_text(word(*d.task)) : ""); }},
    {"weight-column", [](const Place& at, DataOptions& d) { d.table.weight_column = columns_at(at); },
     [](const DataOptions& d) {
       return unless(d.table.weight_column.empty(), toml_text(d.table.weight_column));
     }},
    {"drop-columns", [](const Place& at, DataOptions& d) { d.table.drop_columns = columns_at(at); },
     [](const DataOptions& d) {
       return unless(d.table.drop_columns.empty(), toml_text(d.table.drop_columns));
     }},
    {"text-columns", [](const Place& at, DataOptions& d) { d.table.text_columns = columns_at(at); },
     [](const DataOptions& d) {
       return unless(d.table.text_columns.empty(), toml_text(d.table.text_columns));
     }},
    {"missing", [](const Place& at, DataOptions& d) { d.table.missing = word_at<Missing>(at); },
     [](const DataOptions& d) {
       return unless(d.table.missing == Missing::mean, toml_text(word(d.table.missing)));
     }},
    {"missing-value",
     [](const Place& at, DataOptions& d) { d.table.missing_value = number_at(at, "a number"); },
     [](const DataOptions& d) {
       return unless(d.table.missing_value == 0, toml_number(d.table.missing_value));
     }},
    {"mark-missing", [](const Place& at, DataOptions& d) { d.table.mark_missing = flag_at(at); },
     [](const DataOptions& d) { return unless(!d.table.mark_missing, "true"); }},
    {"rare",
     [](const Place& at, DataOptions& d) {
       const double rare = number_at(at, "a whole number from 0");
       if (!(rare >= 0 && rare < 1e9 && rare == std::floor(rare))) at.mismatch("a whole number from 0");
       d.table.rare = static_cast<Index>(rare);
     },
     [](const DataOptions& d) { return unless(d.table.rare == 0, fmt::format("{}", d.table.rare)); }},
    {"separator",
     [](const Place& at, DataOptions& d) {
       const std::string text = text_at(at);
       if (text.size() != 1) at.mismatch("one letter");
       d.table.separator = text[0];
     },
     [](const DataOptions& d) {
       return unless(d.table.separator == 0, toml_text({&d.table.separator, 1}));
     }},
    {"header", [](const Place& at, DataOptions& d) { d.table.header = word_at<Header>(at); },
     [](const DataOptions& d) {
       return unless(d.table.header == Header::automatic, toml_text(word(d.table.header)));
     }},
    {"decimal-comma", [](const Place& at, DataOptions& d) { d.table.decimal_comma = flag_at(at); },
     [](const DataOptions& d) { return unless(!d.table.decimal_comma, "true"); }},
};

void read_data(const std::string& file, const toml::node& node, DataOptions& data) {
  const Place place{file, "data", node};
  if (!node.is_table()) place.mismatch("a table: [data]");
  for (auto&& [key, value] : *node.as_table()) {
    const Place at{file, key.str(), value};
    const auto* const found = std::ranges::find(kDataKeys, at.key, &DataKey::name);
    if (found == std::end(kDataKeys)) {
      std::vector<std::string_view> names;
      for (const DataKey& each : kDataKeys) names.push_back(each.name);
      at.refuse("unknown key {} in [data]; possible are {}", in_quotes(show_letters(at.key)), one_of(names));
    }
    found->read(at, data);
  }
}

void apply_preset(const Place& place, TrainOptions& options) {
  const std::string name = text_at(place);
  try {
    const TrainOptions preset = name == kAutomaticPreset ? TrainOptions{} : preset_options(name);
    if (!options.preset.empty()) return;  // chosen before the file was read: it wins
    options = preset;
    options.preset = name;
  } catch (const std::exception& error) {
    place.refuse("{}", error.what());
  }
}

void read_setting(Place place, TrainOptions& options) {
  place.setting = find_setting(place.key);
  if (place.setting == nullptr) {
    std::string names;
    for (const Setting& each : all_settings()) names += fmt::format(" {},", each.name);
    place.refuse("unknown key {}; possible are{} preset and [data]", in_quotes(show_letters(place.key)),
                 names);
  }
  std::visit(
      [&](auto member) {
        if constexpr (std::is_pointer_v<decltype(member)>)
          read_value(place, *member);
        else
          read_value(place, member);
      },
      place.setting->member(options));
}

// A float of TOML: always with a point or an exponent.
std::string toml_number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string toml_number(std::uint64_t value) {
  const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return fits ? fmt::format("{}", value) : fmt::format("\"{}\"", value);
}

std::string toml_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\u{:04x}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

template <typename T>
std::string toml_value(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, WordMember>) {
    return toml_text(value.word());
  } else if constexpr (kIsList<T>) {
    std::string text;
    for (const auto each : value) text += (text.empty() ? "" : ", ") + toml_value(each);
    return "[" + text + "]";
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::uint64_t>) {
    return toml_number(value);
  } else {
    return fmt::format("{}", value);
  }
}

}  // namespace

TrainConfig parse_config(Source source, const TrainConfig& defaults) {
  const std::string& file = source.name();
  const std::string text = read_text(source);
  check_depth(text, file);
  if (escapes_percent(text)) fail("{}: \\u0025 is not supported; write % itself", file);
  const std::string hidden = hide_letters(text);
  toml::table root;
  try {
    root = toml::parse(std::string_view(hidden));
  } catch (const toml::parse_error& error) {
    fail("{}:{}: {}", file, error.source().begin.line, error.description());
  } catch (const std::domain_error& error) {
    fail("{}: {}", file, error.what());
  }
  TrainConfig config = defaults;
  if (const toml::node* preset = root.get("preset")) apply_preset({file, "preset", *preset}, config.options);
  for (auto&& [key, node] : root) {
    if (key.str() == "preset") continue;
    if (key.str() == "data") {
      read_data(file, node, config.data);
    } else {
      read_setting({file, key.str(), node}, config.options);
    }
  }
  return config;
}

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

TrainConfig read_config(const std::filesystem::path& path, const TrainConfig& defaults) {
  return parse_config(Source(path), defaults);
}

std::string to_toml(const TrainConfig& config) {
  std::string text = "# A training run of filigree: filigree train --config FILE\n";
  if (!config.options.preset.empty())
    text += fmt::format("preset = {}  # applied before everything below\n", toml_text(config.options.preset));
  TrainOptions options = config.options;
  std::string_view group;
  for (const Setting& setting : all_settings()) {
    if (setting.group != group) text += fmt::format("\n# {}\n", setting.group);
    group = setting.group;
    const std::string value = std::visit(
        [](const auto& member) {
          if constexpr (std::is_pointer_v<std::decay_t<decltype(member)>>)
            return toml_value(*member);
          else
            return toml_value(member);
        },
        setting.member(options));
    text += fmt::format("{:<40}  # {}\n", fmt::format("{} = {}", setting.name, value), setting.help);
  }
  text += "\n[data]\n";
  for (const DataKey& key : kDataKeys)
    if (const auto value = key.write(config.data)) text += fmt::format("{} = {}\n", key.name, *value);
  return text;
}

}  // namespace filigree
