// A counter track, described when the first value comes. A value that is as the one before is left
// out: in the viewer a value holds until the next. One thread.
#pragma once

#include <optional>
#include <string>

#include "analysis/export/perfetto/trace_writer.h"

namespace chokepoint::analysis {

// Scales from growth a nanosecond.
constexpr double kPerSecond = 1e9;
constexpr double kMbpsOfBytesANs = 8e3;

class Level {
 public:
  Level(TraceWriter& trace, Track parent, std::string name, std::string unit)
      : trace_(&trace), parent_(parent), name_(std::move(name)), unit_(std::move(unit)) {}

  void put(std::int64_t wall_ns, double value) {
    if (last_ == value) {
      return;
    }
    last_ = value;
    if (!track_) {
      track_ = trace_->counter(parent_, name_, unit_);
    }
    trace_->count(*track_, wall_ns, value);
  }
  // What is 0 from the beginning has no track.
  void put_unless_always_zero(std::int64_t wall_ns, double value) {
    if (track_ || value != 0) {
      put(wall_ns, value);
    }
  }

 private:
  TraceWriter* trace_;
  Track parent_;
  std::string name_;
  std::string unit_;
  std::optional<Track> track_;
  std::optional<double> last_;
};

// Of what only grows: how fast, by straight lines between readings.
class Growth {
 public:
  // `scale`: from growth a nanosecond to the unit.
  Growth(Level level, double scale) : level_(std::move(level)), scale_(scale) {}

  void put(std::int64_t wall_ns, double value) {
    if (last_ && wall_ns > last_->wall_ns) {
      const double grown = value - last_->value;
      level_.put_unless_always_zero(last_->wall_ns,
                                    grown * scale_ / static_cast<double>(wall_ns - last_->wall_ns));
    }
    if (!last_ || wall_ns > last_->wall_ns) {
      last_ = {wall_ns, value};
    }
  }
  // After its last reading nothing changed.
  void finish() {
    if (last_) {
      level_.put_unless_always_zero(last_->wall_ns, 0);
    }
  }

 private:
  struct Reading {
    std::int64_t wall_ns = 0;
    double value = 0;
  };
  Level level_;
  double scale_;
  std::optional<Reading> last_;
};

// Of spans, among which there may be gaps in which there was nothing.
class SpanRate {
 public:
  SpanRate(Level level, double scale) : level_(std::move(level)), scale_(scale) {}

  void put(std::int64_t start_ns, std::int64_t end_ns, double amount) {
    if (end_ns <= start_ns || start_ns < end_ns_) {
      return;
    }
    if (end_ns_ > 0 && start_ns > end_ns_) {
      level_.put_unless_always_zero(end_ns_, 0);
    }
    level_.put_unless_always_zero(start_ns,
                                  amount * scale_ / static_cast<double>(end_ns - start_ns));
    end_ns_ = end_ns;
  }
  void finish() {
    if (end_ns_ > 0) {
      level_.put_unless_always_zero(end_ns_, 0);
    }
  }

 private:
  Level level_;
  double scale_;
  std::int64_t end_ns_ = 0;
};

}  // namespace chokepoint::analysis
