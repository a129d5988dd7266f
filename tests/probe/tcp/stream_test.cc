#include "probe/tcp/stream.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <thread>

namespace chokepoint::probe::tcp {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

struct Pair {
  sys::Descriptor sender;
  sys::Descriptor receiver;
};

// Two ends of a connection over loopback.
Pair connected() {
  const sys::Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(at);
  auto* address = reinterpret_cast<sockaddr*>(&at);
  EXPECT_EQ(bind(listener.get(), address, length), 0);
  EXPECT_EQ(listen(listener.get(), 1), 0);
  EXPECT_EQ(getsockname(listener.get(), address, &length), 0);
  Pair pair{.sender = sys::Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
            .receiver = {}};
  EXPECT_EQ(connect(pair.sender.get(), address, length), 0);
  pair.receiver = sys::Descriptor(accept(listener.get(), nullptr, nullptr));
  return pair;
}

// On a fast path the kernel wakes the receiver for many packets at once. What is too little for
// that is still counted while the sender pauses.
TEST(Stream, AReceiverTakesWhatLiesThereWhenTheSenderPauses) {
  Pair pair = connected();
  Result<Payload> payload = Payload::make();
  ASSERT_TRUE(payload);
  Stream stream(std::move(pair.receiver), {.role = Role::Receive}, *payload);
  ASSERT_TRUE(stream.start());
  std::uint64_t sent = 0;
  const auto send_some = [&](std::size_t size) {
    const ssize_t taken = send(pair.sender.get(), payload->bytes().data(), size, MSG_NOSIGNAL);
    sent += static_cast<std::uint64_t>(std::max(taken, ssize_t{0}));
  };
  for (int pause = 0; pause < 3; ++pause) {
    const auto until = steady_clock::now() + std::chrono::milliseconds(100);
    while (steady_clock::now() < until) {
      send_some(payload->bytes().size());
    }
    send_some(1);
    const auto deadline = steady_clock::now() + seconds(10);
    while (stream.counters().bytes < sent && steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(stream.counters().bytes, sent);
  }
  shutdown(pair.sender.get(), SHUT_WR);
}

}  // namespace
}  // namespace chokepoint::probe::tcp
