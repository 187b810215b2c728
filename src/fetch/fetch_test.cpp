// SPDX-License-Identifier: Apache-2.0
// Fetching whole data sets from a server on this machine.
#include "filigree/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fetch/test_server.h"
#include "io/test_files.h"

namespace filigree::internal {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const std::filesystem::path kFashion = "/usr/share/datasets/fashion-mnist";  // where Debian's package puts it
const std::vector<std::string> kFiles = {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                                         "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"};

TEST(Fetch, BringsFashionMnistOnce) {
  if (!std::filesystem::exists(kFashion)) GTEST_SKIP() << "Debian's dataset-fashion-mnist is not installed";
  TestServer server;
  for (const std::string& file : kFiles) server.put("f/" + file, {.body = file_content(kFashion / file)});
  const TestDirectory directory;
  const FetchOptions options{.directory = directory / "new/place", .mirror = server.url("f")};
  const FetchResult first = fetch("fashion", options);
  ASSERT_EQ(first.files.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(first.files[i].path, options.directory / kFiles[i]);
    EXPECT_EQ(first.files[i].bytes, std::filesystem::file_size(kFashion / kFiles[i]));
    EXPECT_FALSE(first.files[i].already_there);
    EXPECT_THAT(first.files[i].checked, HasSubstr("MD5"));
    EXPECT_EQ(file_content(first.files[i].path), file_content(kFashion / kFiles[i]));
  }
  EXPECT_EQ(first.source, "fashion:" + options.directory.string());
  ASSERT_EQ(server.requests().size(), 4u);

  // One of them decompressed by hand, one missing: only that one is fetched again.
  std::filesystem::path plain = first.files[1].path;
  put_file(plain.replace_extension(), all_of(Source(first.files[1].path)));
  std::filesystem::remove(first.files[1].path);
  std::filesystem::remove(first.files[2].path);
  const FetchResult second = fetch("fashion", options);
  EXPECT_EQ(second.files[1].path, plain);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(second.files[i].already_there, i != 2) << i;
  EXPECT_EQ(server.requests().size(), 5u);

  // The sets share file names: one does not replace the other.
  EXPECT_THAT(error_of([&] { fetch("mnist", options); }),
              AllOf(HasSubstr("train-images-idx3-ubyte.gz is there"), HasSubstr("move it away")));
  EXPECT_EQ(file_content(first.files[0].path), file_content(kFashion / kFiles[0]));
}

TEST(Fetch, RefusesWhatIsNotTheDataSet) {
  TestServer server;
  for (const std::string& file : kFiles) server.put(file, {.body = "<html>Log in first</html>"});
  server.put("HIGGS.csv.gz", {.body = "short"});
  const TestDirectory directory;
  const FetchOptions options{.directory = directory.path(), .mirror = server.url()};
  EXPECT_THAT(error_of([&] { fetch("mnist", options); }),
              AllOf(HasSubstr(server.url("train-images-idx3-ubyte.gz")),
                    HasSubstr("instead of 6bbc9ace898e44ae57da46a324031adb")));
  EXPECT_THAT(error_of([&] { fetch("higgs", options); }), HasSubstr("5 bytes instead of 2816407858"));
  EXPECT_EQ(directory.files(), 0u);
}

TEST(Fetch, SaysWhichNamesThereAre) {
  try {
    fetch("cifar");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cifar"), HasSubstr("mnist, fashion, higgs")));
  }
}

TEST(Fetch, RefusesADirectoryThatCannotBe) {
  TestServer server;
  const TestDirectory directory;
  put_file(directory / "file", "x");
  EXPECT_THAT(
      error_of([&] { fetch("mnist", {.directory = directory / "file/below", .mirror = server.url()}); }),
      HasSubstr("file/below"));
  EXPECT_THAT(server.requests(), IsEmpty());
}

}  // namespace
}  // namespace filigree::internal
