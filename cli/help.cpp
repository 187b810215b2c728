// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "filigree/runtime.h"

namespace filigree::cli {

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

bool is_flag(const CLI::Option& option) {
  return option.get_expected_max() == 0 || option.get_type_size_max() == 0;
}

namespace {

constexpr int kWidest = 100, kNarrowest = 48, kWithoutTerminal = 80;

// What follows the options is kept in the footer: records of "kind\x1ftext[\x1ftext]\x1e".
constexpr char kField = '\x1f', kRecord = '\x1e';

struct Footer {
  std::vector<Example> examples;
  std::vector<std::string> notes;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Footer footer_of(const CLI::App& app) {
  Footer footer;
  for (const std::string& record : split(app.get_footer(), kRecord)) {
    const std::vector<std::string> fields = split(record, kField);
    if (fields[0] == "example" && fields.size() == 3) footer.examples.push_back({fields[1], fields[2]});
    if (fields[0] == "note" && fields.size() == 2) footer.notes.push_back(fields[1]);
  }
  return footer;
}

void append_record(CLI::App& app, const std::vector<std::string>& fields) {
  std::string record;
  for (const std::string& field : fields) record += (record.empty() ? "" : std::string(1, kField)) + field;
  app.footer(app.get_footer() + record + kRecord);
}

// Columns a text takes: characters, not bytes.
std::size_t columns(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

// `text` in lines of `width` columns, each but the first indented.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t used = indent;
  for (const std::string& word : split(text, ' ')) {
    if (word.empty()) continue;
    const bool first = used == indent;
    if (!first && used + 1 + columns(word) > width) {
      result += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!first) {
      result += ' ';
      ++used;
    }
    result += word;
    used += columns(word);
  }
  return result;
}

// CLI11 appends what validators say to the metavariable: "N:INT in [1 - 65536]", "E:{plain,compiled}".
struct TypeName {
  std::string name, possible;
};
TypeName type_name(const CLI::Option& option) {
  const std::string all = option.get_type_name();
  const std::size_t colon = all.find(':');
  TypeName result{all.substr(0, colon), ""};
  if (colon == std::string::npos) return result;
  const std::string rest = all.substr(colon + 1);
  if (const std::size_t in = rest.find("in ["); in != std::string::npos) {
    std::string range = rest.substr(in + 4, rest.find(']', in) - in - 4);
    if (const std::size_t to = range.find(" - "); to != std::string::npos) range.replace(to, 3, " to ");
    result.possible = "from " + range;
  } else if (rest.starts_with('{')) {
    std::string words = rest.substr(1, rest.find('}') - 1);
    for (std::size_t comma = words.find(','); comma != std::string::npos; comma = words.find(',', comma + 2))
      words.replace(comma, 1, ", ");
    if (const std::size_t last = words.rfind(", "); last != std::string::npos) words.replace(last, 2, " or ");
    result.possible = words;
  }
  return result;
}

// Takes "[…]" or "{…}" off the end of a description.
std::string taken_off(std::string& text, char open, char close) {
  const std::size_t begin = text.rfind(std::string(" ") + open);
  if (!text.ends_with(close) || begin == std::string::npos) return "";
  const std::string inside = text.substr(begin + 2, text.size() - begin - 3);
  text.resize(begin);
  return inside;
}

// The words of "plain, tiled or fused"; none of "from 0 to 1".
std::vector<std::string> words_in(std::string possible) {
  if (const std::size_t last = possible.rfind(" or "); last != std::string::npos)
    possible.replace(last, 4, ", ");
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < possible.size();) {
    const std::size_t end = std::min(possible.find(", ", begin), possible.size());
    words.push_back(possible.substr(begin, end - begin));
    begin = end + 2;
  }
  const auto one_word = [](const std::string& word) { return word.find(' ') == std::string::npos; };
  return words.size() > 1 && std::ranges::all_of(words, one_word) ? words : std::vector<std::string>();
}

// What is possible and the default stand at the end of a description: "learning rate {from 0 to 1000} [0.1]".
OptionHelp option_help(const CLI::Option& option) {
  OptionHelp help;
  const TypeName type = type_name(option);
  help.flag = is_flag(option);
  help.long_names = option.get_lnames();
  if (option.get_positional()) {
    help.names = option.get_name(true);
    std::ranges::transform(help.names, help.names.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (!option.get_required()) help.names = "[" + help.names + "]";
  }
  for (const std::string& name : option.get_snames()) help.names += (help.names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames())
    help.names += (help.names.empty() ? "--" : ", --") + name;
  if (!help.flag && !option.get_positional() && !type.name.empty()) help.names += " " + type.name;
  help.text = option.get_description();
  help.standard = taken_off(help.text, '[', ']');
  if (help.standard.empty() && !help.flag) help.standard = option.get_default_str();
  help.possible = taken_off(help.text, '{', '}');
  if (help.possible.empty()) help.possible = type.possible;
  help.words = words_in(help.possible);
  help.required = option.get_required();
  help.group = option.get_positional() ? "Arguments" : option.get_group();
  return help;
}

std::string text_with_default(const OptionHelp& help) {
  std::vector<std::string> facts;
  if (!help.possible.empty()) facts.push_back(help.possible);
  if (!help.standard.empty()) facts.push_back("default: " + help.standard);
  if (help.required) facts.emplace_back("required");
  return facts.empty() ? help.text : fmt::format("{} ({})", help.text, fmt::join(facts, "; "));
}

std::string usage(const CLI::App& command) {
  std::string text = full_name(command);
  if (!subcommands(command).empty()) return text + " COMMAND [options]";
  std::string required;
  for (const OptionHelp& help : option_helps(command)) {
    if (!help.names.starts_with('-')) {
      text += " " + help.names;
    } else if (help.required) {
      required += " " + help.names;
    }
  }
  return text + required + " [options]";
}

struct Group {
  std::string heading;
  std::vector<OptionHelp> options;
};

std::vector<Group> grouped(const CLI::App& command) {
  std::vector<Group> groups;
  for (const OptionHelp& help : option_helps(command)) {
    auto group = std::ranges::find(groups, help.group, &Group::heading);
    if (group == groups.end()) group = groups.insert(groups.end(), {help.group, {}});
    group->options.push_back(help);
  }
  std::stable_partition(groups.begin(), groups.end(),
                        [](const Group& g) { return g.heading != "Help and output"; });
  std::stable_partition(groups.begin(), groups.end(),
                        [](const Group& g) { return g.heading == "Arguments"; });
  return groups;
}

// Subcommands in the order of their groups.
struct CommandGroup {
  std::string heading;
  std::vector<const CLI::App*> commands;
};
std::vector<CommandGroup> command_groups(const CLI::App& app) {
  std::vector<CommandGroup> groups;
  for (const CLI::App* command : subcommands(app)) {
    auto group = std::ranges::find(groups, command->get_group(), &CommandGroup::heading);
    if (group == groups.end()) group = groups.insert(groups.end(), {command->get_group(), {}});
    group->commands.push_back(command);
  }
  return groups;
}

// A name and its text: side by side if the name is short.
std::string entry(const std::string& name, const std::string& text, std::size_t at, std::size_t width) {
  std::string line = "  " + name;
  if (columns(line) + 2 <= at) {
    line += std::string(at - columns(line), ' ');
  } else {
    line += "\n" + std::string(at, ' ');
  }
  return line + wrapped(text, at, width) + "\n";
}

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text.ends_with('.') ? text : text + ".";
}

// "  name  text": the text wraps under itself.
std::string listed(const std::string& line, std::size_t width) {
  const std::size_t gap = line.find("  ", 2), text = line.find_first_not_of(' ', std::min(gap, line.size()));
  if (text == std::string::npos) return line + "\n";
  return line.substr(0, text) + wrapped(line.substr(text), text, width) + "\n";
}

std::string notes_text(const std::vector<std::string>& notes, std::size_t width) {
  std::string text;
  for (const std::string& note : notes) {
    text += "\n";
    for (const std::string& line : split(note, '\n'))
      text += line.starts_with("  ") ? listed(line, width) : wrapped(line, 0, width) + "\n";
  }
  return text;
}

// Troff takes a backslash, and a dot or quote at the beginning of a line, for its own.
std::string troff(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((i == 0 || text[i - 1] == '\n') && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string hyphenated(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return name;
}

}  // namespace

int text_width() {
  winsize size{};
  int width = kWithoutTerminal;
  const char* const asked = std::getenv("COLUMNS");
  int given = 0;
  if (asked != nullptr &&
      std::from_chars(asked, asked + std::string_view(asked).size(), given).ec == std::errc() && given > 0) {
    width = given;
  } else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  }
  return std::clamp(width, kNarrowest, kWidest);
}

void add_examples(CLI::App& app, const std::vector<Example>& examples) {
  for (const Example& example : examples) append_record(app, {"example", example.command, example.what});
}

void add_note(CLI::App& app, const std::string& text) {
  append_record(app, {"note", text});
}

std::vector<OptionHelp> option_helps(const CLI::App& command) {
  std::vector<OptionHelp> helps;
  for (const CLI::Option* option : command.get_options())
    if (!option->get_group().empty()) helps.push_back(option_help(*option));  // no group: hidden
  return helps;
}

std::string help_text(const CLI::App& command, int width_asked) {
  const std::size_t width = width_asked;
  const std::size_t at = width >= 70 ? 26 : 10;
  std::string text = wrapped(sentence(command.get_description()), 0, width) + "\n";
  text += "\nUsage: " + wrapped(usage(command), 7, width) + "\n";
  for (const CommandGroup& group : command_groups(command)) {
    text += "\n" + group.heading + ":\n";
    for (const CLI::App* each : group.commands)
      text += entry(each->get_name(), each->get_description(), 14, width);
  }
  for (const Group& group : grouped(command)) {
    text += "\n" + group.heading + ":\n";
    for (const OptionHelp& help : group.options)
      text += entry(help.names, text_with_default(help), at, width);
  }
  const Footer footer = footer_of(command);
  text += notes_text(footer.notes, width);
  if (!footer.examples.empty()) {
    text += "\nExamples:\n";
    for (const Example& example : footer.examples)
      text += "  " + wrapped(example.command, 6, width) + "\n      " + wrapped(example.what, 6, width) + "\n";
  }
  return text;
}

std::string man_page(const CLI::App& command) {
  const std::string name = hyphenated(full_name(command));
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text = fmt::format(".TH {} 1 \"\" \"filigree {}\" \"filigree\"\n.SH NAME\n{} \\- {}\n",
                                 troff(upper), version(), troff(name), troff(command.get_description()));
  text += fmt::format(".SH SYNOPSIS\n.B {}\n", troff(usage(command)));
  for (const CommandGroup& group : command_groups(command)) {
    text += fmt::format(".SH {}\n", troff(group.heading));
    for (const CLI::App* each : group.commands)
      text += fmt::format(".TP\n.B {}\n{}\n", troff(hyphenated(full_name(*each)) + "(1)"),
                          troff(sentence(each->get_description())));
  }
  for (const Group& group : grouped(command)) {
    text += fmt::format(".SH {}\n", troff(group.heading));
    for (const OptionHelp& help : group.options)
      text += fmt::format(".TP\n.B {}\n{}\n", troff(help.names), troff(sentence(text_with_default(help))));
  }
  const Footer footer = footer_of(command);
  if (!footer.notes.empty()) text += ".SH NOTES\n";
  for (const std::string& note : footer.notes) {
    text += ".PP\n.nf\n" + troff(note) + "\n.fi\n";
  }
  if (!footer.examples.empty()) text += ".SH EXAMPLES\n";
  for (const Example& example : footer.examples)
    text += fmt::format(".TP\n.B {}\n{}\n", troff(example.command), troff(sentence(example.what)));
  text += ".SH EXIT STATUS\n0: done. 1: it failed, and a message says why. 2: wrong usage.\n";
  if (command.get_parent() != nullptr) text += ".SH SEE ALSO\n.BR filigree (1)\n";
  return text;
}

std::string markdown_page(const CLI::App& command) {
  std::string text = fmt::format("# {}\n\n{}\n\n```\n{}\n```\n", full_name(command),
                                 sentence(command.get_description()), usage(command));
  for (const CommandGroup& group : command_groups(command)) {
    text += fmt::format("\n## {}\n\n| command | what it does |\n|---|---|\n", group.heading);
    for (const CLI::App* each : group.commands)
      text += fmt::format("| `{}` | {} |\n", full_name(*each), each->get_description());
  }
  const auto cell = [](std::string value) {
    for (std::size_t bar = value.find('|'); bar != std::string::npos; bar = value.find('|', bar + 2))
      value.replace(bar, 1, "\\|");
    return value;
  };
  for (const Group& group : grouped(command)) {
    text += fmt::format("\n## {}\n\n| option | what it does | default |\n|---|---|---|\n", group.heading);
    for (const OptionHelp& help : group.options)
      text += fmt::format("| `{}` | {}{}{} | {} |\n", help.names, cell(help.text),
                          help.possible.empty() ? "" : " (" + cell(help.possible) + ")",
                          help.required ? "; required" : "",
                          help.standard.empty() ? "" : "`" + help.standard + "`");
  }
  const Footer footer = footer_of(command);
  for (const std::string& note : footer.notes) text += "\n```\n" + note + "\n```\n";
  if (!footer.examples.empty()) text += "\n## Examples\n";
  for (const Example& example : footer.examples)
    text += fmt::format("\n{}\n\n```\n{}\n```\n", sentence(example.what), example.command);
  return text;
}

std::string nearest(const std::string& typed, const std::vector<std::string>& words) {
  // Edits, a swap of neighbours counted as one (optimal string alignment).
  const auto distance = [](const std::string& a, const std::string& b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    std::iota(d[0].begin(), d[0].end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i)
      for (std::size_t j = 1; j <= b.size(); ++j) {
        d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
          d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    return d[a.size()][b.size()];
  };
  std::string best;
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;  // a third of the letters may be wrong
  for (const std::string& word : words) {
    std::size_t edits = distance(typed, word);
    if (typed.size() >= 3 && word.starts_with(typed)) edits = 1;  // cut short
    if (edits < least) {
      least = edits;
      best = word;
    }
  }
  return best;
}

}  // namespace filigree::cli
