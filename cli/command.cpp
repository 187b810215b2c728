// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>

template class nlohmann::basic_json<>;

namespace filigree::cli {

namespace {

constexpr const char* kStandardOutput = "/dev/stdout";

// What this process does from here on is done in this session. It is never taken down: threads may still be
// at work when the process ends.
void work_in(const SessionOptions& options) {
  struct Working {
    explicit Working(const SessionOptions& asked) : session(asked), use(session) {}
    Session session;
    Session::Use use;
  };
  static std::vector<std::unique_ptr<Working>>& all = *new std::vector<std::unique_ptr<Working>>;
  all.push_back(std::make_unique<Working>(options));
  const std::string remark = all.back()->session.remark();
  if (!remark.empty()) complain("running on the CPU: " + remark);
}

}  // namespace

void Common::add_to(CLI::App& app) {
  constexpr const char* kGroup = "Help and output";
  app.add_option("--threads", threads, "number of threads; 0 takes every core [0]")
      ->check(CLI::Range(0, 4096))
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--json", json, "write the result as JSON to this file; - is standard output")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_flag("--quiet,-q", quiet, "print errors only")->group(kGroup);
}

void Common::prepare() {
  work_in({.threads = threads});
  if (json.empty()) return;
  json = output_file(json);
  if (json == kStandardOutput) quiet = true;  // the result alone, for the next program in the pipe
}

void Common::write_json(const nlohmann::json& result) const {
  if (!json.empty())
    write_file(json, result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void DeviceArguments::add_to(CLI::App& app) {
  add_word_option<Device>(app, "--device", device,
                          "where to compute; auto takes a CUDA device if there is one, else the CPU [cpu]",
                          "DEVICE");
  app.add_option("--gpus", gpus, "number of CUDA devices that share the work; 0 takes all [1]")
      ->check(CLI::Range(0, 64))
      ->type_name("N");
}

void DeviceArguments::prepare() const {
  if (device != Device::cpu)
    work_in({.threads = Session::current().threads(), .device = device, .gpus = gpus});
}

std::string output_file(const std::string& path, std::initializer_list<const char*> endings) {
  if (path == "-") return kStandardOutput;
  const bool known =
      endings.size() == 0 || std::ranges::any_of(endings, [&](const char* e) { return path.ends_with(e); });
  // A pipe or a device has the name that it has.
  if (!known && (!std::filesystem::exists(path) || std::filesystem::is_regular_file(path)))
    throw std::invalid_argument(fmt::format("{}: the name must end in {}, which is what would be written",
                                            path, fmt::join(endings, ", ")));
  const auto directory = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(directory))
    throw Error(fmt::format("{}: cannot be written: {} is no directory", path, directory.string()));
  const bool there = std::filesystem::exists(path) && !std::filesystem::is_regular_file(path);
  if (!there && access(directory.c_str(), W_OK) != 0)
    throw Error(fmt::format("{}: cannot be written: no permission in {}", path, directory.string()));
  if (std::filesystem::is_directory(path))
    throw Error(fmt::format("{}: cannot be written: it is a directory", path));
  return path;
}

namespace {

// Length of the UTF-8 character that `text` begins with; 0 if there is none to be shown as it is. Newlines of
// our own messages pass: what comes from files goes through shown() before it gets into one.
std::size_t printable(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 0;
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >= 0xf0 && byte(0) < 0xf5   ? 4
                             : byte(0) >= 0xe0 && byte(0) < 0xf0 ? 3
                             : byte(0) >= 0xc2 && byte(0) < 0xe0 ? 2
                                                                 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (length == 2 && byte(0) == 0xc2 && byte(1) < 0xa0) return 0;  // C1 controls
  return length;
}

// Calls piece(text) for what can be shown and for the escapes of what cannot.
template <typename Piece>
void escaped(std::string_view text, const Piece& piece) {
  constexpr char kDigits[] = "0123456789abcdef";
  while (!text.empty()) {
    if (const std::size_t length = printable(text); length > 0) {
      piece(text.substr(0, length));
      text.remove_prefix(length);
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[0]);
    const char code[] = {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    piece(std::string_view(code, 4));
    text.remove_prefix(1);
  }
}

}  // namespace

void complain(std::string_view message, std::string_view hint) noexcept {
  const auto write = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  write("filigree: ");
  escaped(message, write);
  write("\n");
  if (hint.empty()) return;
  escaped(hint, write);
  write("\n");
}

std::string factor(double before, double after, const char* better, const char* worse) {
  if (!(after > 0) || !(before > 0)) return "";
  return after <= before ? fmt::format("{:.2f}x {}", before / after, better)
                         : fmt::format("{:.2f}x {}", after / before, worse);
}

const char* advice(std::string_view setting) {
  constexpr std::pair<std::string_view, const char*> kAdvice[] = {
      {"device", "Try: --device cpu"},
      {"drop_columns", "Try: --drop-columns NAME"},
      {"gpus", "Try: --gpus 1"},
      {"inputs", "Try: --inputs N, for the first N images"},
      {"label_column", "Try: --label-column NAME"},
      {"memory_limit", "Try: --memory-limit BYTES, to allow more"},
      {"missing", "Try: --missing mean"},
      {"task", "Try: --task classes, values or labels"},
      {"text_columns", "Try: --text-columns NAME, or --drop-columns NAME"},
      {"threads", "Try: --threads N"},
      {"weight_column", "Try: --weight-column NAME"},
  };
  for (const auto& [known, text] : kAdvice)
    if (known == setting) return text;
  return "";
}

std::string shown(std::string_view text) {
  std::string result;
  escaped(text, [&](std::string_view piece) { result += piece; });
  return result;
}

CLI::Option* add_exit_threshold(CLI::App& app, double& threshold) {
  return app
      .add_option(
          "--exit-threshold", threshold,
          "probability of a class above which a row leaves the network at an early exit; at 1 every row "
          "goes to the end [1]")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0));
}

CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) {
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool good = error == std::errc() && end == text.data() + text.size() && !text.empty();
        return good ? std::string() : fmt::format("'{}' is no whole number from 0 to 2^64 - 1", text);
      },
      "");
}

