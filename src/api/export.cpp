// Programs written from networks.
#include "filigree/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string_view>

#include "api/network_impl.h"
#include "compile/export_cpp.h"
#include "filigree/plan.h"
#include "filigree/runtime.h"

namespace filigree {

namespace {

// Words of C++ and functions of <cmath> that someone might think of.
constexpr std::string_view kTaken[] = {
    "and",     "asm",      "auto",     "bool",     "break",  "case",     "catch",  "char",     "class",
    "const",   "delete",   "do",       "double",   "else",   "enum",     "exp",    "explicit", "export",
    "extern",  "false",    "float",    "for",      "friend", "goto",     "if",     "inline",   "int",
    "long",    "log",      "main",     "max",      "min",    "new",      "not",    "or",       "operator",
    "private", "public",   "register", "return",   "short",  "sigmoid",  "signed", "sizeof",   "static",
    "struct",  "switch",   "tanh",     "template", "this",   "throw",    "true",   "try",      "typedef",
    "union",   "unsigned", "using",    "virtual",  "void",   "volatile", "while",  "xor"};

bool is_name(const std::string& text) {
  if (std::ranges::count(kTaken, text) > 0) return false;
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && letter(text[0]) && std::ranges::all_of(text, [&](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

ExportedProgram export_program(const Network& network, const std::filesystem::path& source,
                               const std::string& name, const Observer& observer) {
  if (!is_name(name)) throw std::invalid_argument(fmt::format("'{}' cannot be the name of a function", name));
  const Model model = to_model(compile_network(network, observer).network, observer);
  std::filesystem::path test = source;
  test.replace_filename(source.stem().string() + "_test.cpp");
  const ExportedCode code =
      export_cpp(model, name, source.filename().string(), "The network of function " + name);
  write_file(source, code.source);
  write_file(test, code.test);
  ExportedProgram program{source, test};
  for (const CodeForm form : code.forms)
    program.forms.emplace_back(form == CodeForm::straight ? "straight"
                               : form == CodeForm::lists  ? "lists"
                                                          : "matrix");
  program.connections = code.connections;
  return program;
}

}  // namespace filigree
