// What changed on a host when its figures changed, and nowhere else without effect? Changes of
// facts (a driver's version, a setting, a cable's rate) are ranked by how exclusively they go
// together with changes of a figure. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace chokepoint::trends {

// A moment between two readings: after the first, and not after the second.
struct TimeBetween {
  std::int64_t after_ns = 0;
  std::int64_t until_ns = 0;
};

struct SettingChange {
  std::string host;
  std::string fact;
  std::string old_value;
  std::string new_value;
  TimeBetween time;
};

// A change of a figure, between its last good and its first bad point.
struct EffectOnHost {
  std::string host;
  TimeBetween time;
};

struct FactLink {
  std::string fact;
  std::string old_value;
  std::string new_value;
  TimeBetween time;  // on the host that is asked about
  std::size_t hosts_with_both = 0;
  std::size_t hosts_without_effect =
      0;                               // the fact took the same value there, and no figure changed
  std::size_t hosts_without_fact = 0;  // the figure changed there, and the fact did not
  std::size_t other_changes = 0;  // of the same fact, to other values, on any host, without effect
  // Of the times that the fact changed, how many had an effect: (with + 1) / (all + 2), as for a
  // share of which nothing was known.
  double share = 0;
};

// Of every fact that changed on `asked.host` at a time that may be the effect's, the best first.
// Empty where none did. `effects` are those of the same figure and direction on all hosts; that
// which is asked about may be among them.
std::vector<FactLink> which_fact(const EffectOnHost& asked, std::span<const EffectOnHost> effects,
                                 std::span<const SettingChange> changes);

}  // namespace chokepoint::trends
