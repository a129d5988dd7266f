// A run that is being exported: its records, what was loaded of them to bring their clocks
// together, and the one way in which exporters go through all rows, however many there are. Memory
// does not grow with the rows. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "analysis/export/run_clock.h"
#include "base/record/reader.h"

namespace chokepoint::analysis {

// How whoever asked for the export follows it, and ends it.
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
  // `wanted`: of samples, events and probes only what ends within it, since the job's start.
  // The records outlive this; they are in the order of data().nodes.
  ExportedRun(std::string name, record::Run& records, std::optional<Span> wanted,
              ExportWatch watch);

  const std::string& name() const { return name_; }
  const RunData& data() const { return data_; }
  const RunClock& clock() const { return clock_; }
  std::size_t nodes() const { return data_.nodes.size(); }
  record::Reader& reader(std::size_t node) { return records_.nodes[node]; }

  // Visits a node's rows of a table, but none after a stop.
  template <class Row, class F>
  void each(std::size_t node, F&& visit);

  // What is wanted, by the node's own clock.
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
