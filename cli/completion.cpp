// SPDX-License-Identifier: Apache-2.0
// Completion scripts: what may follow each command, written out for bash, zsh and fish.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "cli/help.h"

namespace filigree::cli {

namespace {

// Every command that takes options, "bench kernels" as well as "train".
void collect(const CLI::App& app, std::vector<const CLI::App*>& all) {
  for (const CLI::App* command : subcommands(app)) {
    all.push_back(command);
    collect(*command, all);
  }
}

// {"generate", "network"} of filigree generate network
std::vector<std::string> words_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  std::vector<std::string> words = words_of(*app.get_parent());
  words.push_back(app.get_name());
  return words;
}

std::string words_after(const CLI::App& app) {
  return fmt::format("{}", fmt::join(words_of(app), " "));
}

std::string long_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const OptionHelp& option : option_helps(app))
    for (const std::string& name : option.long_names) names.push_back("--" + name);
  return fmt::format("{}", fmt::join(names, " "));
}

// What follows the options that take one of several words, as cases of the word before: "--engine) … ;;".
template <typename Case>
std::string value_cases(const CLI::App& app, const Case& one_case) {
  std::string cases;
  for (const OptionHelp& option : option_helps(app))
    for (const std::string& name : option.long_names)
      if (!option.words.empty()) cases += one_case(name, fmt::format("{}", fmt::join(option.words, " ")));
  return cases;
}

std::string subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : subcommands(app)) names.push_back(command->get_name());
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bash_script(const CLI::App& program) {
  std::vector<const CLI::App*> all;
  collect(program, all);
  std::string text =
      "# bash completion of filigree\n_filigree() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} words=\"${COMP_WORDS[*]:1:COMP_CWORD-1}\" offered= values=\n"
      "  local before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  case \"$words \" in\n";
  std::ranges::sort(all, std::greater<>(), [](const CLI::App* a) { return words_after(*a).size(); });
  for (const CLI::App* command : all) {
    const std::string values = value_cases(*command, [](const std::string& name, const std::string& words) {
      return fmt::format(" --{}) values=\"{}\" ;;", name, words);
    });
    text += fmt::format(
        "    \"{} \"*) offered=\"{}\"{} ;;\n", words_after(*command),
        subcommands(*command).empty() ? long_options(*command) : subcommands_of(*command) + " --help",
        values.empty() ? "" : fmt::format("; case \"$before\" in{} esac", values));
  }
  text += fmt::format("    *) offered=\"{} --help --version\" ;;\n  esac\n", subcommands_of(program));
  text +=
      "  if [[ -n $values ]]; then mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$word\"); return; "
      "fi\n"
      "  if [[ $word == -* || -z $word || $words != *\\ * ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$offered\" -- \"$word\")\n  fi\n"
      "  [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n}\n"
      "complete -o filenames -F _filigree filigree\n";
  return text;
}

std::string quoted(std::string text) {
  for (std::size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 4))
    text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

std::string fish_script(const CLI::App& program) {
  std::string text = "# fish completion of filigree\n";
  for (const CLI::App* command : subcommands(program))
    text += fmt::format("complete -c filigree -n __fish_use_subcommand -a {} -d {}\n", command->get_name(),
                        quoted(command->get_description()));
  std::vector<const CLI::App*> all;
  collect(program, all);
  for (const CLI::App* command : all) {
    std::string seen;
    for (const std::string& word : words_of(*command))
      seen += (seen.empty() ? "" : "; and ") + fmt::format("__fish_seen_subcommand_from {}", word);
    for (const CLI::App* each : subcommands(*command))
      text += fmt::format("complete -c filigree -n {} -a {} -d {}\n", quoted(seen), each->get_name(),
                          quoted(each->get_description()));
    for (const OptionHelp& option : option_helps(*command))
      for (const std::string& name : option.long_names)
        text +=
            fmt::format("complete -c filigree -n {} -l {} -d {}{}{}\n", quoted(seen), name,
                        quoted(option.text), option.flag ? "" : " -r",
                        option.words.empty() ? "" : fmt::format(" -f -a '{}'", fmt::join(option.words, " ")));
  }
  return text;
}

std::string zsh_script(const CLI::App& program) {
  std::string text =
      "#compdef filigree\n# zsh completion of filigree\n_filigree() {\n  local -a offered\n"
      "  local words_before=\"${words[2,CURRENT-1]}\"\n  case \"$words_before \" in\n";
  std::vector<const CLI::App*> all;
  collect(program, all);
  std::ranges::sort(all, std::greater<>(), [](const CLI::App* a) { return words_after(*a).size(); });
  const auto described = [](const std::string& name, std::string_view what) {
    std::string entry = name + ":";
    for (const char c : what) entry += c == ':' ? std::string("\\:") : std::string(1, c);
    return quoted(entry);
  };
  const auto commands_offered = [&](const CLI::App& app) {
    std::string list;
    for (const CLI::App* each : subcommands(app))
      list += " " + described(each->get_name(), each->get_description());
    return list;
  };
  for (const CLI::App* command : all) {
    std::string list = commands_offered(*command);
    for (const OptionHelp& option : option_helps(*command))
      for (const std::string& name : option.long_names) list += " " + described("--" + name, option.text);
    const std::string values = value_cases(*command, [](const std::string& name, const std::string& words) {
      return fmt::format(" --{}) compadd {}; return ;;", name, words);
    });
    text += fmt::format("    \"{} \"*) offered=({}){} ;;\n", words_after(*command), list,
                        values.empty() ? "" : fmt::format("; case \"$words[CURRENT-1]\" in{} esac", values));
  }
  text += fmt::format("    *) offered=({}) ;;\n  esac\n", commands_offered(program));
  return text + "  _describe filigree offered || _files\n}\ncompdef _filigree filigree\n";
}

}  // namespace

std::string completion_script(const CLI::App& program, Shell shell) {
  switch (shell) {
    case Shell::bash:
      return bash_script(program);
    case Shell::zsh:
      return zsh_script(program);
    case Shell::fish:
      return fish_script(program);
  }
  return "";
}

}  // namespace filigree::cli
