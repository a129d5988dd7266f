// The rate that a way should reach, and the source of that figure: hardware first, then the file of
// limits, then the baseline. What other hosts reach counts only if none of these is known, because
// among few hosts the fastest may be at fault, too. Objects refer to the input that they were
// given. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "preflight/judge/cluster_input.h"

namespace chokepoint::preflight {

// The baseline's figures, found by the names that the hosts had then.
class Earlier {
 public:
  Earlier(const ClusterInput& input, const Measured* before);

  bool is_known() const { return before_ != nullptr; }
  const Measured* before() const { return before_; }
  // This way's, and its pair's, the last time; null where it was not tested.
  const PathResult* path(const DirectedPath& path) const;
  const PairResult* pair(const DirectedPath& path) const;
  // The host of today's, as it was numbered then.
  std::optional<HostIndex> host(HostIndex today) const;

 private:
  using Key = std::uint64_t;

  const Measured* before_;
  std::vector<std::optional<HostIndex>> then_;            // by today's number
  std::vector<std::pair<Key, const PairResult*>> pairs_;  // sorted, by the numbers of then
};

enum class Basis : std::uint8_t {
  Nothing,
  Port,      // the slower port's rate
  Slot,      // the narrower PCIe slot
  Limits,    // the file of limits
  Baseline,  // the last time
  Peers,     // what most hosts reach with others
  Few,       // the best that any reached, where hosts are too few or too different to agree
};

struct Expectation {
  Basis basis = Basis::Nothing;
  double mbps = 0;
  HostIndex whose = 0;  // of Port, Slot, Limits: the host that sets it
};

class Expectations {
 public:
  Expectations(const ClusterInput& input, const Earlier& earlier);

  Expectation of(const DirectedPath& path) const;
  // The least that passes; 0 where nothing is known.
  double least(const DirectedPath& path, const Expectation& expectation) const;
  // What is full speed while others are at it: below, a way is worth a test alone.
  double least_in_round(const Expectation& expectation) const;
  // What the host's port, slot and limits allow, whichever is least.
  Expectation of_host(HostIndex host) const;
  // Processors were in full use nearly always, and rates differ as they do then.
  bool are_processors_to_doubt() const {
    return is_short_of_processors_ && !peers_.at(kLan).is_level;
  }

 private:
  enum Reach : std::uint8_t { kLan, kWan };

  struct Peers {
    std::vector<float> best = {};  // of each host, either way, in its round; 0: none
    std::optional<double> typical = {};
    double most = 0;
    std::size_t hosts = 0;
    bool is_level = false;  // those that are not slow are as fast as each other
  };

  double peer_share(const DirectedPath& path) const;
  double few_share(const DirectedPath& path) const;
  Reach reach_of(const DirectedPath& path) const { return input_.is_wan(path) ? kWan : kLan; }
  void learn_from_peers();
  void learn_from_before();
  Expectation by_peers(const DirectedPath& path) const;
  Expectation by_baseline(const DirectedPath& path) const;
  Expectation by_hardware(const DirectedPath& path) const;

  const ClusterInput& input_;
  const Earlier& earlier_;
  std::vector<Expectation> hosts_;
  std::array<Peers, 2> peers_ = {};
  bool is_short_of_processors_ = false;
  double baseline_share_ = 1;  // of the last time's: what runs vary is no fault
};

// By what other hosts reach alone.
bool is_guessed(const Expectation& expectation);

// "of gpu3's port eth0", "that 7 hosts reach with others"
std::string words_for(const Expectation& expectation, const ClusterInput& input);

enum class Speed : std::uint8_t {
  Unknown,  // not tested, or without an expectation
  Well,
  Slow,
  Shared,  // slow in its round, well alone
};

// Each way's rate against its expected rate, by way. A way that was slow in its round and was not
// retested counts as its hosts' other ways turned out when they were tested alone.
struct Speeds {
  std::vector<Expectation> expected = {};
  std::vector<double> least = {};
  std::vector<Speed> speed = {};
};

Speeds speeds_of(const ClusterInput& input, const Expectations& expectations);

// A deviation by more standard deviations than this is no chance.
inline constexpr double kSigmas = 4;

// A robust estimate of the standard deviation, which a few outliers cannot move; 0 without values.
double spread_of(const std::vector<double>& values);

}  // namespace chokepoint::preflight
