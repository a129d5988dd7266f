// What samplers write to. Every reading goes into a series of the record, but a row is written only
// where the value changed. What the rows mean, so that rates between any two moments are right:
//
//   Counter   ··●━━━━━●━━━●   straight lines between rows. Before a change after a pause one more
//             flat      ╲     row marks until when nothing had changed.
//                        a reading that was held back stands there as it was read
//   Level     ●────────●      holds until the next row
//   Share     ▓▓▓▓▓▓▓▓│▓▓     means over spans that follow each other without a gap; spans that
//                             hardly differ become one row
//
// The watcher owns the Sink, the Sink owns all series; the watcher's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/record/samples.h"
#include "base/record/series_table.h"
#include "base/record/writer.h"
#include "capture/counter/watcher.h"

namespace chokepoint::capture::counter {

// As record::Series. Without a unit it has that of its row in base/record/series.def.
struct SeriesName {
  std::string name = {};
  std::string subject = {};
  std::string source = {};
  std::string unit = {};
};

// Where a series' rows go. It is registered with its first row, so that what never changes leaves
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
enum class FirstRow { OnceChanged, Always };

class Counter {
 public:
  Counter(Track track, FirstRow first_row, Wrap wrap)
      : track_(std::move(track)), first_row_(first_row), wrap_(wrap) {}

  // An absolute reading. One that is not worth a row is held back, and written with the next one
  // that is, or after ten seconds.
  void see(std::int64_t now_ns, std::uint64_t reading, bool is_worth_a_row = true);
  // The next reading may count from 0 again: the interface or process may be a new one.
  void restart() { is_new_ = true; }
  // Writes the last reading if it was held back.
  void flush();

  std::uint64_t value() const { return carried_ + reading_; }
  double growth_per_s() const { return growth_per_s_; }  // between the last two readings
  bool has_rows() const { return written_.has_value(); }

 private:
  struct Point {
    std::int64_t t_ns = 0;
    std::uint64_t value = 0;
  };

  void follow(std::uint64_t reading);
  void write(const Point& point, std::int64_t span_ns, double growth_per_s);

  Track track_;
  FirstRow first_row_;
  Wrap wrap_;
  std::uint64_t carried_ = 0;  // what was counted before it began anew
  std::uint64_t reading_ = 0;
  bool is_new_ = false;
  double growth_per_s_ = 0;
  std::optional<Point> first_;
  Point seen_;
  std::optional<Point> written_;
};

class Level {
 public:
  Level(Track track, double tolerance) : track_(std::move(track)), tolerance_(tolerance) {}

  void see(std::int64_t now_ns, double value);
  std::optional<double> value() const { return written_; }

 private:
  Track track_;
  double tolerance_;  // smaller changes are not written
  std::optional<double> written_;
};

class Share {
 public:
  Share(Track track, double tolerance) : track_(std::move(track)), tolerance_(tolerance) {}

  // The mean over the span that ends now.
  void see(std::int64_t now_ns, std::int64_t span_ns, double value);
  // Writes the span that is still open.
  void flush();
  std::optional<double> latest() const { return latest_; }

 private:
  Track track_;
  double tolerance_;
  record::GaugeSample pending_ = {.merged = 0};
  std::optional<double> latest_;
};

// The series by name and subject, events, and remarks on what could not be seen. Asking again for a
// series gives the same one, so that an interface that comes back continues where it was.
class Sink {
 public:
  // The writer outlives it.
  explicit Sink(record::Writer& writer)
      : writer_(&writer), producer_(writer.producer("counters")) {}
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // References are valid as long as the sink.
  Counter& counter(const SeriesName& name, FirstRow first_row = FirstRow::OnceChanged,
                   Wrap wrap = Wrap::Never);
  Level& level(const SeriesName& name, double tolerance = 0);
  Share& share(const SeriesName& name, double tolerance);

  // What other samplers saw last: a counter's growth, a share. nullopt if they saw none.
  std::optional<double> growth_per_s(std::string_view name, const std::string& subject) const;
  std::optional<double> latest_share(std::string_view name, const std::string& subject) const;

  // `detail` is JSON.
  void event(std::int64_t now_ns, std::string_view kind, std::string_view subject,
             std::string detail);
  // Recorded once, however often it is made.
  void remark(const std::string& text);
  const std::vector<std::string>& remarks() const { return remarks_; }

  // Of those that have a name for Prometheus.
  std::vector<SeriesValue> metrics() const;

  // Writes what is still held back.
  void flush();

 private:
  struct Metric {
    std::string subject = {};
    const Counter* counter = nullptr;  // in counters_
  };
  using Key = std::pair<std::string, std::string>;

  Track track(const SeriesName& name, record::SeriesKind kind);

  record::Writer* writer_;
  record::Producer producer_;
  std::map<Key, Counter> counters_;
  std::map<Key, Level> levels_;
  std::map<Key, Share> shares_;
  std::map<const record::SeriesDescription*, std::vector<Metric>> metrics_;
  std::vector<std::string> remarks_;
  std::set<std::string> remarked_;
};

// For each growth whether it is one of the `most` largest, and above 0. Bounds what is written on a
// host of 256 cores or 500 interfaces.
std::vector<bool> busiest_of(const std::vector<std::uint64_t>& growths, std::size_t most);

}  // namespace chokepoint::capture::counter
