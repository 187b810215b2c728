// SPDX-License-Identifier: Apache-2.0
// For tests: an HTTP server on the loopback address, with the ways in which servers disappoint.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "filigree/vocabulary.h"

namespace filigree::internal {

// How one path is answered.
struct Answer {
  static constexpr std::size_t kAll = -1;

  std::string body = {};
  int status = 200;
  std::string location = {};     // of a redirect
  bool ranges = true;            // honours Range …
  std::size_t range_shift = 0;   // … but sends the bytes from so many later on
  std::size_t cut_after = kAll;  // closes the connection after so many bytes of the body …
  bool stall = false;            // … or goes silent there instead …
  bool drip = false;             // … or sends a byte now and then
};

// Serves one connection after another until it is destroyed; no wait is longer than kPatience.
class TestServer {
 public:
  TestServer() {
    ::setenv("no_proxy", "127.0.0.1", 1);  // whatever the machine's proxy is
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw Error("cannot listen on the loopback address");
    base_ = fmt::format("http://127.0.0.1:{}/", ntohs(address.sin_port));
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() {
    thread_.request_stop();
    thread_.join();
    ::close(listener_);
  }

  std::string url(std::string_view path = "") const { return base_ + std::string(path); }

  // Other paths are answered with 404.
  void put(const std::string& path, Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_["/" + path] = std::move(answer);
  }

  // "/path" or "/path from 1000", in the order they came.
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  static constexpr int kPatience = 10'000;  // milliseconds

  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waiting = {listener_, POLLIN, 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) continue;
      answer(client, stop);
      ::close(client);
    }
  }

  static std::string read_request(int client) {
    std::string text;
    while (text.find("\r\n\r\n") == std::string::npos) {
      pollfd waiting = {client, POLLIN, 0};
      char buffer[4096];
      if (::poll(&waiting, 1, kPatience) <= 0) return "";
      const ssize_t got = ::recv(client, buffer, sizeof buffer, 0);
      if (got <= 0) return "";
      text.append(buffer, got);
    }
    return text;
  }

  // What stands between two texts.
  static std::string between(const std::string& text, std::string_view before, std::string_view after) {
    const std::size_t begin = text.find(before);
    if (begin == std::string::npos) return "";
    const std::size_t from = begin + before.size();
    return text.substr(from, text.find(after, from) - from);
  }

  static bool send_all(int client, std::string_view text) {
    while (!text.empty()) {
      pollfd waiting = {client, POLLOUT, 0};
      if (::poll(&waiting, 1, kPatience) <= 0) return false;
      const ssize_t sent = ::send(client, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) return false;
      text.remove_prefix(sent);
    }
    return true;
  }

  void answer(int client, const std::stop_token& stop) {
    const std::string request = read_request(client);
    const std::string path = between(request, "GET ", " ");
    const std::string range = between(request, "Range: bytes=", "-");
    Answer reply;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(path + (range.empty() ? "" : " from " + range));
      const auto found = answers_.find(path);
      reply = found != answers_.end() ? found->second : Answer{.body = "no such page", .status = 404};
    }
    std::string_view body = reply.body;
    std::string headers;
    if (!reply.location.empty()) headers += "Location: " + reply.location + "\r\n";
    if (!range.empty() && reply.ranges && reply.status == 200) {
      const std::size_t from = std::stoul(range) + reply.range_shift;
      if (from < body.size()) {
        reply.status = 206;
        headers += fmt::format("Content-Range: bytes {}-{}/{}\r\n", from, body.size() - 1, body.size());
        body.remove_prefix(from);
      } else {
        reply.status = 416;
        headers += fmt::format("Content-Range: bytes */{}\r\n", body.size());
        body = "nothing there";
      }
    }
    const std::string head =
        fmt::format("HTTP/1.1 {} So\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n", reply.status,
                    body.size(), headers);
    if (!send_all(client, head) || !send_all(client, body.substr(0, reply.cut_after))) return;
    // Silent, or nearly, until the client leaves.
    for (int waited = 0; (reply.stall || reply.drip) && waited < kPatience && !stop.stop_requested();
         waited += 20) {
      if (reply.drip && !send_all(client, body.substr(reply.cut_after++, 1))) return;
      pollfd leaving = {client, POLLRDHUP, 0};
      if (::poll(&leaving, 1, 20) > 0) return;
    }
  }

  int listener_ = -1;
  std::string base_;
  mutable std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::vector<std::string> requests_;
  std::jthread thread_;
};

}  // namespace filigree::internal
