// Finds the largest packet that a path carries unfragmented, by trying one size after another.
// Large packets are stopped by routers, which answer with an ICMP message ("fragmentation needed,
// MTU 1400"), and by black holes, which drop them silently. So a size has passed only if its
// receipt was confirmed, and silence counts against a large packet only where a small one was
// confirmed.
//
//   small passes? ─ no ─▶ unknown: the target confirms nothing
//        │ yes
//   interface's MTU passes? ─ yes ─▶ done: that is the path's MTU
//        │ no: too big with MTU m (try m), or lost (try common MTUs, then the sizes between)
//        ▼
//   passed size + 1 is known not to pass ─▶ done
//
// MtuSearch is pure; search_mtu() runs it with a probe. Sizes are of whole IP packets. One thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/net/address.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"

namespace chokepoint::probe::path {

enum class Passage { Passed, TooBig, Lost };

struct MtuAnswer {
  Passage passage = Passage::Lost;
  std::optional<int> mtu_bytes = {};      // with TooBig
  std::optional<net::Address> from = {};  // with TooBig: the router
};

// Finds out whether an unfragmented packet of this size reaches the target. Repeats packets that
// seem lost, as often as its way of confirming needs.
class MtuProbe {
 public:
  virtual ~MtuProbe() = default;
  virtual Result<MtuAnswer> try_size(int packet_bytes) = 0;
};

struct MtuFinding {
  std::optional<int> path_mtu_bytes = {};
  std::optional<int> interface_mtu_bytes = {};
  // The router that answered "too big" last, and the MTU in its answer.
  std::optional<net::Address> limited_by = {};
  std::optional<int> announced_bytes = {};
  // The smallest size that vanished silently, where a black hole limits the path.
  std::optional<int> black_hole_from_bytes = {};
  bool confirmed = false;  // the target confirmed at least a small packet
  bool complete = false;   // false: time ran out first
  int tries = 0;
};

class MtuSearch {
 public:
  explicit MtuSearch(int interface_mtu_bytes);

  std::optional<int> next() const;
  void answer(int packet_bytes, const MtuAnswer& answer);
  MtuFinding finding() const;

 private:
  int between() const;

  int interface_mtu_;
  int passed_ = 0;                      // the largest that is known to pass
  int not_passed_;                      // the smallest that is known not to
  Passage boundary_ = Passage::TooBig;  // why that one did not pass
  bool dead_ = false;                   // not even a small packet was confirmed
  int announced_ = 0;                   // by the last TooBig; 0 where it named no MTU
  std::optional<net::Address> limited_by_ = {};
  int tries_ = 0;
};

Result<MtuFinding> search_mtu(MtuProbe& probe, int interface_mtu_bytes, const sys::Clock& clock,
                              std::int64_t until_ns);

}  // namespace chokepoint::probe::path
