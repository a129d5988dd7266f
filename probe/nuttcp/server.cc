#include "probe/nuttcp/server.h"

#include <chrono>
#include <thread>

#include "probe/nuttcp/protocol.h"
#include "probe/nuttcp/server_talk.h"
#include "probe/peer/waiting_room.h"

namespace chokepoint::probe::nuttcp {
namespace {

constexpr std::chrono::hours kUntilSomebodyComes{24 * 365};
constexpr std::size_t kMostWaiting = 16;
constexpr std::size_t kLongestHello = 64;

// A greeting is one short line.
std::size_t wants(const std::string& said) {
  const bool complete = said.find('\n') != std::string::npos || said.size() >= kLongestHello;
  return complete ? 0 : kLongestHello - said.size();
}

void test_after_test(peer::WaitingRoom& room, const ServerOptions& options, int stop) {
  while (true) {
    Result<peer::Visitor> client = room.next(net::Patience::of(kUntilSomebodyComes, stop));
    if (!client) {
      return;
    }
    const std::string name = client->from.text();
    const Result<std::string> done = ServerTalk(std::move(*client), options, stop).converse();
    options.log("nuttcp " + name + ": " + (done ? *done : describe(done.error())));
  }
}

}  // namespace

Result<> serve(std::vector<sys::Descriptor> listeners, const ServerOptions& options, int stop) {
  TRY(const std::unique_ptr<peer::WaitingRoom> room, peer::WaitingRoom::make(kMostWaiting));
  std::thread tests([&] { test_after_test(*room, options, stop); });
  peer::Door door(std::move(listeners), {.wants = wants, .on_ready = [&](peer::Visitor visitor) {
                                           if (read_hello(visitor.said)) {
                                             room->enter(visitor);
                                           }
                                         }});
  const Result<> done = door.run(stop);
  tests.join();
  return done;
}

}  // namespace chokepoint::probe::nuttcp
