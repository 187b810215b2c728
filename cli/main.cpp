// The program: finds the command, runs it, turns what went wrong into a message and an exit code.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/command.h"

namespace {

// Ctrl-C and kill ask the running command to stop; a second one ends the program at once. Signals are taken
// by a thread of their own, where everything is allowed.
class SignalWatch {
 public:
  SignalWatch() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);  // before any other thread starts: all inherit it
    std::thread([this] {
      int signal = 0;
      sigwait(&signals_, &signal);
      stop_.request_stop();
      sigwait(&signals_, &signal);
      _exit(1);
    }).detach();
  }
  std::stop_token token() const { return stop_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source stop_;
};

// A word where a command should stand, named before CLI11 says that one is missing.
std::string unknown_command(const CLI::App& app, int argc, char** argv, int at = 1) {
  if (at >= argc || argv[at][0] == '-' || app.get_subcommands([](const CLI::App*) { return true; }).empty())
    return "";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->check_name(argv[at])) return unknown_command(*command, argc, argv, at + 1);
  return argv[at];
}

int run(int argc, char** argv, const filigree::cli::Context& context) {
  using namespace filigree::cli;
  CLI::App app("filigree: sparse neural networks, run exactly and fast", "filigree");
  app.require_subcommand(1);
  app.set_version_flag("--version", filigree::version());
  app.set_help_all_flag("--help-all", "help for every command");
  app.get_formatter()->column_width(34);
  std::vector<std::pair<CLI::App*, Run>> commands;
  for (const auto& add : {add_demo, add_challenge, add_generate, add_compile, add_info, add_bench, add_train,
                          add_eval, add_predict, add_prune, add_grow, add_sweep, add_export, add_fetch}) {
    Run command = add(app);
    commands.emplace_back(app.get_subcommands({}).back(), std::move(command));
  }
  if (const std::string word = unknown_command(app, argc, argv); !word.empty()) {
    complain(fmt::format("there is no command '{}'\nTry filigree --help, or filigree COMMAND --help.", word));
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    complain(fmt::format("{}\nTry filigree --help, or filigree COMMAND --help.", e.what()));
    return 2;
  }
  for (const auto& [command, start] : commands)
    if (command->parsed()) return start(context);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  static SignalWatch signals;
  try {
    const int code = run(argc, argv, {signals.token()});
    if (std::fflush(stdout) != 0) {
      filigree::cli::complain("cannot write to standard output");
      return 1;
    }
    return code;
  } catch (const std::invalid_argument& e) {
    filigree::cli::complain(e.what());
    return 2;
  } catch (const std::bad_alloc&) {
    filigree::cli::complain("out of memory");
    return 1;
  } catch (const std::exception& e) {
    filigree::cli::complain(e.what());
    return 1;
  }
}
