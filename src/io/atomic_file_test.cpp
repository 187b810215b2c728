// SPDX-License-Identifier: Apache-2.0
// Tests of atomic writing: all or nothing, and every failure told.
#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "io/test_files.h"

namespace filigree::internal {
namespace {

TEST(AtomicFile, AppearsOnlyOnCommit) {
  const TestDirectory directory;
  AtomicFile file(directory / "out");
  file.write("alpha");
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));
  EXPECT_EQ(directory.files(), 0U);  // so a killed run leaves nothing behind
  file.commit();
  EXPECT_EQ(file_content(directory / "out"), "alpha");
  EXPECT_EQ(directory.files(), 1U);
}

TEST(AtomicFile, WithoutCommitLeavesTheOldFileAndNothingElse) {
  const TestDirectory directory;
  put_file(directory / "out", "old");
  { AtomicFile(directory / "out").write("new"); }
  EXPECT_EQ(file_content(directory / "out"), "old");
  EXPECT_EQ(directory.files(), 1U);
}

TEST(AtomicFile, ReplacesAFileAndKeepsItsPermissions) {
  const TestDirectory directory;
  put_file(directory / "out", "old");
  std::filesystem::permissions(directory / "out", std::filesystem::perms(0640));
  AtomicFile file(directory / "out");
  file.write("new");
  file.commit();
  EXPECT_EQ(file_content(directory / "out"), "new");
  EXPECT_EQ(std::filesystem::status(directory / "out").permissions(), std::filesystem::perms(0640));
}

TEST(AtomicFile, WritesThroughALinkToTheFileBehindIt) {
  const TestDirectory directory;
  put_file(directory / "real", "old");
  std::filesystem::create_symlink("real", directory / "link");
  AtomicFile file(directory / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(file_content(directory / "real"), "new");
}

TEST(AtomicFile, WritesWhereALinkToNothingLeads) {
  const TestDirectory directory;
  std::filesystem::create_symlink(directory / "there", directory / "link");
  AtomicFile file(directory / "link");
  file.write("text");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(file_content(directory / "there"), "text");
}

TEST(AtomicFile, TwoWritersOfOneTargetDoNotMeet) {
  const TestDirectory directory;
  AtomicFile first(directory / "out"), second(directory / "out");
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(file_content(directory / "out"), "first");
  EXPECT_EQ(directory.files(), 1U);
}

TEST(AtomicFile, TakesSmallAndLargePiecesInOrder) {
  const TestDirectory directory;
  const std::string large(std::size_t{3} << 20, 'x');
  AtomicFile file(directory / "out");
  file.write("a");
  file.write(large);
  file.write("b");
  file.commit();
  EXPECT_TRUE(file_content(directory / "out") == "a" + large + "b");
}

TEST(AtomicFile, CompressesWhenTheNameEndsInGz) {
  const TestDirectory directory;
  std::string text;
  for (int k = 0; k < 300000; ++k) text += std::to_string(k % 977);
  AtomicFile file(directory / "out.gz");
  for (std::size_t at = 0; at < text.size(); at += 1000) file.write(std::string_view(text).substr(at, 1000));
  file.commit();
  EXPECT_EQ(file_content(directory / "out.gz").substr(0, 2), "\x1f\x8b");
  EXPECT_TRUE(all_of(Source(directory / "out.gz")) == text);
}

TEST(AtomicFile, AnEmptyCompressedFileIsStillAGzipFile) {
  const TestDirectory directory;
  AtomicFile(directory / "out.gz").commit();
  EXPECT_EQ(file_content(directory / "out.gz").substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(all_of(Source(directory / "out.gz")), "");
}

TEST(AtomicFile, AFullDeviceIsAnErrorWithBytesAndReason) {
  AtomicFile file("/dev/full");
  file.write("alpha");
  EXPECT_EQ(error_of([&] { file.commit(); }),
            "/dev/full: cannot write 5 bytes after the first 0: No space left on device");
}

TEST(AtomicFile, AFullDiskLeavesNoPartialFile) {
  // A limit on the size of files stands for the full disk.
  const TestDirectory directory;
  put_file(directory / "out", "old");
  struct rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit small = before;
  small.rlim_cur = 100000;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string large(std::size_t{2} << 20, 'x');
  const std::string message = error_of([&] {
    AtomicFile file(directory / "out");
    file.write(large);
    file.commit();
  });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(message, (directory / "out").string() +
                         ": cannot write 1997152 bytes after the first 100000: File too large");
  EXPECT_EQ(file_content(directory / "out"), "old");
  EXPECT_EQ(directory.files(), 1U);
}

TEST(AtomicFile, WritesPipesDirectly) {
  const TestDirectory directory;
  const auto pipe = directory / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = all_of(Source(pipe)); });
  {
    AtomicFile file(pipe);
    file.write("alpha");
    file.commit();
  }
  reader.join();
  EXPECT_EQ(received, "alpha");
  EXPECT_EQ(directory.files(), 1U);
}

TEST(AtomicFile, WritesADescriptorWhereItStands) {
  const TestDirectory directory;
  const int file = ::open((directory / "log").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::write(file, "before ", 7), 7);
  AtomicFile through("/dev/fd/" + std::to_string(file));
  through.write("here ");
  through.commit();
  ASSERT_EQ(::write(file, "after", 5), 5);
  ::close(file);
  EXPECT_EQ(file_content(directory / "log"), "before here after");
}

TEST(AtomicFile, AMissingDirectoryIsAnError) {
  const TestDirectory directory;
  const std::string path = (directory / "missing/out").string();
  EXPECT_EQ(error_of([&] { AtomicFile file(path); }), path + ": cannot write: No such file or directory");
}

TEST(AtomicFile, ADirectoryIsNoTarget) {
  const TestDirectory directory;
  const std::string path = directory.path().string();
  EXPECT_EQ(error_of([&] { AtomicFile file(path); }), path + ": cannot write: Is a directory");
}

TEST(AtomicFile, AReadOnlyDirectoryIsAnError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TestDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0500));
  const std::string path = (directory / "out").string();
  EXPECT_EQ(error_of([&] { AtomicFile file(path); }), path + ": cannot write: Permission denied");
}

}  // namespace
}  // namespace filigree::internal
