// The ways that are not yet explained, counted for each host, each direction and each pair: the
// search for who is to blame takes from it what it has explained. One owner.
#pragma once

#include <span>
#include <vector>

#include "preflight/judge/blame.h"

namespace chokepoint::preflight {

class WaysBook {
 public:
  struct PairParts {
    HostIndex a = 0;
    HostIndex b = 0;
    WayIndex way_there = 0;
    WayIndex way_back = 0;
    Part there = {};
    Part back = {};
  };
  struct Between {
    Part there = {};
    Part back = {};
  };

  WaysBook(std::size_t hosts, std::span<const Tested> tested);

  std::size_t hosts_tested() const { return hosts_tested_; }
  const Part& all() const { return all_; }
  const Part& out(HostIndex host) const { return out_[host]; }
  const Part& in(HostIndex host) const { return in_[host]; }
  // What it sends or receives, but for the way that suffers most.
  Part without_worst(HostIndex host, bool sends) const;
  // All ways that neither begin nor end at this host.
  Part among_others(HostIndex host) const;
  // With a way that suffers, in order.
  std::vector<HostIndex> suffering_hosts() const;
  std::vector<PairParts> suffering_pairs() const;
  // Hosts joined by pairs of which no tested way suffers, each group in order.
  std::vector<std::vector<HostIndex>> groups() const;
  Between between(std::span<const HostIndex> group, std::span<const HostIndex> others) const;

  // Explained: taken out, and the ones that suffered handed back.
  std::vector<WayIndex> take(HostIndex host, bool sends, bool receives);
  std::vector<WayIndex> take_between(std::span<const HostIndex> group,
                                     std::span<const HostIndex> others);
  std::vector<WayIndex> take_all();

 private:
  void take_way(std::size_t index, std::vector<WayIndex>& suffering);
  std::vector<std::uint8_t> sides(std::span<const HostIndex> group,
                                  std::span<const HostIndex> others) const;

  std::vector<Tested> tested_;
  std::vector<bool> taken_;
  std::vector<std::uint32_t> first_;  // of each host's in `at_`; one more than hosts
  std::vector<std::uint32_t> at_;     // the tested ways that begin or end at a host
  std::vector<Part> out_;
  std::vector<Part> in_;
  Part all_ = {};
  std::size_t hosts_tested_ = 0;
};

}  // namespace chokepoint::preflight