const char* const kChallengeMemoryHelp =
    "most memory for inputs, layers and rows, such as 500MB or 12GiB; a network that does not fit is "
    "streamed "
    "[three quarters of the machine's memory]";
const char* const kDataMemoryHelp =
    "memory that rows may take, such as 500MB or 12GiB; where a table takes more, its rows are kept on disk, "
    "and other "
    "data files that unpack to more are an error [three quarters of the machine's memory]";

CLI::Option* add_bytes_option(CLI::App& app, std::uint64_t& bytes, const char* help) {
  const auto parse = [&bytes](const std::string& text) {
    static const std::map<std::string, double> units = {
        {"", 1},         {"b", 1},      {"kb", 1e3},     {"mb", 1e6},        {"gb", 1e9},
        {"tb", 1e12},    {"k", 1024.0}, {"kib", 1024.0}, {"mib", 1048576.0}, {"m", 1048576.0},
        {"gib", 0x1p30}, {"g", 0x1p30}, {"tib", 0x1p40}, {"t", 0x1p40}};
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string unit(end, text.data() + text.size());
    std::erase(unit, ' ');
    for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto factor = units.find(unit);
    if (error != std::errc() || factor == units.end() || !(number * factor->second >= 1) ||
        number * factor->second > 0x1p62)
      throw CLI::ValidationError("--memory-limit",
                                 fmt::format("'{}' is no size; say 500MB, 12GiB or a number of bytes", text));
    bytes = number * factor->second;
  };
  return app.add_option_function<std::string>("--memory-limit", parse, help)->type_name("SIZE");
}

void ChallengeArguments::add_size_to(CLI::App& app, const char* neurons_help, const char* seed_help) {
  app.add_option("--neurons", source.neurons, neurons_help)->check(CLI::Range(1, 65536))->type_name("N");
  app.add_option("--seed", source.seed, seed_help)->check(whole_number())->type_name("S");
}

