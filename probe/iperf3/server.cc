#include "probe/iperf3/server.h"

#include <chrono>
#include <memory>
#include <thread>

#include "probe/iperf3/lobby.h"
#include "probe/iperf3/protocol.h"
#include "probe/iperf3/server_talk.h"

namespace chokepoint::probe::iperf3 {
namespace {

using net::Patience;

constexpr std::chrono::hours kUntilSomebodyComes{24 * 365};

// 37 bytes; a visitor whose bytes are no cookie never gets to the end of them.
std::size_t wants(const std::string& said) {
  if (said.size() < kCookieBytes) {
    return kCookieBytes - said.size();
  }
  return 0;
}

void test_after_test(Lobby& lobby, const ServerOptions& options, int stop) {
  while (true) {
    Result<peer::Visitor> client = lobby.next_client(Patience::of(kUntilSomebodyComes, stop));
    if (!client) {
      return;
    }
    const std::string name = client->from.text();
    ServerTalk talk(std::move(*client), lobby, options, stop);
    const Result<std::string> done = talk.converse();
    // Before its connection closes: whoever sees that may come at once.
    talk.leave();
    options.log(done ? *done : "iperf3 " + name + ": " + describe(done.error()));
  }
}

}  // namespace

Result<> serve(std::vector<sys::Descriptor> listeners, const ServerOptions& options, int stop) {
  TRY(const std::unique_ptr<Lobby> lobby, Lobby::make());
  std::thread tests([&] { test_after_test(*lobby, options, stop); });
  peer::Door door(std::move(listeners), {.wants = wants, .on_ready = [&](peer::Visitor visitor) {
                                           if (is_cookie(std::as_bytes(std::span(visitor.said)))) {
                                             lobby->arrive(std::move(visitor));
                                           }
                                         }});
  const Result<> done = door.run(stop);
  tests.join();
  return done;
}

}  // namespace chokepoint::probe::iperf3
