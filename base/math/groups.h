// Whether items are alike or form groups, by a value of each that was measured twice: the flows
// over one member of a bundle of links share its delay or its rate, those over other members do
// not. docs/internals/paths.md has the reasons and the measured error rates. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace chokepoint::math {

// A finding is what things that are alike would show less often than this.
inline constexpr double kFalseAlarm = 0.001;

// A value as two halves of the measurement have it, one independent of the other.
struct Halves {
  double first = 0;
  double second = 0;

  double mean() const { return first / 2 + second / 2; }
};

struct Group {
  double mean = 0;
  double p = 1;  // of the cut that divides it from the lower ones; 1 for the lowest group
  std::vector<std::size_t> members = {};  // places in what was given, in order
};

// The lowest group first; one group where all are alike. A cut is chosen by the first halves, and
// holds if the second halves lie apart without exception (one chance in the number of ways to
// choose so many of them), and the gap is at least half of the difference, and that at least
// `min_difference`. What has no value is in no group.
std::vector<Group> groups_of(std::span<const std::optional<Halves>> values, double min_difference);

// A group of rates differs by this share of the faster one, at least.
inline constexpr double kMinSlower = 0.25;

// The same of rates, the fastest group first: by their logarithms, because rates of slow flows
// are multiples of each other. `mean` is the geometric one; a rate below a thousandth of the
// fastest counts as that.
std::vector<Group> rate_groups(std::span<const std::optional<Halves>> rates);
// Whether there are some, all are known, and none is slower than the fastest by kMinSlower.
bool are_alike(std::span<const std::optional<Halves>> rates);
// Those that are the fastest ones' in one half and not in the other, as where a timeout fell into
// it: whether they are slow is not clear. None where these are more than one in kMaxUnsteady.
inline constexpr std::size_t kMaxUnsteady = 4;
std::vector<std::size_t> unsteady_rates(std::span<const std::optional<Halves>> rates);

// Where a share lies with 95 %, by Wilson's interval.
struct Share {
  double likely = 0;
  double low = 0;
  double high = 1;
};

Share share_of(double count, std::size_t of);

// Of how many members this share may be one; nothing where it is surely most of them.
std::optional<long> one_of(const Share& share);

}  // namespace chokepoint::math
