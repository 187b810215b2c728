// SPDX-License-Identifier: Apache-2.0
// Downloads: one libcurl transfer per mirror into the part file, then the check of what came.
#include "fetch/download.h"

#include <curl/curl.h>

#include <charconv>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "fetch/part_file.h"

namespace filigree::internal {
namespace {

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

// Where "bytes 100-199/200" begins.
std::optional<std::uint64_t> range_start(CURL* handle) {
  curl_header* header = nullptr;
  if (curl_easy_header(handle, "Content-Range", 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return {};
  constexpr std::string_view kUnit = "bytes ";
  const std::string_view text = header->value;
  if (!text.starts_with(kUnit)) return {};
  std::uint64_t start = 0;
  const auto [end, error] = std::from_chars(text.data() + kUnit.size(), text.data() + text.size(), start);
  return error == std::errc() ? std::optional(start) : std::nullopt;
}

std::uint64_t limit(const Expected& expected) {
  return expected.bytes > 0 ? expected.bytes : expected.most;
}

// One request. The callbacks run inside libcurl, which no exception may cross: the first is kept here.
struct Transfer {
  CURL* handle;
  PartFile& part;
  const Expected& expected;
  const Observer& observer;
  std::string stage;
  std::uint64_t asked_from = 0;
  bool begun = false;     // the status of the answer was looked at
  bool wanted = false;    // its body belongs into the file
  bool too_long = false;  // it would not end where it should
  bool other_range = false;
  std::exception_ptr failure = nullptr;

  long status() const {
    long code = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  void begin() {
    begun = true;
    if (status() == 200) {
      part.clear();  // all of the file, whatever was asked for
      wanted = true;
    } else if (status() == 206) {
      wanted = range_start(handle) == asked_from;
      other_range = !wanted;
    }
  }

  std::size_t write(std::span<const std::byte> bytes) {
    if (!begun) begin();
    if (other_range) return 0;
    if (!wanted) return bytes.size();  // the text of an error page
    too_long = part.size() + bytes.size() > limit(expected);
    if (too_long) return 0;
    part.append(bytes);
    return bytes.size();
  }

  void report(curl_off_t total) const {
    if (!wanted || total <= 0) return;
    const std::uint64_t before = status() == 206 ? asked_from : 0;
    observer.report(stage, part.size(), before + total, "bytes");
  }
};

std::size_t on_bytes(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    return transfer.write(std::as_bytes(std::span(data, size * count)));
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;  // fewer than offered: libcurl gives up
  }
}

int on_progress(void* user, curl_off_t total, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.observer.stop.stop_requested()) return 1;
  try {
    transfer.report(total);
  } catch (...) {
    transfer.failure = std::current_exception();
    return 1;
  }
  return 0;
}

void initialise_curl() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) fail("libcurl cannot start: {}", curl_easy_strerror(result));
}

bool is_web_address(std::string_view url) {
  return url.starts_with("http://") || url.starts_with("https://");
}

// Brings the part file to its end. Returns what went wrong on the other side, with the URL; empty: nothing.
std::string transfer(const std::string& url, PartFile& part, const Expected& expected,
                     const Observer& observer, const DownloadTimes& times, const std::string& stage) {
  initialise_curl();
  const std::unique_ptr<CURL, FreeHandle> owner(curl_easy_init());
  CURL* handle = owner.get();
  if (handle == nullptr) throw std::bad_alloc();
  char reason[CURL_ERROR_SIZE] = "";
  Transfer state{handle, part, expected, observer, stage, part.size()};
  // A page that was asked for safely is not to be fetched unsafely.
  const char* protocols = url.starts_with("https:") ? "https" : "http,https";
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(handle, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, times.connect);
  const long of_bytes = limit(expected) / times.slowest;
  curl_easy_setopt(handle, CURLOPT_TIMEOUT, times.total + of_bytes);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, times.stalled);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);  // time-outs without SIGALRM: there are other threads
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "filigree");
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &state);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &state);
  // Not CURLOPT_RESUME_FROM, which takes the answer 200 for an error instead of a start over.
  const std::string range = fmt::format("{}-", part.size());
  if (part.size() > 0) curl_easy_setopt(handle, CURLOPT_RANGE, range.c_str());

  const CURLcode result = curl_easy_perform(handle);
  observer.check_stop();
  if (state.failure != nullptr) std::rethrow_exception(state.failure);
  if (state.too_long) {
    part.clear();
    return fmt::format("{}: more than the expected {} bytes; what came has been deleted", url,
                       limit(expected));
  }
  if (state.other_range)
    return fmt::format("{}: the server sent another part of the file than the one from byte {}", url,
                       state.asked_from);
  if (result != CURLE_OK) {
    const std::string kept =
        part.size() == 0 ? ""
                         : fmt::format(" ({} bytes are kept, the next try goes on from there)", part.size());
    return fmt::format("{}: {}{}", url, reason[0] != '\0' ? reason : curl_easy_strerror(result), kept);
  }
  const long status = state.status();
  if (status == 416 && state.asked_from > 0) return "";  // nothing is left to send: see what is there
  if (status != 200 && status != 206) return fmt::format("{}: the server answered {}", url, status);
  if (!state.begun) state.begin();  // an empty body
  return "";
}

// One mirror. Returns what went wrong there; empty: the file is in its place.
std::string fetch_from(const std::string& url, PartFile& part, const Expected& expected,
                       const Observer& observer, const DownloadTimes& times, const std::string& stage) {
  if (!is_web_address(url))
    return fmt::format("{}: not an address that begins with http:// or https://", url);
  for (;;) {
    if (expected.bytes > 0 && part.size() > expected.bytes) part.clear();
    const std::uint64_t resumed_at = part.size();
    if (expected.bytes == 0 || part.size() < expected.bytes) {
      const std::string problem = transfer(url, part, expected, observer, times, stage);
      if (!problem.empty()) return problem;
    }
    const std::string fault = fault_of(part.name(), expected, observer);
    if (fault.empty()) {
      part.finish();
      return "";
    }
    part.clear();
    // The bytes from before may be of another mirror's file, compressed in another way: once more from the
    // start.
    if (resumed_at == 0) return fmt::format("{}: {}; what came has been deleted", url, fault);
  }
}

}  // namespace

std::string fault_of(const std::filesystem::path& path, const Expected& expected, const Observer& observer) {
  std::error_code error_code;
  const std::uint64_t bytes = std::filesystem::file_size(path, error_code);
  if (error_code) return fmt::format("{}: {}", path.string(), error_code.message());
  if (expected.bytes > 0 && bytes != expected.bytes)
    return fmt::format("it has {} bytes instead of {}", bytes, expected.bytes);
  try {
    // Read even where no checksum is known: compressed data carries its own.
    const std::string found = checksum_of_contents(path, expected.hash, observer);
    if (expected.checksum.empty() || found == expected.checksum) return "";
    return fmt::format("its {} is {} instead of {}", name_of(expected.hash), found, expected.checksum);
  } catch (const Cancelled&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  }
}

void download(std::span<const std::string> urls, const std::filesystem::path& path, const Expected& expected,
              const Observer& observer, const DownloadTimes& times) {
  PartFile part(path);
  const std::string stage = "fetching " + path.filename().string();
  std::string problems;
  for (const std::string& url : urls) {
    const std::string problem = fetch_from(url, part, expected, observer, times, stage);
    if (problem.empty()) return;
    problems += (problems.empty() ? "" : "; ") + problem;
  }
  throw Error(problems);
}

}  // namespace filigree::internal
