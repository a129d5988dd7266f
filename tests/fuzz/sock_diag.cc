// What comes by netlink is foreign bytes, although the kernel sends them: reading stays inside the
// bytes, and what it gives lies inside them.
#include <cstdlib>
#include <span>

#include "base/net/netlink.h"
#include "base/net/rtnetlink.h"
#include "base/net/tcp_info.h"
#include "capture/socket/reading.h"

namespace {

using namespace chokepoint::capture;

void check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check_inside(std::span<const std::byte> part, std::span<const std::byte> all) {
  check(part.empty() ||
        (part.data() >= all.data() && part.data() + part.size() <= all.data() + all.size()));
}

void check_reading(const socket::Reading& reading, std::span<const std::byte> all) {
  const chokepoint::net::TcpInfo info = chokepoint::net::decode_tcp_info(reading.info);
  const socket::Totals totals = socket::totals_of(info);
  check(totals.since(totals).sent_bytes == 0);
  check(!socket::is_other(socket::sample_of(reading, info), socket::sample_of(reading, info)));
  check_inside(reading.info, all);
}

// Every payload read as attributes, as deep as nesting goes.
void check_attributes(std::span<const std::byte> bytes, std::span<const std::byte> all) {
  chokepoint::net::for_each_attribute(bytes, [&](int type, std::span<const std::byte> payload) {
    check(type >= 0 && payload.size() < bytes.size());
    check_inside(payload, all);
    check_inside(chokepoint::net::attribute_of(bytes, type), all);
    check_attributes(payload, all);
  });
}

}  // namespace

// The input is one datagram.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  socket::for_each_reply(bytes, [&](const socket::Reply& reply) {
    check(reply.error >= 0);
    if (reply.reading) {
      check_reading(*reply.reading, bytes);
    }
  });
  chokepoint::net::for_each_message(
      bytes, [&](const nlmsghdr& header, std::span<const std::byte> payload) {
        check(header.nlmsg_len == sizeof(nlmsghdr) + payload.size());
        check_inside(payload, bytes);
        check_attributes(payload, bytes);
      });
  if (const auto control = chokepoint::net::priority_flow_control_in(bytes)) {
    check(control->enabled.size() <= 8);
  }
  return 0;
}
