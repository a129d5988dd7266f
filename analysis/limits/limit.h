// What can hold back one direction of a connection while it has something under way. Values.
#pragma once

#include <array>
#include <cstddef>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

enum class Limit {
  LinkFull,          // a queue stands before the slowest link, or the line is at its rate
  Loss,              // lost packets are sent again, or hold the congestion window down
  ReceiveWindow,     // the receiver announces no more
  SendBuffer,        // the sender's buffer holds no more
  CongestionWindow,  // still growing, without any loss
  LibraryCredit,     // all that the library hands over at once is on its way
  RoundTrip,         // a small message, which waits for the path's delay alone
};
constexpr std::size_t kLimits = 7;

const char* name_of(Limit limit);

// Nanoseconds by limit.
struct LimitTimes {
  std::array<double, kLimits> ns = {};
  double& operator[](Limit limit) { return ns[static_cast<std::size_t>(limit)]; }
  double operator[](Limit limit) const { return ns[static_cast<std::size_t>(limit)]; }
  double sum() const;
  LimitTimes& operator+=(const LimitTimes& other);
  LimitTimes operator*(double factor) const;
};

// Of one stretch of time what held the direction back; the rest of it nothing was under way.
struct LimitedSpan {
  Span span = {};
  LimitTimes times = {};
};

}  // namespace chokepoint::analysis
