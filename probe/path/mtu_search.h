// Finds the largest packet that a path carries unfragmented, by asking of one size after another
// whether it got through. Two things stand in the way of large packets: routers that say so with an
// ICMP message ("fragmentation needed, MTU 1400"), and black holes, which drop them and say
// nothing. So a size counts as passed only when its receipt was confirmed, and silence about a
// large packet counts against it only where a small one is confirmed.
//
//   small passes? ─ no ─▶ unknown: the target confirms nothing
//        │ yes
//   interface's MTU passes? ─ yes ─▶ that is it
//        │ no: too big, MTU m (try m) or lost (try the sizes that links have, then the sizes
//        between) ▼
//   passed size + 1 is known not to pass ─▶ done
//
// MtuSearch is pure; search_mtu() drives it with a probe. Sizes are whole IP packets. One thread.
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
  std::optional<int> mtu_bytes = {};      // what TooBig said
  std::optional<net::Address> from = {};  // who said it
};

// Says whether an unfragmented packet of this size reached the target. Repeats what got lost by
// itself, as often as its way of confirming needs.
class MtuProbe {
 public:
  virtual ~MtuProbe() = default;
  virtual Result<MtuAnswer> try_size(int packet_bytes) = 0;
};

struct MtuFinding {
  std::optional<int> path_mtu_bytes = {};
  std::optional<int> interface_mtu_bytes = {};
  // The router that said "too big" last, and the MTU it named.
  std::optional<net::Address> limited_by = {};
  std::optional<int> announced_bytes = {};
  // The smallest size that vanished without a word, where the path's limit is a silent one.
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
  Passage boundary_ = Passage::TooBig;  // how that one did not pass
  bool dead_ = false;
  int announced_ = 0;  // by the last TooBig; 0 where it named none
  std::optional<net::Address> limited_by_ = {};
  int tries_ = 0;
};

Result<MtuFinding> search_mtu(MtuProbe& probe, int interface_mtu_bytes, const sys::Clock& clock,
                              std::int64_t until_ns);

}  // namespace chokepoint::probe::path
