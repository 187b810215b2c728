// SPDX-License-Identifier: Apache-2.0
// Programs written from networks.
#include "filigree/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string_view>

#include "compile/export_cpp.h"
#include "filigree/plan.h"
#include "filigree/runtime.h"

namespace filigree {

using namespace internal;

namespace {

// Words of C++ and functions of <cmath> that someone might think of.
constexpr std::string_view kTaken[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
    "char", "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr",
    "constinit", "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype", "default",
    "delete", "do", "double", "dynamic_cast", "else", "enum", "exp", "explicit", "export", "extern", "false",
    "float", "for", "friend", "goto", "if", "import", "inline", "int", "log", "long", "main", "max", "min",
    "module", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short",
    "sigmoid", "signed", "sizeof", "static", "static_assert", "static_cast", "std", "struct", "switch",
    "tanh", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename",
    "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    // of the generated code itself
    "relu", "leaky", "inputs", "outputs", "x", "y", "a", "b"};

bool is_name(const std::string& text) {
  if (std::ranges::count(kTaken, text) > 0 || text.starts_with('_') || text.find("__") != std::string::npos)
    return false;  // words of C++ and of its libraries
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && letter(text[0]) && std::ranges::all_of(text, [&](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

ExportedProgram export_program(const Network& network, const std::filesystem::path& source,
                               const std::string& name, const Observer& observer) {
  if (!is_name(name)) throw std::invalid_argument(fmt::format("'{}' cannot be the name of a function", name));
  const std::string file = source.filename().string();
  if (std::ranges::any_of(file,
                          [](unsigned char c) { return c < 0x20 || c == '"' || c == '\\' || c == 0x7f; }))
    throw std::invalid_argument(
        fmt::format("{}: quotes, backslashes and control characters cannot stand in the name of a C++ file",
                    source.string()));
  const Network compiled = compile_network(network, observer).network;
  std::filesystem::path test = source;
  test.replace_filename(source.stem().string() + "_test.cpp");
  const ExportedCode code =
      export_cpp(compiled, name, source.filename().string(), "The network of function " + name);
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
