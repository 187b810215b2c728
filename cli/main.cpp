// SPDX-License-Identifier: Apache-2.0
// The program: finds the command, runs it, turns what went wrong into a message and an exit code.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/help.h"

namespace {

using namespace filigree::cli;

struct Command {
  const char* name;
  const char* group;
  const char* what;  // completes "filigree NAME: …"
  Run (*add)(CLI::App& command);
};

Run add_help(CLI::App& command);
Run add_completion(CLI::App& command);

constexpr Command kCommands[] = {
    {"demo", "See it work",
     "run a checked challenge of 1024 neurons × 120 layers and a short sparse training", add_demo},
    {"info", "See it work", "describe a model file or, without one, this machine", add_info},
    {"data", "Train and use",
     "look at a table before training: its columns, gaps, classes, what is suspicious", add_data},
    {"train", "Train and use", "train a network that is sparse from the first step to the last", add_train},
    {"eval", "Train and use", "measure how well a model does on a data set", add_eval},
    {"predict", "Train and use", "compute a model's predictions for the rows of a file", add_predict},
    {"export", "Train and use", "write a network as a C++17 file that needs nothing else", add_export},
    {"analyze", "Train and use", "measure layer by layer whether sparsity pays on this machine", add_analyze},
    {"convert", "Train and use",
     "read networks from other programs' files, and write them: ONNX, PyTorch, SciPy", add_convert},
    {"fetch", "Train and use", "download a public data set and check it", add_fetch},
    {"prune", "Make networks smaller",
     "remove weights, neurons or blocks from a network and measure the result", add_prune},
    {"grow", "Make networks smaller", "grow a network from a small sparse seed, never above a budget",
     add_grow},
    {"compile", "Make networks smaller",
     "rewrite a network exactly: fewer neurons and connections, the same outputs", add_compile},
    {"sweep", "Make networks smaller",
     "compare dense networks with a large sparse one that has as many weights", add_sweep},
    {"challenge", "Sparse DNN Graph Challenge", "run the Sparse DNN Graph Challenge and check the answer",
     add_challenge},
    {"generate", "Sparse DNN Graph Challenge", "make RadiX-Net networks, challenge images, or official files",
     add_generate},
    {"bench", "Measure", "measure speed and accuracy, next to other libraries in the same run", add_bench},
    {"help", "Help", "show the help of a command, also as a manual page", add_help},
    {"completion", "Help", "print a completion script for bash, zsh or fish", add_completion},
};

// Ctrl-C and kill ask the running command to stop; a second one ends the program at once. Signals are taken
// by a thread of their own, where everything is allowed.
class SignalWatch {
 public:
  SignalWatch() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);  // before any other thread starts: all inherit it
    try {
      std::thread([this] {
        int signal = 0;
        sigwait(&signals_, &signal);
        stop_.request_stop();
        const timespec tenth{0, 100'000'000};
        for (int waiting = 0; waiting < 5; waiting = reads_a_pipe() ? waiting + 1 : 0)
          if (sigtimedwait(&signals_, nullptr, &tenth) > 0) _exit(1);
        complain("interrupted while waiting for input");
        _exit(1);
      }).detach();
    } catch (
        const std::system_error&) {  // no thread to be had: signals end the program, as they do by themselves
      pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    }
  }
  std::stop_token token() const { return stop_.get_token(); }

  // Whether the main thread sits in a system call that opens or reads a file: one that takes half a second
  // waits for somebody else, and nobody asks it to stop.
  static bool reads_a_pipe() {
    std::ifstream file(fmt::format("/proc/self/task/{}/syscall", ::getpid()));
    long call = -1;
    file >> call;
    return file && (call == SYS_read || call == SYS_openat);
  }

 private:
  sigset_t signals_{};
  std::stop_source stop_;
};

// A command and what it was given, ready to run.
struct Parsed {
  CLI::App* command;
  Run run;
};

// Options belong to the help of a command; the order in which they are added is that of the page.
void add_help_flag(CLI::App& app) {
  app.set_help_flag("");  // CLI11's own throws before everything is parsed
  app.add_flag_function(
         "-h,--help", [](std::int64_t) {}, "show this help")
      ->group("Help and output");
}

