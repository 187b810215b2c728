// SPDX-License-Identifier: Apache-2.0
// Help texts, manual pages and completions, all made from the same tree of commands.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "filigree/vocabulary.h"

namespace filigree::cli {
enum class Shell { bash, zsh, fish };
}  // namespace filigree::cli

namespace filigree {
template <>
struct Words<cli::Shell> {
  static constexpr std::array<std::string_view, 3> kWords = {"bash", "zsh", "fish"};
};
}  // namespace filigree

namespace filigree::cli {

// What CLI11 does not offer by itself.
std::vector<const CLI::App*> subcommands(const CLI::App& app);  // all of them, parsed or not
std::string full_name(const CLI::App& app);                     // "filigree bench kernels"
bool is_flag(const CLI::Option& option);                        // takes no value

// A command as people would type it, and what it does. Kept in the app's footer.
struct Example {
  std::string command, what;
};
void add_examples(CLI::App& app, const std::vector<Example>& examples);

// A paragraph or a table that follows the options; lines that begin with a space are kept as they are.
void add_note(CLI::App& app, const std::string& text);

// An option, as help texts show it.
struct OptionHelp {
  std::string names;                    // "-q, --quiet", "--neurons N", "MODEL"
  std::string text;                     // without the default
  std::string standard;                 // the default; empty: none
  std::string possible;                 // "from 1 to 65536", "plain or compiled"; empty: the text says it
  std::vector<std::string> words = {};  // "plain", "compiled", where there are no others
  std::string group;                    // a heading
  bool required = false;
  bool flag = false;                         // takes no value
  std::vector<std::string> long_names = {};  // "quiet"; none of an argument
};
std::vector<OptionHelp> option_helps(const CLI::App& command);

std::string help_text(const CLI::App& command, int width);  // wrapped, `width` columns at most
std::string man_page(const CLI::App& command);
std::string markdown_page(const CLI::App& command);

std::string completion_script(const CLI::App& program, Shell shell);

// The nearest of `words` to what was typed, if it is near enough to be meant; else empty.
std::string nearest(const std::string& typed, const std::vector<std::string>& words);

// Columns for texts on standard output: the terminal's, at most 100; 80 where there is none.
int text_width();

}  // namespace filigree::cli
