// SPDX-License-Identifier: Apache-2.0
// Programs written from networks.
#include "filigree/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string_view>

#include "base/error.h"
#include "compile/export_cpp.h"
#include "filigree/plan.h"
#include "filigree/runtime.h"

namespace filigree {

using namespace internal;

namespace {

// Words of C++, and functions of <cmath> and <cstdio>, whose names have declarations already.
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
    "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "abs",
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh",
    "erf", "erfc", "exp2", "expm1", "fabs", "fclose", "fdim", "fflush", "fgets", "floor", "fma", "fmax",
    "fmin", "fmod", "fopen", "fprintf", "fputs", "fread", "frexp", "fwrite", "gamma", "getc", "getchar",
    "gets", "hypot", "ilogb", "j0", "j1", "jn", "ldexp", "lgamma", "log10", "log1p", "log2", "logb", "lrint",
    "lround", "modf", "nan", "nearbyint", "nextafter", "perror", "pow", "printf", "putc", "putchar", "puts",
    "remainder", "remove", "remquo", "rename", "rewind", "rint", "round", "scalb", "scalbn", "scanf", "sin",
    "sinh", "sprintf", "sqrt", "tan", "tgamma", "tmpfile", "tmpnam", "trunc", "y0", "y1", "yn",
    // of <cstdlib>, <cstring> and <cstdint>, and macros
    "EOF", "FILE", "INFINITY", "NAN", "NULL", "abort", "aligned_alloc", "alloca", "at_quick_exit", "atexit",
    "atof", "atoi", "atol", "atoll", "bsearch", "calloc", "clearerr", "div", "div_t", "drand48", "erand48",
    "errno", "exit", "feof", "ferror", "fileno", "fpos_t", "free", "freopen", "fscanf", "fseek", "fsetpos",
    "ftell", "fgetc", "fgetpos", "fputc", "getenv", "getline", "getw", "index", "int16_t", "int32_t",
    "int64_t", "int8_t", "intmax_t", "intptr_t", "isfinite", "isinf", "isnan", "isnormal", "jrand48", "labs",
    "ldiv", "ldiv_t", "llabs", "lldiv", "lldiv_t", "llrint", "llround", "lrand48", "malloc", "mblen",
    "mbstowcs", "mbtowc", "memchr", "memcmp", "memcpy", "memmove", "memset", "mrand48", "mktemp", "nrand48",
    "nexttoward", "off_t", "pclose", "popen", "ptrdiff_t", "putenv", "putw", "qsort", "quick_exit", "rand",
    "rand_r", "random", "realloc", "realpath", "rindex", "scalbln", "setbuf", "setenv", "setvbuf", "signbit",
    "significand", "size_t", "snprintf", "srand", "srandom", "sscanf", "ssize_t", "stderr", "stdin", "stdout",
    "stpcpy", "strcat", "strchr", "strcmp", "strcoll", "strcpy", "strcspn", "strdup", "strerror", "strlen",
    "strncat", "strncmp", "strncpy", "strpbrk", "strrchr", "strspn", "strstr", "strtod", "strtof", "strtok",
    "strtol", "strtold", "strtoll", "strtoul", "strtoull", "strxfrm", "system", "uint16_t", "uint32_t",
    "uint64_t", "uint8_t", "uintmax_t", "uintptr_t", "ungetc", "unsetenv", "vfprintf", "vprintf", "vsnprintf",
    "vsprintf", "wcstombs", "wctomb",
    // of the generated code itself
    "relu", "leaky", "softplus", "inputs", "outputs", "given", "expected", "mean", "scale", "x", "y", "a",
    "b", "row", "rows", "i", "o", "error", "worst", "APART"};

bool is_name(const std::string& text) {
  // Functions of <cmath> come for float and long double, too: expf, expl.
  const bool suffixed = text.size() > 1 && (text.ends_with('f') || text.ends_with('l')) &&
                        std::ranges::count(kTaken, text.substr(0, text.size() - 1)) > 0;
  if (suffixed || std::ranges::count(kTaken, text) > 0 || text.starts_with('_') ||
      text.find("__") != std::string::npos)
    return false;  // words of C++ and of its libraries
  if (text.starts_with("layer") && text.size() > 5 && std::isdigit(static_cast<unsigned char>(text[5])) != 0)
    return false;  // functions of the generated code
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && letter(text[0]) && std::ranges::all_of(text, [&](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

ExportedProgram export_program(const Network& network, const std::filesystem::path& source,
                               const std::string& name, const Observer& observer) {
  constexpr Index kMostInputs = 1 << 20;  // its test has rows of them
  if (network.inputs() > kMostInputs)
    fail("{}: {} inputs, but programs are written for {} at most", network.describe(), network.inputs(),
         kMostInputs);
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
  return {source, test, code.forms, code.connections};
}

}  // namespace filigree