void ChallengeArguments::add_network_to(CLI::App& app, const char* layers_help) {
  add_size_to(app, "neurons of each layer, and pixels of each image [1024]",
              "seed of generated networks and of drawn digits [1]");
  app.add_option("--layers", source.layers, layers_help)->check(CLI::Range(1, 1 << 20))->type_name("L");
}

void ChallengeArguments::add_images_to(CLI::App& app) {
  app.add_option("--inputs", inputs, "take only the first N images [all; 60000 drawn ones]")
      ->check(CLI::Range(1, 1 << 24))
      ->type_name("N");
  app.add_option("--mnist", source.mnist,
                 "directory with the idx files of MNIST, to make the official images from; without it, "
                 "digits are drawn")
      ->type_name("DIR");
}

CLI::Option* ModelArguments::add_to(CLI::App& app) {
  app.add_option(
         "--neurons", neurons,
         "neurons of each layer, if MODEL is a directory in the official layout that holds several sizes")
      ->check(CLI::Range(1, 65536))
      ->type_name("N");
  app.add_option("--layers", layers, "take only the first L layers of a directory [all]")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("L");
  return option_ = app.add_option(
             "model", path,
             "model file, directory of a training run, or directory in the official challenge layout");
}

std::vector<CLI::Option*> add_table_form(CLI::App& app, TableOptions& table) {
  CLI::Option* const separator =
      app.add_option_function<std::string>(
             "--separator",
             [&table](const std::string& text) {
               table.separator = text == "\\t" || text == "tab" ? '\t' : text[0];
             },
             "character between the cells of a CSV file [found in the file: a tab, semicolon, bar or comma]")
          ->check(CLI::Validator(
              [](std::string& text) {
                return text.size() == 1 || text == "tab" || text == "\\t"
                           ? std::string()
                           : fmt::format("'{}' is not one character, nor tab", text);
              },
              ""))
          ->type_name("C");
  CLI::Option* const header = add_word_option<Header>(
      app, "--header", table.header,
      "whether the first row of a CSV file names its columns [auto: if all of its cells can be names]",
      "WORD");
  CLI::Option* const comma =
      app.add_flag("--decimal-comma", table.decimal_comma, "read 1,5 as one and a half");
  for (CLI::Option* each : {separator, header, comma}) each->group("Tables");
  return {separator, header, comma};
}

void DataArguments::add_form(CLI::App& app) {
  const std::vector<CLI::Option*> form = add_table_form(app, options.table);
  taken_.push_back(
      {form[0], [](DataOptions& to, const DataOptions& from) { to.table.separator = from.table.separator; }});
  taken_.push_back(
      {form[1], [](DataOptions& to, const DataOptions& from) { to.table.header = from.table.header; }});
  taken_.push_back({form[2], [](DataOptions& to, const DataOptions& from) {
                      to.table.decimal_comma = from.table.decimal_comma;
                    }});
}

void DataArguments::add_columns(CLI::App& app) {
  TableOptions& table = options.table;
  const auto add = [&](CLI::Option* option, auto TableOptions::*member, const char* type = nullptr) {
    if (type != nullptr) option->type_name(type);
    option->group("Tables");
    taken_.push_back({option, [member](DataOptions& to, const DataOptions& from) {
                        to.table.*member = from.table.*member;
                      }});
  };
  add(app.add_option("--weight-column", table.weight_column,
                     "column that says how much each row counts in training [all the same]"),
      &TableOptions::weight_column, "COLUMN");
  add(app.add_option("--drop-columns", table.drop_columns,
                     "columns to leave out: names or numbers between commas; * and ? stand for any letters"),
      &TableOptions::drop_columns, "COLUMNS");
  add(app.add_option("--text-columns", table.text_columns,
                     "columns to take as text, an input for each different one, though they hold numbers"),
      &TableOptions::text_columns, "COLUMNS");
  add(add_word_option<Missing>(
          app, "--missing", table.missing,
          "what takes the place of missing numbers: a column's mean or median, the constant "
          "--missing-value, or nothing, which makes them an error [mean]",
          "WORD"),
      &TableOptions::missing);
  add(app.add_option("--missing-value", table.missing_value, "number for --missing constant [0]"),
      &TableOptions::missing_value, "X");
  add(app.add_flag("--mark-missing", table.mark_missing,
                   "give each column with gaps a second input that says where they are"),
      &TableOptions::mark_missing);
  add(app.add_option("--rare", table.rare,
                     "take texts together that fewer rows have than this [2 to 10, by the number of rows]")
          ->check(CLI::NonNegativeNumber),
      &TableOptions::rare, "N");
}

