// SPDX-License-Identifier: Apache-2.0
// Downloads against a server that cuts, redirects, refuses and lies.
#include "fetch/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include <csignal>

#include "fetch/part_file.h"
#include "fetch/test_server.h"
#include "io/test_files.h"

namespace filigree::internal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 300 kB: several chunks of libcurl's, which are 16 kB.
std::string some_bytes() {
  std::string text;
  for (int i = 0; text.size() < 300'000; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

std::string gzipped(const std::string& text, int level) {
  z_stream stream = {};
  deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = text.size();
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = out.size();
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class Download : public testing::Test {
 protected:
  void SetUp() override {
    put_file(directory_ / "original", text_);
    expected_.checksum = checksum_of_contents(directory_ / "original", expected_.hash);
    std::filesystem::remove(directory_ / "original");
  }
  void fetch(const std::vector<std::string>& urls, const Observer& observer = {}) {
    download(urls, target(), expected_, observer, {.connect = 5, .stalled = 1});
  }
  std::filesystem::path target() const { return directory_ / "file"; }
  std::filesystem::path part() const { return directory_ / "file.part"; }

  std::string text_ = some_bytes();
  Expected expected_;
  TestDirectory directory_;
  TestServer server_;
};

TEST(Checksum, IsThatOfKnownTexts) {
  const TestDirectory directory;
  const auto file = put_file(directory / "abc", "abc");  // RFC 1321 and FIPS 180-2
  EXPECT_EQ(checksum_of_contents(file, Hash::md5), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(checksum_of_contents(file, Hash::sha256),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(checksum_of_contents(put_file(directory / "abc.gz", gzipped("abc", 9)), Hash::md5),
            "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(checksum_of_contents(put_file(directory / "none", ""), Hash::md5),
            "d41d8cd98f00b204e9800998ecf8427e");
}

TEST_F(Download, BringsTheFileAndLeavesNothingElse) {
  server_.put("file", {.body = text_});
  double last = 0, total = 0;
  Observer observer;
  observer.progress = [&](const Progress& p) {
    if (p.stage != "fetching file") return;
    last = p.done;
    total = p.total;
  };
  fetch({server_.url("file")}, observer);
  EXPECT_EQ(file_content(target()), text_);
  EXPECT_EQ(directory_.files(), 1u);
  EXPECT_EQ(total, static_cast<double>(text_.size()));
  EXPECT_LE(last, total);
}

TEST_F(Download, ResumesAfterALostConnection) {
  server_.put("file", {.body = text_, .cut_after = 100'000});
  EXPECT_THAT(error_of([&] { fetch({server_.url("file")}); }),
              AllOf(HasSubstr(server_.url("file")), HasSubstr("100000 bytes are kept")));
  EXPECT_FALSE(std::filesystem::exists(target()));
  EXPECT_EQ(std::filesystem::file_size(part()), 100'000u);
  server_.put("file", {.body = text_});
  fetch({server_.url("file")});
  EXPECT_EQ(file_content(target()), text_);
  EXPECT_EQ(directory_.files(), 1u);
  EXPECT_THAT(server_.requests(), ElementsAre("/file", "/file from 100000"));
}

TEST_F(Download, StartsOverWhenTheServerKnowsNoRanges) {
  put_file(part(), text_.substr(0, 5000));
  server_.put("file", {.body = text_, .ranges = false});
  fetch({server_.url("file")});
  EXPECT_EQ(file_content(target()), text_);
  EXPECT_THAT(server_.requests(), ElementsAre("/file from 5000"));
}

TEST_F(Download, TakesAPartThatIsAlreadyComplete) {
  put_file(part(), text_);
  server_.put("file", {.body = text_});
  fetch({server_.url("file")});  // the size is not known: the server says 416
  EXPECT_EQ(file_content(target()), text_);
  std::filesystem::rename(target(), part());
  expected_.bytes = text_.size();
  fetch({server_.url("file")});  // it is: the server is not asked
  EXPECT_EQ(file_content(target()), text_);
  EXPECT_EQ(server_.requests().size(), 1u);
}

TEST_F(Download, StartsOverWhenThePartBelongsToAnotherFile) {
  server_.put("file", {.body = text_});
  for (const std::size_t bytes : {std::size_t{1000}, text_.size(), text_.size() + 10}) {
    put_file(part(), std::string(bytes, 'x'));
    fetch({server_.url("file")});
    EXPECT_EQ(file_content(target()), text_);
    std::filesystem::remove(target());
  }
}

TEST_F(Download, DeletesWrongBytesAndSaysBothSums) {
  server_.put("file", {.body = "something else"});
  EXPECT_THAT(error_of([&] { fetch({server_.url("file")}); }),
              AllOf(HasSubstr(server_.url("file")), HasSubstr("MD5"), HasSubstr(expected_.checksum),
                    HasSubstr("6c7ba9c5a141421e1c03cb9807c97c74"), HasSubstr("deleted")));
  EXPECT_EQ(directory_.files(), 0u);
}

TEST_F(Download, ChecksTheSizeWhereNoSumIsKnown) {
  expected_ = {.bytes = 20};
  for (const std::size_t bytes : {std::size_t{19}, std::size_t{21}}) {
    server_.put("file", {.body = std::string(bytes, 'x')});
    EXPECT_THAT(error_of([&] { fetch({server_.url("file")}); }), HasSubstr(" 20"));
    EXPECT_EQ(directory_.files(), 0u) << bytes;
  }
  server_.put("file", {.body = std::string(20, 'x')});
  fetch({server_.url("file")});
  EXPECT_EQ(std::filesystem::file_size(target()), 20u);
}

TEST_F(Download, ChecksGzipByItsContents) {
  for (const int level : {1, 9}) {
    server_.put("file", {.body = gzipped(text_, level)});
    fetch({server_.url("file")});
    EXPECT_EQ(all_of(Source(target())), text_);
    std::filesystem::remove(target());
  }
  std::string broken = gzipped(text_, 1);
  broken[broken.size() - 6] ^= 1;  // in the CRC
  expected_.checksum.clear();
  server_.put("file", {.body = broken});
  EXPECT_THAT(error_of([&] { fetch({server_.url("file")}); }), HasSubstr("corrupt gzip data"));
  EXPECT_EQ(directory_.files(), 0u);
}

TEST_F(Download, MixesNoTwoMirrors) {
  // The first mirror breaks off, the second has the same contents compressed in another way.
  const std::string first = gzipped(text_, 1), second = gzipped(text_, 9);
  ASSERT_NE(first, second);
  server_.put("first", {.body = first, .cut_after = 20'000});
  server_.put("second", {.body = second});
  fetch({server_.url("first"), server_.url("second")});
  EXPECT_EQ(file_content(target()), second);
  EXPECT_THAT(server_.requests(), ElementsAre("/first", "/second from 20000", "/second"));
}

TEST_F(Download, TriesMirrorsInOrderAndNamesAllFailures) {
  server_.put("good", {.body = text_});
  server_.put("wrong", {.body = "wrong"});
  fetch({server_.url("none"), server_.url("wrong"), server_.url("good")});
  EXPECT_EQ(file_content(target()), text_);
  std::filesystem::remove(target());
  EXPECT_THAT(error_of([&] {
                fetch({server_.url("none"), server_.url("wrong")});
              }),
              AllOf(HasSubstr(server_.url("none") + ": the server answered 404"),
                    HasSubstr(server_.url("wrong") + ": its MD5")));
  EXPECT_EQ(directory_.files(), 0u);
}

TEST_F(Download, FollowsRedirectsButNotInCircles) {
  server_.put("file", {.body = text_});
  server_.put("old", {.body = "moved", .status = 302, .location = server_.url("file")});
  server_.put("circle", {.status = 301, .location = server_.url("circle")});
  server_.put("local", {.status = 302, .location = "file:///etc/hostname"});
  fetch({server_.url("old")});
  EXPECT_EQ(file_content(target()), text_);
  std::filesystem::remove(target());
  EXPECT_THAT(error_of([&] { fetch({server_.url("circle")}); }), HasSubstr("redirects"));
  EXPECT_THAT(error_of([&] { fetch({server_.url("local")}); }), HasSubstr("file"));
  EXPECT_EQ(directory_.files(), 0u);
}

TEST_F(Download, KeepsThePartThroughErrorPages) {
  put_file(part(), text_.substr(0, 5000));
  for (const int status : {403, 404, 500, 503}) {
    server_.put("file", {.body = "an error page", .status = status});
    EXPECT_THAT(error_of([&] { fetch({server_.url("file")}); }),
                HasSubstr("answered " + std::to_string(status)));
  }
  EXPECT_EQ(file_content(part()), text_.substr(0, 5000));
}

TEST_F(Download, RefusesAnotherRangeThanAskedFor) {
  put_file(part(), text_.substr(0, 5000));
  server_.put("file", {.body = text_, .range_shift = 8});
  EXPECT_THAT(error_of([&] { fetch({server_.url("file")}); }), HasSubstr("byte 5000"));
  EXPECT_EQ(file_content(part()), text_.substr(0, 5000));
}

TEST_F(Download, GivesUpOnASilentServerAndKeepsWhatCame) {
  server_.put("file", {.body = text_, .cut_after = 50'000, .stall = true});
  EXPECT_THAT(
      error_of([&] { fetch({server_.url("file")}); }),
      AllOf(HasSubstr(server_.url("file")), HasSubstr("too slow"), HasSubstr("50000 bytes are kept")));
  EXPECT_EQ(std::filesystem::file_size(part()), 50'000u);
}

TEST_F(Download, GivesUpOnAServerThatIsTooSlowForever) {
  server_.put("file", {.body = text_, .cut_after = 1000, .drip = true});
  const std::vector<std::string> urls = {server_.url("file")};
  const std::string error = error_of([&] {
    download(urls, target(), expected_, {},
             {.connect = 5, .stalled = 30, .total = 1, .slowest = 1'000'000'000});
  });
  EXPECT_THAT(error, AllOf(HasSubstr(server_.url("file")), HasSubstr("timed out"), HasSubstr("are kept")));
  EXPECT_GT(std::filesystem::file_size(part()), 1000u);
}

TEST_F(Download, SaysThatNobodyListens) {
  EXPECT_THAT(error_of([&] { fetch({"http://127.0.0.1:1/file"}); }), HasSubstr("http://127.0.0.1:1/file"));
  EXPECT_EQ(directory_.files(), 0u);
}

TEST_F(Download, TakesWebAddressesOnly) {
  for (const std::string url : {"file:///etc/hostname", "ftp://127.0.0.1/x", "127.0.0.1/x", ""})
    EXPECT_THAT(error_of([&] { fetch({url}); }), HasSubstr("http://")) << url;
  EXPECT_THAT(server_.requests(), IsEmpty());
}

TEST_F(Download, StopsWhenAskedToAndResumes) {
  std::stop_source stop;
  Observer observer;
  observer.stop = stop.get_token();
  observer.progress = [&](const Progress& p) {
    if (p.done >= 50'000) stop.request_stop();
  };
  server_.put("file", {.body = text_, .cut_after = 50'000, .stall = true});
  EXPECT_THROW(fetch({server_.url("file"), server_.url("other")}, observer), Cancelled);
  EXPECT_EQ(std::filesystem::file_size(part()), 50'000u);
  server_.put("file", {.body = text_});
  fetch({server_.url("file")});
  EXPECT_EQ(file_content(target()), text_);
  EXPECT_THAT(server_.requests(), ElementsAre("/file", "/file from 50000"));
}

TEST_F(Download, DoesNotFollowALink) {
  put_file(directory_ / "precious", "mine");
  std::filesystem::create_symlink(directory_ / "precious", part());
  server_.put("file", {.body = text_});
  EXPECT_THAT(error_of([&] { fetch({server_.url("file")}); }), HasSubstr("symbolic link"));
  EXPECT_EQ(file_content(directory_ / "precious"), "mine");
}

TEST_F(Download, TouchesNoFileThatIsNotItsOwn) {
  server_.put("file", {.body = text_});
  ASSERT_EQ(mkfifo(part().c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { fetch({server_.url("file")}); }), HasSubstr("no file of its own"));
  std::filesystem::remove(part());
  put_file(directory_ / "precious", "mine");
  std::filesystem::create_hard_link(directory_ / "precious", part());
  EXPECT_THAT(error_of([&] { fetch({server_.url("file")}); }), HasSubstr("no file of its own"));
  EXPECT_EQ(file_content(directory_ / "precious"), "mine");
}

TEST_F(Download, TakesNoMoreThanItMay) {
  server_.put("file", {.body = text_});
  expected_.most = 1000;
  EXPECT_THAT(error_of([&] { fetch({server_.url("file")}); }),
              HasSubstr("more than the expected 1000 bytes"));
  EXPECT_FALSE(std::filesystem::exists(part()));
}

TEST_F(Download, ReportsAFullDisk) {
  // A limit on the size of files stands in for the end of a disk: writes fail as they do there.
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {100'000, before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  server_.put("file", {.body = text_});
  const std::string error = error_of([&] { fetch({server_.url("file"), server_.url("file")}); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(error, AllOf(HasSubstr("file.part"), HasSubstr("File too large")));
  EXPECT_EQ(server_.requests().size(), 1u);  // another mirror would not help
}

TEST_F(Download, RefusesPlacesThatCannotBeWritten) {
  server_.put("file", {.body = text_});
  const std::vector<std::string> urls = {server_.url("file")};
  EXPECT_THAT(error_of([&] { download(urls, directory_ / "none/file", expected_); }), HasSubstr("none/file"));
  const PartFile busy(target());
  EXPECT_THAT(error_of([&] { fetch(urls); }), HasSubstr("another process"));
  EXPECT_THAT(server_.requests(), IsEmpty());
}

TEST_F(Download, PassesOnWhatAnObserverThrows) {
  server_.put("file", {.body = text_});
  Observer observer;
  observer.progress = [](const Progress&) { throw std::runtime_error("from the observer"); };
  EXPECT_THROW(fetch({server_.url("file")}, observer), std::runtime_error);
}

}  // namespace
}  // namespace filigree::internal
