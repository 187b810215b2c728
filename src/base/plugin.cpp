// SPDX-License-Identifier: Apache-2.0
#include "base/plugin.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace filigree::internal {

namespace {

// The file that holds this code: the program, or a shared library.
std::filesystem::path own_file() {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&load_plugin), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) == 0 ||
      map == nullptr || map->l_name == nullptr || *map->l_name == '\0')
    return std::filesystem::read_symlink(
        "/proc/self/exe");  // the loader knows the program by what it was called
  return std::filesystem::canonical(map->l_name);
}

std::vector<std::filesystem::path> directories() {
  if (const char* const given = secure_getenv("FILIGREE_PLUGINS"); given != nullptr && *given != '\0') {
    const std::filesystem::path path = given;
    if (!path.is_absolute()) fail("FILIGREE_PLUGINS={}: must be an absolute path", given);
    return {path};
  }
  std::error_code ignored;
  const std::filesystem::path here = own_file().parent_path();
  // A build tree; a program in PREFIX/bin; a library in PREFIX/lib.
  return {here / "plugins", (here / ".." / FILIGREE_LIBDIR / "filigree").lexically_normal(),
          here / "filigree"};
}

using Text = const char*();
using Offer = const void*();

const void* load(const std::filesystem::path& file) {
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    fail("a plug-in cannot be loaded: {} (libraries are found through /etc/ld.so.conf and LD_LIBRARY_PATH)",
         dlerror());
  const auto version = reinterpret_cast<Text*>(dlsym(handle, "filigree_plugin_version"));
  const auto offer = reinterpret_cast<Offer*>(dlsym(handle, "filigree_plugin_offer"));
  if (version == nullptr || offer == nullptr) fail("{}: not a plug-in of filigree", file.string());
  if (std::string_view(version()) != FILIGREE_VERSION)
    fail("{}: a plug-in of filigree {}, but this is {}; build or install both together", file.string(),
         version(), FILIGREE_VERSION);
  return offer();
}

}  // namespace

const void* load_plugin(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, const void*> loaded;
  const std::lock_guard lock(mutex);
  if (const auto found = loaded.find(name); found != loaded.end()) return found->second;
  for (const std::filesystem::path& directory : directories()) {
    const std::filesystem::path file = directory / fmt::format("filigree-{}.so", name);
    std::error_code error;
    if (std::filesystem::exists(file, error)) return loaded[name] = load(file);
  }
  return nullptr;
}

std::string plugin_places() {
  std::string text;
  for (const std::filesystem::path& directory : directories())
    text += (text.empty() ? "" : ", ") + directory.string();
  return text;
}

}  // namespace filigree::internal
