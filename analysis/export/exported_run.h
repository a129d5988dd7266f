// A run that is being exported: its records, the one clock on which all its times are exported, and
// the visit of all rows of a table that every exporter uses. Memory does not grow with the number
// of rows, since samples are visited one by one. The caller owns the records; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "analysis/timeline/clocks.h"
#include "base/record/reader.h"

namespace chokepoint::analysis {

// Nanoseconds since the job began on the first of its nodes, by the common clock of
// timeline/clocks.h; and since 1970, where a tool needs that. Takes any time that a record holds,
// also that of a damaged one. A value.

class RunClock {
 public:
  RunClock(const RunData& run, Clocks clocks);

  // Negative before the job.
  std::int64_t since_start_ns(std::size_t node, std::int64_t t_ns) const;
  std::int64_t wall_ns(std::size_t node, std::int64_t t_ns) const {
    return start_wall_ns_ + since_start_ns(node, t_ns);
  }
  std::int64_t start_wall_ns() const { return start_wall_ns_; }
  // A span of the run by a node's own clock.
  Span local(std::size_t node, Span since_start) const;

  const NodeClock& node(std::size_t node) const { return clocks_.nodes[node]; }
  const Clocks& clocks() const { return clocks_; }

 private:
  Clocks clocks_;
  std::int64_t start_ns_ = 0;       // of the common clock
  std::int64_t start_wall_ns_ = 0;  // the same moment since 1970
};

// "-12.345000000": exact, unlike a double.
void append_seconds(std::string& out, std::int64_t ns);

// Beyond the times of any run; twice as much does not overflow.
constexpr std::int64_t kFarNs = std::int64_t{1} << 61;

// Callbacks that show the progress of an export and stop it.
struct ExportWatch {
  std::function<bool()> is_stopped = [] { return false; };
  std::function<void(std::uint64_t done, std::uint64_t total)> on_rows = [](std::uint64_t,
                                                                            std::uint64_t) {};
};

template <class Row, class Variant>
constexpr bool kIsOneOf = false;
template <class Row, class... All>
constexpr bool kIsOneOf<Row, std::variant<All...>> = (std::is_same_v<Row, All> || ...);
template <class Row>
constexpr bool kIsSample = kIsOneOf<Row, record::Sample>;

class ExportedRun {
 public:
  // `wanted`, since the job's start: of samples, events and probes only those that end within it.
  // The records must outlive this; data().nodes has their order.
  ExportedRun(std::string name, record::Run& records, std::optional<Span> wanted,
              ExportWatch watch);

  const std::string& name() const { return name_; }
  const RunData& data() const { return data_; }
  const RunClock& clock() const { return clock_; }
  std::size_t nodes() const { return data_.nodes.size(); }
  record::Reader& reader(std::size_t node) { return records_.nodes[node]; }

  // Visits a node's rows of a table, until the export is stopped.
  template <class Row, class F>
  void each(std::size_t node, F&& visit);

  // The wanted span, by the node's own clock.
  Span span_of(std::size_t node) const;
  bool is_stopped() const { return is_stopped_; }
  std::uint64_t rows() const { return rows_; }
  // Records that cannot be read, or only in part.
  std::vector<Error> troubles() const;

 private:
  bool goes_on();
  void note(std::size_t node, const Error& error);
  std::uint64_t count_rows();

  std::string name_;
  record::Run& records_;
  ExportWatch watch_;
  std::optional<Span> wanted_;
  RunData data_;
  RunClock clock_;
  std::uint64_t total_ = 0;
  std::uint64_t rows_ = 0;
  bool is_stopped_ = false;
  std::vector<Error> cut_short_;
  std::set<std::size_t> noted_;
};

template <class Row, class F>
void ExportedRun::each(std::size_t node, F&& visit) {
  if (is_stopped_) {
    return;
  }
  if constexpr (kIsSample<Row>) {
    const auto counted = [&](const Row& row) {
      visit(row);
      return goes_on();
    };
    const Result<> done = reader(node).each_in<Row>({span_of(node)}, counted);
    if (!done) {
      note(node, done.error());
    }
  } else {
    const Result<std::vector<Row>> rows = reader(node).all<Row>();
    if (!rows) {
      note(node, rows.error());
      return;
    }
    for (const Row& row : *rows) {
      if constexpr (kIsOneOf<Row, std::variant<record::Event, record::Probe>>) {
        const Span span = span_of(node);
        if (row.t_ns < span.start_ns || row.t_ns > span.end_ns) {
          continue;
        }
      }
      visit(row);
      if (!goes_on()) {
        return;
      }
    }
  }
}

}  // namespace chokepoint::analysis
