// Confirms the receipt of unfragmented UDP packets in either of two ways: a peer echoes what it
// got, or the target, where nobody listens on the port, answers "port unreachable". The latter
// needs nobody at the other end, but hosts ration it (Linux: one a second after the first six), so
// what seems lost is repeated slowly. One thread.
#pragma once

#include <chrono>

#include "probe/path/mtu_search.h"
#include "probe/path/udp_prober.h"

namespace chokepoint::probe::path {

struct Confirmation {
  int tries = 2;
  std::chrono::milliseconds wait{500};       // for an answer, before the next try
  std::chrono::milliseconds last_wait{500};  // after the last one
  std::chrono::milliseconds pause{1100};     // between tries

  static Confirmation by_refusal() { return {}; }
  // A peer answers every copy, so they may follow one another closely.
  static Confirmation by_echo() {
    return {
        .tries = 3, .wait = std::chrono::milliseconds(50), .pause = std::chrono::milliseconds(0)};
  }
};

class UdpMtuProbe final : public MtuProbe {
 public:
  // `prober` is borrowed.
  UdpMtuProbe(UdpProber& prober, const Confirmation& confirmation, const sys::Clock& clock)
      : prober_(prober), confirmation_(confirmation), clock_(clock) {}

  Result<MtuAnswer> try_size(int packet_bytes) override;

 private:
  // `first`: of the tries of this size, any of which may be answered.
  Result<MtuAnswer> try_once(std::uint32_t first, std::chrono::milliseconds wait);
  Result<> pause();

  UdpProber& prober_;
  Confirmation confirmation_;
  const sys::Clock& clock_;
  std::uint32_t sequence_ = 0;
};

}  // namespace chokepoint::probe::path