// Adds every command by name; those that `wanted` accepts with their options.
template <typename Wanted>
std::vector<Parsed> add_commands(CLI::App& app, const Wanted& wanted) {
  std::vector<Parsed> commands;
  for (const Command& each : kCommands) {
    CLI::App* command = app.add_subcommand(each.name, each.what)->group(each.group);
    command->footer("");  // CLI11 hands the program's down
    if (!wanted(each)) continue;
    Run run = each.add(*command);
    for (CLI::App* sub : command->get_subcommands([](const CLI::App*) { return true; })) add_help_flag(*sub);
    add_help_flag(*command);
    commands.push_back({command, std::move(run)});
  }
  return commands;
}

void set_up(CLI::App& app) {
  app.require_subcommand(1);
  add_help_flag(app);
  app.add_flag_function(
         "--version", [](std::int64_t) {}, "print the version")
      ->group("Help and output");
  add_examples(app, {{"filigree demo", "see it work, without any data"},
                     {"filigree train --data csv:table.csv --label-column species --out runs/first",
                      "train a sparse network on a table"},
                     {"filigree predict runs/first/model.safetensors --input rows.csv --out -", "use it"}});
}

// The app of "bench kernels": the deepest that the words name. `at`: the first word that is none of them.
CLI::App* find_command(CLI::App& app, std::span<const std::string> words, std::size_t& at) {
  CLI::App* found = &app;
  for (at = 0; at < words.size(); ++at) {
    const auto subs =
        found->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == words[at]; });
    if (subs.empty()) break;
    found = subs.front();
  }
  return found;
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : subcommands(app)) names.push_back(sub->get_name());
  return names;
}

std::string did_you_mean(const std::string& typed, const std::vector<std::string>& words) {
  if (typed == "version" || typed == "-V" || typed == "-v") return "; did you mean --version?";
  const std::string meant = nearest(typed, words);
  return meant.empty() ? "" : fmt::format("; did you mean {}?", meant);
}

[[noreturn]] void refuse_command(const CLI::App& app, const std::string& word) {
  const std::string parent = app.get_parent() == nullptr ? "" : fmt::format(" of {}", full_name(app));
  throw std::invalid_argument(fmt::format("there is no command '{}'{}{}\nTry: {} --help", word, parent,
                                          did_you_mean(word, names_of_commands(app)), full_name(app)));
}

// An option that the command does not have, named before CLI11 takes its value for the mistake.
void refuse_unknown_options(const CLI::App& command, std::span<const std::string> words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") return;
    if (word.empty())
      throw std::invalid_argument(fmt::format(
          "{} is empty\nTry: {} --help",
          i > 0 && words[i - 1].starts_with("--") ? "the value of " + words[i - 1] : "an argument",
          full_name(command)));
    std::string name = word.substr(0, word.find('='));
    if (name.starts_with("--") && name.size() + 1 == word.size())
      throw std::invalid_argument(
          fmt::format("the value of {} is empty\nTry: {} --help", name, full_name(command)));
    // -epochs: one dash too few; -x: no such option. -1 is a number, and - standard input.
    const bool one_dash =
        name.size() > 1 && name[0] == '-' && std::isalpha(static_cast<unsigned char>(name[1])) != 0;
    if (one_dash && command.get_option_no_throw(name.substr(0, 2)) == nullptr) {
      if (std::ranges::count(names, "-" + name) > 0)
        throw std::invalid_argument(fmt::format("{} has no option {}; did you mean -{}?\nTry: {} --help",
                                                full_name(command), name, name, full_name(command)));
      throw std::invalid_argument(fmt::format("{} has no option {}{}\nTry: {} --help", full_name(command),
                                              name, did_you_mean("-" + name, names), full_name(command)));
    }
    if (!name.starts_with("--") || std::ranges::count(names, name) > 0) continue;
    throw std::invalid_argument(fmt::format("{} has no option {}{}\nTry: {} --help", full_name(command), name,
                                            did_you_mean(name, names), full_name(command)));
  }
}

bool asks_for_help(std::span<const std::string> words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (word == "--help" || word == "-h") return true;
  }
  return false;
}

