#include "probe/peer/datagram_stream.h"

#include <chrono>

#include "base/net/socket.h"
#include "probe/udp/data_socket.h"

namespace chokepoint::probe::peer {
namespace {

// How soon a blocked thread sees that it shall stop.
constexpr std::chrono::milliseconds kBlocked{100};
constexpr int kRoom = 4 << 20;

}  // namespace

DatagramStream::~DatagramStream() {
  stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

Result<> DatagramStream::start() {
  udp::ask_for_room(fd_.get(), kRoom);
  Result<> ready = net::set_blocking(fd_.get(), kBlocked, kBlocked);
  if (ready && role_ == Role::Receive) {
    ready = udp::prepare_receiving(fd_.get());
  }
  if (!ready) {
    return ready;
  }
  thread_ = std::thread([this] {
    loop_(fd_.get(), counters_, stopping_);
    counters_.done = true;
  });
  return {};
}

}  // namespace chokepoint::probe::peer
