// What comes through netlink is another's word, however much that other is the kernel: parsing
// stays inside the bytes, and what it gives lies inside them.
#include <cstdlib>
#include <span>

#include "base/net/tcp_info.h"
#include "capture/socket/reading.h"

namespace {

using namespace chokepoint::capture;

void check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check_reading(const socket::Reading& reading, std::span<const std::byte> all) {
  const chokepoint::net::TcpInfo info = chokepoint::net::decode_tcp_info(reading.info);
  const socket::Totals totals = socket::totals_of(info);
  check(totals.since(totals).sent_bytes == 0);
  check(!socket::is_other(socket::sample_of(reading, info), socket::sample_of(reading, info)));
  check(reading.info.empty() ||
        (reading.info.data() >= all.data() &&
         reading.info.data() + reading.info.size() <= all.data() + all.size()));
}

}  // namespace

// The input is one datagram.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  socket::for_each_answer(bytes, [&](const socket::Answer& answer) {
    check(answer.error >= 0);
    if (answer.reading) {
      check_reading(*answer.reading, bytes);
    }
  });
  return 0;
}
