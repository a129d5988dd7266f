// What a way should carry, and how that is known. Hardware comes first, then what the limits say,
// then the last time; what other hosts reach counts only where nobody knows better, because among
// few hosts the most may be wrong. Points into what it was given.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "preflight/judge/earlier.h"
#include "preflight/judge/scene.h"

namespace chokepoint::preflight {

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
  Expectations(const ClusterInput& scene, const Earlier& earlier);

  Expectation of(const Way& way) const;
  // The least that passes; 0 where nothing is known.
  double least(const Way& way, const Expectation& expectation) const;
  // What is full speed while others are at it: below, a way is worth a test alone.
  double least_in_round(const Expectation& expectation) const;
  // What the host's port, slot and limits allow, whichever is least.
  Expectation of_host(HostIndex host) const;
  // Processors were busy nearly always, and rates differ as they do then.
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

  double peer_share(const Way& way) const;
  double few_share(const Way& way) const;
  Reach reach_of(const Way& way) const { return scene_.is_wan(way) ? kWan : kLan; }
  void learn_from_peers();
  void learn_from_before();
  Expectation by_peers(const Way& way) const;
  Expectation by_baseline(const Way& way) const;
  Expectation by_hardware(const Way& way) const;

  const ClusterInput& scene_;
  const Earlier& earlier_;
  std::vector<Expectation> hosts_;
  std::array<Peers, 2> peers_ = {};
  bool is_short_of_processors_ = false;
  double baseline_share_ = 1;  // of the last time's: what runs vary is no fault
};

// By what other hosts reach alone.
bool is_guessed(const Expectation& expectation);

// "of gpu3's port eth0", "that 7 hosts reach with others"
std::string words_for(const Expectation& expectation, const ClusterInput& scene);

}  // namespace chokepoint::preflight
