// SPDX-License-Identifier: Apache-2.0
// What all commands share: common options, output, progress.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "filigree/filigree.h"
#include "filigree/options.h"

extern template class nlohmann::basic_json<>;  // instantiated once, in command.cpp: a fifth of compiling

namespace filigree::cli {

// Options every command has.
struct Common {
  int threads = 0;
  bool quiet = false;
  std::string json;

  void add_to(CLI::App& app);
  // To be called first: sets the threads, and finds out now whether the result can be written later.
  void prepare();
  // Writes `result` to the --json file, if one was asked for.
  void write_json(const nlohmann::json& result) const;
};

// An option whose value is one of the words of T, which `value` is or may hold.
template <typename T, typename Value>
CLI::Option* add_word_option(CLI::App& app, const std::string& name, Value& value, const std::string& help,
                             const char* type_name) {
  const auto& words = Words<T>::kWords;
  return app
      .add_option_function<std::string>(
          name, [&value](const std::string& text) { value = from_word<T>(text).value(); }, help)
      ->check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end())))
      ->type_name(type_name);
}

// Where to run, shared by several commands.
struct DeviceArguments {
  Device device = Device::cpu;
  int gpus = 1;
  void add_to(CLI::App& app);
  // Chooses the device; says so where it is not the one that was hoped for.
  void prepare() const;
};

// What main gives a command when it runs.
struct Context {
  std::stop_token stop;
};

using Run = std::function<int(const Context&)>;

// Each adds its options to the command and returns what to call if that was chosen. main.cpp has the list.
Run add_analyze(CLI::App& command);
Run add_bench(CLI::App& command);
Run add_challenge(CLI::App& command);
Run add_compile(CLI::App& command);
Run add_convert(CLI::App& command);
Run add_data(CLI::App& command);
Run add_demo(CLI::App& command);
Run add_eval(CLI::App& command);
Run add_export(CLI::App& command);
Run add_fetch(CLI::App& command);
Run add_generate(CLI::App& command);
Run add_grow(CLI::App& command);
Run add_info(CLI::App& command);
Run add_predict(CLI::App& command);
Run add_prune(CLI::App& command);
Run add_sweep(CLI::App& command);
Run add_train(CLI::App& command);

// Options that say which challenge to run, shared by several commands.
struct ChallengeArguments {
  ChallengeInputs source;
  Index inputs = 0;
  void add_size_to(CLI::App& app, const char* neurons_help, const char* seed_help);  // --neurons --seed
  void add_network_to(CLI::App& app, const char* layers_help);  // --neurons --layers --seed
  void add_images_to(CLI::App& app);                            // --inputs --mnist
  ChallengeInputs parsed() const;
};

// A model file, or a directory in the official layout, shared by several commands.
struct ModelArguments {
  std::string path;
  Index neurons = 0, layers = 0;
  CLI::Option* add_to(CLI::App& app);  // returns the path's option
  bool given() const { return option_->count() > 0; }
  Network load() const;

 private:
  CLI::Option* option_ = nullptr;
};

// Which data set, shared by several commands.
struct DataArguments {
  DataOptions options;
  // `name`: of the option that says where the data comes from, which is returned.
  CLI::Option* add_to(CLI::App& app, const std::string& name = "--data");
  // `others`, with what the command line says in its place.
  DataOptions over(DataOptions others) const;

 private:
  // An option, and how what it says is taken over.
  struct Taken {
    CLI::Option* option;
    std::function<void(DataOptions& to, const DataOptions& from)> take;
  };
  std::vector<Taken> taken_;
  void add_columns(CLI::App& app);
  void add_form(CLI::App& app);
};
// How the text of a table is to be read: --separator, --header, --decimal-comma.
std::vector<CLI::Option*> add_table_form(CLI::App& app, TableOptions& table);

// Options in forms that CLI11 does not check by itself.
CLI::Option* add_bytes_option(CLI::App& app, std::uint64_t& bytes, const char* help);  // --memory-limit 12GiB
extern const char* const kChallengeMemoryHelp;
extern const char* const kDataMemoryHelp;
CLI::Option* add_exit_threshold(CLI::App& app, double& threshold);
CLI::Validator whole_number();  // 0 … 2^64 - 1

// "-" is standard output. Throws Error if the file cannot be written there, std::invalid_argument if its name
// ends in none of `endings`, which say what it would hold.
std::string output_file(const std::string& path, std::initializer_list<const char*> endings = {});

// A message on standard error. The last resort: it neither throws nor allocates. Control characters, which
// can only come from files and names, are shown as escapes.
// `hint` follows in a line of its own.
void complain(std::string_view message, std::string_view hint = {}) noexcept;

// What the command line calls a setting that an error of the library names; "" if it names none.
const char* advice(std::string_view setting);

// Text from a file or a name, for people: control characters as escapes, whatever is not UTF-8 as well.
std::string shown(std::string_view text);

// "2.10x faster", or, the other way round, "2.10x slower"; empty if either is not above zero.
std::string factor(double before, double after, const char* better = "faster", const char* worse = "slower");

// A line of the summary on standard output, unless quiet.
void print_line(const Common& common, std::string_view label, const std::string& text);

std::string threads_text(int threads);         // "1 thread", "2 threads"
std::string with_commas(std::int64_t number);  // 60,000
std::string short_seconds(double seconds);     // "12.3 ms"
std::string short_rate(double per_second);     // "19.1 T"
std::string short_bytes(std::uint64_t bytes);  // "1.5 GiB"

nlohmann::json to_json(const ChallengeResult& result);
void print_result(const Common& common, const ChallengeResult& result);
int report_mismatches(const ChallengeResult& result);  // prints them; the exit code

// Says in the help text that the option is required unless --resume is given.
void say_required_unless_resumed(CLI::Option& option);

}  // namespace filigree::cli
