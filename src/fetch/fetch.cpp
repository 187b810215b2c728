// SPDX-License-Identifier: Apache-2.0
// The public data sets: where they are and what their files must hold.
#include "filigree/fetch.h"

#include <system_error>

#include "base/error.h"
#include "fetch/download.h"
#include "io/source.h"

namespace filigree {

using namespace internal;
namespace {

struct RemoteFile {
  std::string name;  // of the compressed file
  Expected expected;
};

struct RemoteSet {
  std::vector<std::string> mirrors;  // directories, with a slash at the end
  std::vector<RemoteFile> files;
  std::string source;  // how `--data` names it, %: the directory
};

RemoteFile with_md5(const char* name, const char* md5) {
  constexpr std::uint64_t kMost = std::uint64_t{64} << 20;  // the largest has 26 MB
  return {name, {.most = kMost, .hash = Hash::md5, .checksum = md5}};
}

RemoteSet remote_set(const std::string& name) {
  if (name == "mnist")
    return {{"https://storage.googleapis.com/cvdf-datasets/mnist/",
             "https://ossci-datasets.s3.amazonaws.com/mnist/"},
            {with_md5("train-images-idx3-ubyte.gz", "6bbc9ace898e44ae57da46a324031adb"),
             with_md5("train-labels-idx1-ubyte.gz", "a25bea736e30d166cdddb491f175f624"),
             with_md5("t10k-images-idx3-ubyte.gz", "2646ac647ad5339dbf082846283269ea"),
             with_md5("t10k-labels-idx1-ubyte.gz", "27ae3e4e09519cfbb04c329615203637")},
            "mnist:%"};
  if (name == "fashion")  // its own server has no HTTPS: it comes last, and the checksums protect
    return {{"https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
             "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"},
            {with_md5("train-images-idx3-ubyte.gz", "f4a8712d7a061bf5bd6d2ca38dc4d50a"),
             with_md5("train-labels-idx1-ubyte.gz", "9018921c3c673c538a1fc5bad174d6f9"),
             with_md5("t10k-images-idx3-ubyte.gz", "8181f5470baa50b63fa0f6fddb340f0a"),
             with_md5("t10k-labels-idx1-ubyte.gz", "15d484375f8d13e6eb1aabb0c3f46965")},
            "fashion:%"};
  if (name == "higgs")  // nobody publishes a checksum
    return {{"https://archive.ics.uci.edu/ml/machine-learning-databases/00280/"},
            {{"HIGGS.csv.gz", {.bytes = 2'816'407'858}}},
            "csv:%/HIGGS.csv.gz"};
  throw std::invalid_argument(fmt::format("there is no data set '{}'; mnist, fashion, higgs are", name));
}

std::vector<std::string> addresses(const RemoteSet& set, const std::string& mirror, const std::string& file) {
  std::vector<std::string> urls;
  for (const std::string& directory : mirror.empty() ? set.mirrors : std::vector{mirror})
    urls.push_back(directory + (directory.ends_with('/') ? "" : "/") + file);
  return urls;
}

FetchedFile fetch_file(const RemoteFile& file, const std::vector<std::string>& urls,
                       const std::filesystem::path& directory, const Observer& observer) {
  FetchedFile result;
  Expected expected = file.expected;
  result.path = directory / file.name;
  // A file that was decompressed counts as well, because readers take it first.
  const auto present = find_file(std::filesystem::path(result.path).replace_extension());
  if (present) {
    result.path = *present;
    result.already_there = true;
    if (present->filename() != file.name) expected.bytes = 0;  // those of the compressed file
    if (const std::string fault = fault_of(result.path, expected, observer); !fault.empty())
      fail("{} is there, but {}; move it away, or choose another directory", result.path.string(), fault);
  } else {
    download(urls, result.path, expected, observer);
  }
  result.bytes = std::filesystem::file_size(result.path);
  result.checked = !expected.checksum.empty()
                       ? fmt::format("{} {}", name_of(expected.hash), expected.checksum)
                   : expected.bytes > 0 ? "size and gzip's own CRC; no checksum is published"
                                        : "nothing; no checksum is published";
  return result;
}

}  // namespace

FetchResult fetch(const std::string& name, const FetchOptions& options, const Observer& observer) {
  const RemoteSet set = remote_set(name);
  const std::filesystem::path directory =
      options.directory.empty() ? std::filesystem::path("data") / name : options.directory;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail("{}: cannot make this directory: {}", directory.string(), error.message());
  FetchResult result;
  for (const RemoteFile& file : set.files)
    result.files.push_back(fetch_file(file, addresses(set, options.mirror, file.name), directory, observer));
  result.source = set.source;
  result.source.replace(result.source.find('%'), 1, directory.string());
  return result;
}

}  // namespace filigree
