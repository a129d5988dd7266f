#include "probe/udp/flow_socket.h"

#include <algorithm>
#include <chrono>

#include "base/net/socket.h"
#include "probe/udp/data_socket.h"

namespace chokepoint::probe::udp {
namespace {

// Room for what a 100 Gb/s stream brings while a thread is kept from its core for two milliseconds.
constexpr int kRoomBytes = 32 << 20;
// How soon a blocked thread sees that it shall stop.
constexpr std::chrono::milliseconds kBlocked{20};

}  // namespace

Result<sys::Descriptor> open_flow(const net::Address& local, const net::SocketOptions& options,
                                  std::int64_t& room_bytes) {
  Result<sys::Descriptor> fd = net::bind_udp({.address = local, .port = 0}, options);
  if (!fd) {
    return fd;
  }
  room_bytes = std::max(room_bytes, ask_for_room(fd->get(), kRoomBytes));
  TRY(prepare_receiving(fd->get()));
  return fd;
}

Result<> bind_flow_to(int fd, const net::Endpoint& peer) {
  Result<> done = net::connect_udp(fd, peer);
  done = done ? prepare_sending(fd) : done;
  return done ? net::set_blocking(fd, kBlocked, kBlocked) : done;
}

}  // namespace chokepoint::probe::udp
