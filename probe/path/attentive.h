// A prober that keeps echoing the peer's UDP probes while it waits for its own TCP ones: both ends
// work at the same time, and a silent peer looks like a lossy path. Borrows both; one thread.
#pragma once

#include <algorithm>

#include "probe/path/prober.h"
#include "probe/path/udp_prober.h"

namespace chokepoint::probe::path {

class Attentive final : public Prober {
 public:
  Attentive(Prober& own, UdpProber& flow) : own_(own), flow_(flow) {}

  Result<> send(const Shot& shot) override { return own_.send(shot); }
  void abandon(std::uint32_t sequence) override { own_.abandon(sequence); }

  Result<std::vector<Reply>> collect(std::chrono::nanoseconds wait) override {
    constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(20);
    if (const auto echoed = flow_.collect(std::chrono::nanoseconds(0)); !echoed) {
      return echoed;
    }
    return own_.collect(std::min(wait, kSlice));
  }

 private:
  Prober& own_;
  UdpProber& flow_;
};

}  // namespace chokepoint::probe::path
