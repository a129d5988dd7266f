#include "analysis/replay/buckets.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/predict/exchange_time.h"
#include "analysis/predict/figures.h"
#include "analysis/replay/transfer_times.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

// Judgements; docs/internals/replay.md shows how often replays with them are right.
// Of all collectives' bytes, in passes: else no buckets are cut.
constexpr double kMinPassBytesShare = 0.8;
constexpr double kMinOfLargestPass = 0.5;  // to the largest pass: smaller ones carry no gradients
constexpr double kMaxScalarShare = 0.001;  // to the bucket before: a loss or a flag
constexpr std::size_t kMaxBuckets = 4096;

// Gloo's rows have the bytes of both directions.
double tensor_times(const Transfer& transfer) {
  return transfer.source == record::CollectiveSource::Nccl
             ? 1
             : 2 * bus_factor(Collective::AllReduce, transfer.ranks);
}

// A loss or a flag that follows at once carries no gradients.
bool is_same_pass(const StageGap& before, const StageGap& gap) {
  return (gap.queued || before.unwaited) &&
         gap.exchange->bytes > kMaxScalarShare * before.exchange->bytes;
}

struct Found {
  std::size_t list = 0;
  std::size_t first = 0;
  std::size_t count = 0;
};

using MeetingOf = std::vector<std::vector<std::size_t>>;  // by list and place

MeetingOf meetings_by_place(const GraphInput& input) {
  MeetingOf meeting_of;
  for (const auto& of_rank : input.exchanges) {
    meeting_of.emplace_back(of_rank.size(), kNowhere);
  }
  for (std::size_t meeting = 0; meeting < input.meetings.size(); ++meeting) {
    for (const Part part : input.meetings[meeting]) {
      meeting_of[part.list][part.place] = meeting;
    }
  }
  return meeting_of;
}

// By their meetings, of each rank that has them.
using FoundPasses = std::map<std::vector<std::size_t>, std::vector<Found>>;

FoundPasses passes_in(const GraphInput& input, const std::vector<Line>& lines) {
  const MeetingOf meeting_of = meetings_by_place(input);
  FoundPasses found;
  for (std::size_t list = 0; list < lines.size(); ++list) {
    const auto& gaps = lines[list].gaps;
    for (std::size_t first = 0; first < gaps.size();) {
      std::vector<std::size_t> meetings;
      std::size_t end = first;
      for (; end == first || (end < gaps.size() && is_same_pass(gaps[end - 1], gaps[end])); ++end) {
        const auto place =
            static_cast<std::size_t>(gaps[end].exchange - input.exchanges[list].data());
        meetings.push_back(meeting_of[list][place]);
      }
      found[std::move(meetings)].push_back({list, first, end - first});
      first = end;
    }
  }
  return found;
}

double gradient_bytes(const GraphInput& input, const std::vector<std::size_t>& meetings) {
  return math::sum_by(meetings, [&](std::size_t meeting) {
    const Exchange& own = at(input.exchanges, input.meetings[meeting].front());
    return own.kind == record::CollectiveKind::AllReduce ? own.bytes : 0;
  });
}

}  // namespace

BucketPlan::BucketPlan(GraphBuilder& builder, const std::vector<Line>& lines)
    : builder_(builder), passes_(lines.size()) {
  const GraphInput& input = builder.input();
  is_replaced_.assign(input.meetings.size(), false);
  if (!input.buckets.is_cut) return;
  const FoundPasses found = passes_in(input, lines);
  double largest = 0;
  for (const auto& [meetings, of_ranks] : found) {
    largest = std::max(largest, gradient_bytes(input, meetings));
  }
  double replaced_bytes = 0;
  for (const auto& [meetings, of_ranks] : found) {
    const double bytes = gradient_bytes(input, meetings);
    const bool is_common = of_ranks.size() == input.meetings[meetings.front()].size();
    if (!is_common || bytes < kMinOfLargestPass * largest || bytes <= 0) continue;
    for (const Found& own : of_ranks) {
      passes_[own.list][own.first] = {exchanged_.size(), own.first, own.count};
      replaced_bytes += bytes;
    }
    for (const std::size_t meeting : meetings) is_replaced_[meeting] = true;
    exchanged_.push_back(exchanged_by(meetings));
  }
  const double all_bytes = math::sum_by(
      input.exchanges, [](const auto& of_rank) { return math::sum_by(of_rank, &Exchange::bytes); });
  covers_most_bytes_ = all_bytes > 0 && replaced_bytes > kMinPassBytesShare * all_bytes;
}