CLI::Option* DataArguments::add_to(CLI::App& app, const std::string& name) {
  const auto take = [&](CLI::Option* option, auto DataOptions::*member) {
    taken_.push_back(
        {option, [member](DataOptions& to, const DataOptions& from) { to.*member = from.*member; }});
    return option;
  };
  CLI::Option* const source = take(
      app.add_option(
             name, options.source,
             "data set: a CSV, LIBSVM or npz file; or csv:FILE[,TEST_FILE], libsvm:FILE[,TEST_FILE], "
             "npz:FILE[,TEST_FILE], npy:ROWS,TARGETS[,ROWS,TARGETS], mnist:DIR, fashion[:DIR], "
             "idx:IMAGES,LABELS[,IMAGES,LABELS]; or made up here: digits[:ROWS], contexts[:ROWS]; a comma "
             "in a file name is written \\,")
          ->type_name("SPEC"),
      &DataOptions::source);
  take(app.add_option(
              "--label-column", options.label_column,
              "column of a CSV file that holds what is to be learned: a number counted from 1, or a name "
              "of the header; several between commas [1, or what the model was trained on]")
           ->type_name("COLUMN"),
       &DataOptions::label_column);
  take(add_word_option<Task>(
           app, "--task", options.task,
           "what there is to learn: one of several classes, values (numbers), or labels that "
           "hold or not [by the data]",
           "TASK"),
       &DataOptions::task);
  take(
      app.add_option("--test-share", options.test_share,
                     "share of the rows that is held out for testing, where the data has no test part of its "
                     "own [0.2]")
          ->check(CLI::Validator(
              [](std::string& text) {
                double share = 0;
                const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
                const bool good =
                    error == std::errc() && end == text.data() + text.size() && share >= 0 && share < 1;
                return good ? std::string() : fmt::format("'{}' is no number from 0 to below 1", text);
              },
              ""))
          ->type_name("SHARE"),
      &DataOptions::test_share);
  take(app.add_option("--data-seed", options.seed, "seed of the train/test split and of drawn digits [1]")
           ->check(whole_number())
           ->type_name("S"),
       &DataOptions::seed);
  take(add_bytes_option(app, options.memory_limit, kDataMemoryHelp), &DataOptions::memory_limit);
  add_columns(app);
  add_form(app);
  return source;
}

Network ModelArguments::load() const {
  try {
    Observer observer;
    observer.warning = [](const std::string& text) { complain("note: " + text); };
    return filigree::load(path, neurons, layers, observer);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{} (--neurons and --layers choose)", error.what()));
  }
}

DataOptions DataArguments::over(DataOptions others) const {
  for (const Taken& each : taken_)
    if (each.option->count() > 0) each.take(others, options);
  return others;
}

ChallengeInputs ChallengeArguments::parsed() const {
  ChallengeInputs result = source;
  if (inputs > 0) result.inputs = inputs;
  return result;
}

void print_line(const Common& common, std::string_view label, const std::string& text) {
  if (!common.quiet) fmt::print("{:<11} {}\n", label, shown(text));
}

std::string threads_text(int threads) {
  return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
}

std::string with_commas(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string result;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t left = digits.size() - i;
    if (i > 0 && left % 3 == 0 && digits[i - 1] != '-') result += ',';
    result += digits[i];
  }
  return result;
}

std::string short_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string short_rate(double per_second) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P"};
  int unit = 0;
  while (per_second >= 1000 && unit < 5) {
    per_second /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", per_second, kUnits[unit]);
}

std::string short_bytes(std::uint64_t bytes) {
  constexpr double kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
  const double size = bytes;
  if (size >= kGiB) return fmt::format("{:.2f} GiB", size / kGiB);
  return size >= kMiB ? fmt::format("{:.1f} MiB", size / kMiB) : fmt::format("{:.1f} KiB", size / kKiB);
}

