// One series of the record as a sampler feeds it: every reading goes in, a row comes out only where
// there is news. What the rows then mean, so that rates between any two moments are right:
//
//   Counter   ··●━━━━━●━━━●   straight lines between rows. Before a change after a pause one more
//             flat      ╲     row says until when nothing had changed.
//                        one that was kept back stands there as it was read
//   Level     ●────────●      holds until the next row
//   Share     ▓▓▓▓▓▓▓▓│▓▓     means over spans that follow each other without a gap; spans that
//                             hardly differ become one row
//
// Owned by the Sink; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/record/samples.h"
#include "base/record/writer.h"

namespace chokepoint::capture::counter {

// As record::Series.
struct SeriesName {
  std::string name = {};
  std::string subject = {};
  std::string unit = {};
  std::string source = {};
};

// Where the rows go. The id is asked for with the first row, so that what never changes leaves
// nothing in the record.
class Track {
 public:
  Track(record::Writer& writer, record::Producer& producer, SeriesName name,
        record::SeriesKind kind)
      : writer_(&writer), producer_(&producer), name_(std::move(name)), kind_(kind) {}

  template <class Row>
  void push(Row row) {
    if (id_ == 0) {
      id_ = register_series();
    }
    if (id_ != 0) {
      row.series = id_;
      producer_->push(row);
    }
  }

 private:
  std::int64_t register_series();

  record::Writer* writer_;
  record::Producer* producer_;
  SeriesName name_;
  record::SeriesKind kind_;
  std::int64_t id_ = 0;
};

enum class Wrap { Never, At32Bits };

// Always: the first reading is a row, so that "none" differs from "not measured".
enum class Keep { OnceChanged, Always };

class Counter {
 public:
  Counter(Track track, Keep keep, Wrap wrap) : track_(std::move(track)), keep_(keep), wrap_(wrap) {}

  // An absolute reading. One that is not worth a row is kept in mind, and told with the next that
  // is, or after ten seconds.
  void see(std::int64_t now_ns, std::uint64_t reading, bool is_worth_a_row = true);
  // What is read next may count from 0 again: the interface or process may be a new one.
  void restart() { is_new_ = true; }
  // The last reading, where it has not been told.
  void flush();

  std::uint64_t value() const { return carried_ + reading_; }
  double growth_per_s() const { return growth_per_s_; }  // between the last two readings
  bool has_rows() const { return told_.has_value(); }

 private:
  struct Point {
    std::int64_t t_ns = 0;
    std::uint64_t value = 0;
  };

  void follow(std::uint64_t reading);
  void tell(const Point& point, std::int64_t span_ns, double growth_per_s);

  Track track_;
  Keep keep_;
  Wrap wrap_;
  std::uint64_t carried_ = 0;  // what was counted before it began anew
  std::uint64_t reading_ = 0;
  bool is_new_ = false;
  double growth_per_s_ = 0;
  std::optional<Point> first_;
  Point seen_;
  std::optional<Point> told_;
};

class Level {
 public:
  Level(Track track, double tolerance) : track_(std::move(track)), tolerance_(tolerance) {}

  void see(std::int64_t now_ns, double value);
  std::optional<double> value() const { return told_; }

 private:
  Track track_;
  double tolerance_;  // a change of no more is none
  std::optional<double> told_;
};

class Share {
 public:
  Share(Track track, double tolerance) : track_(std::move(track)), tolerance_(tolerance) {}

  // The mean over the span that ends now.
  void see(std::int64_t now_ns, std::int64_t span_ns, double value);
  // What has not been told yet.
  void flush();
  std::optional<double> latest() const { return latest_; }

 private:
  Track track_;
  double tolerance_;
  record::GaugeSample pending_ = {.merged = 0};
  std::optional<double> latest_;
};

}  // namespace chokepoint::capture::counter