BucketPlan::Exchanged BucketPlan::exchanged_by(const std::vector<std::size_t>& meetings) const {
  const GraphInput& input = builder_.input();
  Exchanged made;
  double bytes = 0;
  Spans spans;
  for (const std::size_t meeting : meetings) {
    Transfer transfer = transfer_of(input.exchanges, input.meetings[meeting]);
    bytes += transfer.bytes;
    const std::int64_t end_ns =
        analysis::at(input.exchanges, input.meetings[meeting].front()).end_ns;
    spans.push_back({end_ns - transfer.took_ns, end_ns});
    if (transfer.bytes > made.like.bytes) made.like = transfer;
  }
  // Of those that shared the link each would take less alone, and then they go one by one.
  const auto sum_ns = static_cast<double>(length_ns(spans));
  const auto any_ns = static_cast<double>(length_ns(united(std::move(spans))));
  if (sum_ns > 0) {
    made.like.took_ns =
        static_cast<std::int64_t>(static_cast<double>(made.like.took_ns) * any_ns / sum_ns);
  }
  const double times = tensor_times(made.like);
  std::vector<double> tensors;
  if (input.buckets.bytes) {
    const double least = std::max(*input.buckets.bytes, bytes / times / kMaxBuckets);
    tensors = buckets_of(bytes / times, least, std::min(least, kFirstBucketBytes));
  } else {
    for (const std::size_t meeting : meetings) {
      tensors.push_back(transfer_of(input.exchanges, input.meetings[meeting]).bytes / times);
    }
  }
  double so_far = 0;
  for (const double tensor : tensors) {
    so_far += tensor * times;
    made.bytes.push_back(tensor * times);
    made.made.push_back(so_far / bytes);
  }
  return made;
}

const BucketPlan::Pass* BucketPlan::at(std::size_t list, std::size_t first) const {
  const auto found = passes_[list].find(first);
  return found == passes_[list].end() ? nullptr : &found->second;
}

std::vector<std::size_t> BucketPlan::add(const Pass& pass, std::size_t over, double computing_ns,
                                         double backward_ns, std::int64_t late_ns) {
  Exchanged& exchanged = exchanged_[pass.number];
  const double overlap = builder_.input().buckets.overlap.value_or(1);
  const std::size_t list = builder_.list_of(over);
  std::vector<std::size_t> ready;
  std::vector<std::size_t> ends;
  for (const double made : exchanged.made) {
    const auto ns = static_cast<std::int64_t>(computing_ns - overlap * backward_ns * (1 - made));
    const std::int64_t t_ns = builder_.t_ns(over) + ns;
    ready.push_back(builder_.add_moment(list, t_ns));
    builder_.add(
        ready.back(),
        {.from = over, .cost = Cost::Computing, .ns = ns, .late_ns = std::min(late_ns, ns)});
    if (!ends.empty()) builder_.add(ready.back(), {.from = ends.back()});
    ends.push_back(builder_.add_moment(list, t_ns));
  }
  exchanged.ready.push_back(std::move(ready));
  exchanged.ends.push_back(ends);
  return ends;
}

void BucketPlan::finish() {
  const double rtt_ms = builder_.input().buckets.rtt_ms;
  for (const Exchanged& each : exchanged_) {
    const double took_ms = static_cast<double>(each.like.took_ns) / 1e6;
    const double mbps = fitted_mbps(each.like, rtt_ms, took_ms);
    for (std::size_t bucket = 0; bucket < each.bytes.size(); ++bucket) {
      Transfer transfer = each.like;
      transfer.bytes = each.bytes[bucket];
      transfer.took_ns = static_cast<std::int64_t>(1e6 * transfer_ms(transfer, rtt_ms, mbps));
      const std::size_t number = builder_.add_transfer(transfer);
      for (const auto& ends : each.ends) {
        for (const auto& ready : each.ready) {
          builder_.add(ends[bucket], {.from = ready[bucket],
                                      .cost = Cost::Transfer,
                                      .ns = transfer.took_ns,
                                      .transfer = number});
        }
      }
    }
  }
}

}  // namespace chokepoint::analysis
