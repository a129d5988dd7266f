#include "analysis/phases/lines.h"

#include <algorithm>
#include <map>

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kQueuedNs = 500'000;  // sooner than this nobody computed anything between
constexpr double kForwardShare = 0.5;        // of the backward pass

std::vector<StageGap> beads_of(std::span<const Exchange* const> exchanges) {
  std::vector<StageGap> beads;
  std::int64_t over_ns = 0;
  for (const Exchange* exchange : exchanges) {
    const std::int64_t gap_ns = beads.empty() ? 0 : exchange->own_ready_ns - over_ns;
    beads.push_back({.exchange = exchange,
                     .gap_ns = std::max<std::int64_t>(gap_ns, 0),
                     .queued = !beads.empty() && gap_ns < kQueuedNs});
    over_ns = std::max(over_ns, exchange->end_ns);
  }
  return beads;
}

double bytes_of(std::span<const StageGap> beads) {
  double bytes = 0;
  for (const StageGap& bead : beads) {
    bytes += bead.exchange->bytes;
  }
  return bytes;
}

double exchanging_ns(const StageGap& bead) {
  return static_cast<double>(bead.exchange->end_ns - bead.exchange->all_ready_ns);
}

void model(Burst& burst, std::span<StageGap> beads) {
  const double bytes = bytes_of(beads);
  if (beads.size() < 2 || bytes <= 0) {
    return;
  }
  const double first_share = beads.front().exchange->bytes / bytes;
  const double backward_ns = backward_of(static_cast<double>(beads.front().gap_ns), first_share);
  double before_last_ns = 0;
  for (std::size_t place = 0; place < beads.size(); ++place) {
    beads[place].pace_ns = place == 0 ? 0 : backward_ns * beads[place].exchange->bytes / bytes;
    before_last_ns += place + 1 < beads.size() ? exchanging_ns(beads[place]) : 0;
  }
  burst.hidden_ns = std::min(backward_ns * (1 - first_share), before_last_ns);
}

Line line_of(std::span<const Exchange* const> collectives) {
  Line line{.beads = beads_of(collectives)};
  for (std::size_t place = 0; place < line.beads.size(); ++place) {
    if (!line.beads[place].queued) {
      line.bursts.push_back({.first = place});
    }
    ++line.bursts.back().count;
  }
  for (Burst& burst : line.bursts) {
    model(burst, std::span(line.beads).subspan(burst.first, burst.count));
  }
  return line;
}

}  // namespace

double backward_of(double first_gap, double first_share) {
  return first_gap / (kForwardShare + first_share);
}

Line line_of(std::span<const Exchange> exchanges) {
  std::vector<const Exchange*> collectives;
  for (const Exchange& exchange : exchanges) {
    if (!is_message(exchange)) {
      collectives.push_back(&exchange);
    }
  }
  return line_of(std::span<const Exchange* const>(collectives));
}

std::vector<Line> lines_of(std::span<const Exchange> exchanges) {
  std::map<std::int64_t, std::vector<const Exchange*>> by_rank;
  for (const Exchange& exchange : exchanges) {
    if (!is_message(exchange)) {
      by_rank[exchange.rank].push_back(&exchange);
    }
  }
  std::vector<Line> lines;
  for (const auto& [rank, own] : by_rank) {
    lines.push_back(line_of(std::span<const Exchange* const>(own)));
  }
  return lines;
}

}  // namespace chokepoint::analysis
