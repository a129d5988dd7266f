#include "analysis/export/exported_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kDayNs = 86'400 * kSecondNs;

// A record that lost its sessions spans all time.
bool has_session(const NodeData& node) { return node.span.end_ns < kFarNs; }

// By the node whose clock is the common one, or by another where that one does not know it.
std::int64_t wall_of_start(const RunData& run, const Clocks& clocks, std::int64_t start_ns) {
  std::int64_t wall_ns = 0;
  for (std::size_t node = run.nodes.size(); node-- > 0;) {
    const NodeData& data = run.nodes[node];
    if (has_session(data) && data.wall_start_ns > 0 && (wall_ns == 0 || node == clocks.reference)) {
      wall_ns = data.wall_start_ns + (start_ns - clocks.common_ns(node, data.span.start_ns));
    }
  }
  // A host without a battery-backed clock begins in 1970: times before the job must not be
  // negative.
  return std::clamp(wall_ns, kDayNs, kFarNs);
}

constexpr std::uint64_t kRowsPerProgress = 1 << 12;

template <class Row>
std::int64_t rows_of(record::Reader& reader) {
  Result<record::TimeSearch> search = reader.search<Row>();
  return search ? search->rows_before(kFarNs).value_or(0) : 0;
}

template <class... Rows>
std::int64_t all_rows_of(record::Reader& reader, const std::variant<Rows...>* /*kinds*/) {
  return (rows_of<Rows>(reader) + ...);
}

}  // namespace

RunClock::RunClock(const RunData& run, Clocks clocks) : clocks_(std::move(clocks)) {
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();
  for (std::size_t node = 0; node < run.nodes.size(); ++node) {
    if (has_session(run.nodes[node])) {
      start_ns = std::min(start_ns, clocks_.common_ns(node, run.nodes[node].span.start_ns));
    }
  }
  start_ns_ = start_ns == std::numeric_limits<std::int64_t>::max() ? 0 : start_ns;
  start_wall_ns_ = wall_of_start(run, clocks_, start_ns_);
}

std::int64_t RunClock::since_start_ns(std::size_t node, std::int64_t t_ns) const {
  return clocks_.common_ns(node, std::clamp(t_ns, -kFarNs, kFarNs)) - start_ns_;
}

Span RunClock::local(std::size_t node, Span since_start) const {
  const auto own = [&](std::int64_t ns) {
    return clocks_.local_ns(node, std::clamp(ns, -kFarNs, kFarNs) + start_ns_);
  };
  return {own(since_start.start_ns), own(since_start.end_ns)};
}

void append_seconds(std::string& out, std::int64_t ns) {
  if (ns < 0) {
    out += '-';
    ns = -ns;
  }
  out += fmt::format_int(ns / kSecondNs).str();
  const fmt::format_int below(kSecondNs + ns % kSecondNs);  // a 1 in front keeps the zeros
  out += '.';
  out.append(below.data() + 1, below.size() - 1);
}

ExportedRun::ExportedRun(std::string name, record::Run& records, std::optional<Span> wanted,
                         ExportWatch watch)
    : name_(std::move(name)),
      records_(records),
      watch_(std::move(watch)),
      wanted_(wanted),
      data_(load_run(records)),
      clock_(data_, fit_clocks(data_)),
      total_(count_rows()) {}

std::uint64_t ExportedRun::count_rows() {
  constexpr const record::Sample* kKinds = nullptr;
  std::int64_t rows = 0;
  for (record::Reader& node : records_.nodes) {
    rows += node.damage() ? 0 : all_rows_of(node, kKinds);
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 0));
}

Span ExportedRun::span_of(std::size_t node) const {
  return wanted_ ? clock_.local(node, *wanted_) : Span{-kFarNs, kFarNs};
}

bool ExportedRun::goes_on() {
  if (++rows_ % kRowsPerProgress == 0) {
    watch_.on_rows(rows_, total_);
    is_stopped_ = is_stopped_ || watch_.is_stopped();
  }
  return !is_stopped_;
}

void ExportedRun::note(std::size_t node, const Error& error) {
  if (!data_.nodes[node].damage && noted_.insert(node).second) {
    cut_short_.push_back(error);
  }
}

std::vector<Error> ExportedRun::troubles() const {
  std::vector<Error> troubles = data_.unreadable;
  for (const NodeData& node : data_.nodes) {
    if (node.damage) {
      troubles.push_back(*node.damage);
    }
  }
  troubles.insert(troubles.end(), cut_short_.begin(), cut_short_.end());
  return troubles;
}

}  // namespace chokepoint::analysis