int run(std::span<const std::string> words, const Context& context) {
  CLI::App app("run sparse neural networks exactly and fast, train them, make them smaller", "filigree");
  set_up(app);
  const std::string first = words.empty() ? "" : words[0];
  const std::vector<Parsed> commands =
      add_commands(app, [&](const Command& command) { return command.name == first; });
  if (first == "--version") {
    fmt::print("{}\n", filigree::version());
    return 0;
  }
  std::size_t at = 0;
  CLI::App* const command = find_command(app, words, at);
  const bool complete = subcommands(*command).empty();
  if (!complete && at < words.size() && !words[at].starts_with('-')) refuse_command(*command, words[at]);
  if (asks_for_help(words.subspan(at))) {
    fmt::print("{}", help_text(*command, text_width()));
    return 0;
  }
  if (!complete && at < words.size()) refuse_unknown_options(*command, words.subspan(at));
  if (!complete && at == words.size())
    throw std::invalid_argument(fmt::format("{} needs a command: {}\nTry: {} --help", full_name(*command),
                                            fmt::join(names_of_commands(*command), ", "),
                                            full_name(*command)));
  refuse_unknown_options(*command, words.subspan(at));
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& e) {
    throw std::invalid_argument(fmt::format("{}\nTry: {} --help", e.what(), full_name(*command)));
  }
  return commands.at(0).run(context);
}

// The whole tree, for help and completions.
struct Tree {
  CLI::App app{"run sparse neural networks exactly and fast, train them, make them smaller", "filigree"};
  std::vector<Parsed> commands;
  Tree() {
    set_up(app);
    commands = add_commands(app, [](const Command&) { return true; });
  }
};

void list_commands(const CLI::App& app) {
  fmt::print("{}\n", full_name(app));
  for (const CLI::App* sub : subcommands(app)) list_commands(*sub);
}

Run add_help(CLI::App& command) {
  struct Arguments {
    std::vector<std::string> words;
    std::string form = "text";
  };
  auto arguments = std::make_shared<Arguments>();
  command.add_option("command", arguments->words, "the command to describe, such as train or bench kernels")
      ->type_name("COMMAND")
      ->group("Arguments");
  command
      .add_option("--form", arguments->form,
                  "form of the answer: text for the terminal, a manual page (man), Markdown, or a list of "
                  "all commands [text]")
      ->type_name("FORM")
      ->check(CLI::IsMember({"text", "man", "markdown", "list"}))
      ->group("Options");
  add_examples(command, {{"filigree help train", "show the options of train"},
                         {"filigree help --form man train | man -l -", "read it as a manual page"}});
  return [arguments](const Context&) {
    Tree tree;
    std::size_t at = 0;
    const CLI::App* const found = find_command(tree.app, arguments->words, at);
    if (at < arguments->words.size()) refuse_command(*found, arguments->words[at]);
    if (arguments->form == "list") {
      list_commands(tree.app);
      return 0;
    }
    fmt::print("{}", arguments->form == "man"        ? man_page(*found)
                     : arguments->form == "markdown" ? markdown_page(*found)
                                                     : help_text(*found, text_width()));
    return 0;
  };
}

Run add_completion(CLI::App& command) {
  auto shell = std::make_shared<Shell>();
  add_word_option<Shell>(command, "shell", *shell, "the shell to complete for", "SHELL")
      ->required()
      ->group("Arguments");
  add_examples(command,
               {{"source <(filigree completion bash)", "complete commands and options in this shell"},
                {"filigree completion fish > ~/.config/fish/completions/filigree.fish",
                 "complete them in every fish from now on"}});
  return [shell](const Context&) {
    Tree tree;
    fmt::print("{}", completion_script(tree.app, *shell));
    return 0;
  };
}

// What a library under ours cannot hand on, such as a thread that another thread could not start, ends the
// program with its message all the same.
[[noreturn]] void last_words() {
  if (const std::exception_ptr error = std::current_exception()) {
    try {
      std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
      complain("out of memory");
    } catch (const std::exception& e) {
      complain(e.what());
    } catch (...) {
      complain("an unknown failure");
    }
  }
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(last_words);
  try {
    static SignalWatch signals;
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    const int code = run(words, {signals.token()});
    if (std::fflush(stdout) != 0) {
      complain("cannot write to standard output");
      return 1;
    }
    return code;
  } catch (const std::invalid_argument& e) {
    const std::string_view message = e.what();
    const std::size_t hint = message.rfind("\nTry: ");
    complain(message.substr(0, hint), hint == std::string_view::npos ? "" : message.substr(hint + 1));
    return 2;
  } catch (const std::bad_alloc&) {
    complain("out of memory");
    return 1;
  } catch (const filigree::Error& e) {
    complain(e.what(), advice(e.setting()));
    return 1;
  } catch (const std::exception& e) {
    complain(e.what());
    return 1;
  }
}
