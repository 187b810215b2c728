// SPDX-License-Identifier: Apache-2.0
// A plan that several threads of a program share, each writing into memory of its own, on sessions of one
// thread: what a server does.
#include <filigree/filigree.h>

#include <atomic>
#include <cstdio>
#include <thread>

int main() {
  const filigree::Data data = filigree::load_data({.source = "digits:1500"});
  const filigree::Network network =
      filigree::train(data, {.network = {.hidden = {64}}, .run = {.epochs = 4}}).network;

  // One thread a request: the plan keeps the session that it was compiled in.
  const filigree::Session one_thread({.threads = 1});
  const filigree::Session::Use use(one_thread);
  const filigree::Plan plan = filigree::compile(network);

  constexpr int kClients = 4, kRequests = 50, kRows = 8;
  std::vector<std::uint8_t> rows(kRows * 784, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint8_t>(i * 37 % 256);
  const std::vector<float> expected = plan.run(filigree::Rows(std::span<const std::uint8_t>(rows), 784));
  std::atomic<int> wrong{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c)
    clients.emplace_back([&] {
      std::vector<float> outputs(kRows * 10);  // this client's memory, used again and again
      for (int r = 0; r < kRequests; ++r) {
        plan.run(filigree::Rows(std::span<const std::uint8_t>(rows), 784), outputs);
        wrong += outputs != expected;
      }
    });
  for (std::thread& client : clients) client.join();
  std::printf("%d requests of %d rows by %d threads, %d answers differ\n", kClients * kRequests, kRows,
              kClients, wrong.load());
  return wrong;
}