nlohmann::json to_json(const ChallengeResult& r) {
  return {{"network", r.network},
          {"images", r.images},
          {"neurons", r.neurons},
          {"layers", r.layers},
          {"inputs", r.inputs},
          {"connections", r.connections},
          {"engine", word(r.engine)},
          {"threads", r.threads},
          {"seconds", r.seconds},
          {"seconds_all", r.seconds_all},
          {"rate", r.rate},
          {"load_seconds", r.load_seconds},
          {"compile_seconds", r.compile_seconds},
          {"compiled_connections", r.compiled_connections},
          {"streamed", r.streamed},
          {"categories", r.categories.size()},
          {"verified", word(r.verified)},
          {"checked_rows", r.checked_rows},
          {"mismatches", r.mismatches.size()},
          {"settled_rows", r.settled_rows},
          {"live_rows", r.live_rows},
          {"distinct_rows", r.distinct_rows},
          {"peak_memory_bytes", r.peak_memory_bytes},
          {"processor", r.processor},
          {"device", r.device}};
}

void print_result(const Common& common, const ChallengeResult& r) {
  const auto [fastest, slowest] = std::minmax_element(r.seconds_all.begin(), r.seconds_all.end());
  const bool plain = r.engine == Engine::plain;
  print_line(common, "network", fmt::format("{}: {} connections", r.network, with_commas(r.connections)));
  print_line(common, "inputs", fmt::format("{} of {}", with_commas(r.inputs), r.images));
  print_line(common, "engine",
             plain
                 ? fmt::format("plain, {}{}", threads_text(r.threads), r.streamed ? ", layers streamed" : "")
                 : fmt::format("compiled to {} connections, {}", with_commas(r.compiled_connections),
                               threads_text(r.threads)));
  if (r.device != "cpu") print_line(common, "device", r.device);
  print_line(common, "categories", with_commas(r.categories.size()));
  if (r.settled_rows > 0)
    print_line(common, "", fmt::format("{} rows settled in the plain order of summation", r.settled_rows));
  if (r.verified == Verified::official) {
    print_line(
        common, "checked",
        fmt::format("against the official list: {}",
                    r.mismatches.empty() ? "the same" : fmt::format("{} rows differ", r.mismatches.size())));
  } else if (r.verified == Verified::reference) {
    print_line(
        common, "checked",
        fmt::format("{} rows against the double-precision reference: {}", with_commas(r.checked_rows),
                    r.mismatches.empty() ? "the same" : fmt::format("{} differ", r.mismatches.size())));
  } else {
    print_line(common, "checked", "no");
  }
  print_line(common, "time",
             r.seconds_all.size() == 1
                 ? short_seconds(r.seconds)
                 : fmt::format("{} (median of {}, {} to {})", short_seconds(r.seconds), r.seconds_all.size(),
                               short_seconds(*fastest), short_seconds(*slowest)));
  print_line(common, "rate", fmt::format("{}connections/s", short_rate(r.rate)));
  print_line(common, "before",
             fmt::format("load {}, {} {}", short_seconds(r.load_seconds), plain ? "pack" : "compile",
                         short_seconds(r.compile_seconds)));
  print_line(common, "memory", fmt::format("{} at most", short_bytes(r.peak_memory_bytes)));
}

int report_mismatches(const ChallengeResult& r) {
  if (r.mismatches.empty()) return 0;
  constexpr std::size_t kShown = 20;
  std::string rows;
  for (std::size_t i = 0; i < r.mismatches.size() && i < kShown; ++i)
    rows += fmt::format("{}{}", i == 0 ? "" : ", ", r.mismatches[i] + 1);
  if (r.mismatches.size() > kShown) rows += fmt::format(", … ({} in all)", r.mismatches.size());
  complain(fmt::format("wrong answer: the categories differ from the {} in these rows (counted from 1): {}",
                       r.verified == Verified::official ? "official list" : "double-precision reference",
                       rows));
  return 1;
}

void say_required_unless_resumed(CLI::Option& option) {
  option.description(option.get_description() + "; required unless --resume is given");
}

}  // namespace filigree::cli
