#include "analysis/replay/transfer_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/predict/exchange_time.h"
#include "base/math/statistics.h"
#include "base/math/tcp_rate.h"

namespace chokepoint::analysis {
namespace {

using record::CollectiveKind;

// Judgements; docs/internals/replay.md shows how often replays with them are right.
constexpr double kSizesPerDoubling = 4;  // classes of size to a doubling
// Share of a full link's rate that an exchange held by it reaches.
constexpr double kMinShareOfLink = 0.7;
// Likewise at most: more are data that lay in queues before.
constexpr double kMaxShareOfLink = 1.06;
// A rate is measured over this time at least, and the fastest ones are from here on.
constexpr double kMinMeasuredMs = 1;
constexpr double kFastestQuantile = 0.9;
constexpr double kElementBytes = 4;
constexpr double kMinMbps = 1e-3;  // bounds of the search
constexpr double kMaxMbps = 1e7;
// That the processors pass for an exchange at their best: a judgement, docs/internals/replay.md.
constexpr double kProcessorMbps = 3200;
constexpr double kLosslessQuantile = 0.1;  // of similar exchanges: these lost nothing
// Packets that an exchange loses on average, from which on even the quickest of them have a window
// that an earlier loss left small.
constexpr double kMaxLostOfQuickest = 0.5;
// The model may exceed the measured time by this before round trips are hidden.
constexpr double kRoundingTolerance = 1.02;
constexpr double kPayloadOfLine = math::kSegmentBytes / math::kFrameBytes;

double bytes_ms(double bytes, double mbps) { return bytes * 8 / (mbps * 1000); }

Collective collective_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllGather:
      return Collective::AllGather;
    case CollectiveKind::ReduceScatter:
      return Collective::ReduceScatter;
    case CollectiveKind::AllToAll:
      return Collective::AllToAll;
    case CollectiveKind::AllReduce:
    case CollectiveKind::Unknown:
      return Collective::AllReduce;
    default:
      return Collective::Broadcast;
  }
}

// What a rank sends at most: Gloo's rows have the bytes of both directions.
double sent_bytes(const Transfer& transfer) {
  if (transfer.source == record::CollectiveSource::Nccl) {
    return transfer.bytes * bus_factor(collective_of(transfer.kind), transfer.ranks);
  }
  switch (transfer.kind) {
    case CollectiveKind::Broadcast:
    case CollectiveKind::Scatter:
    case CollectiveKind::Gather:
    case CollectiveKind::Send:
      return transfer.bytes;
    case CollectiveKind::Reduce:  // all but an n-th twice to the root, once from it
      return transfer.bytes * 2 / 3;
    default:
      return transfer.bytes / 2;
  }
}

// Every rank sends as many bytes as another one, so that those of a row say what passed.
bool is_sent_evenly(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
    case CollectiveKind::Send:
      return true;
    default:
      return false;
  }
}

double nccl_ms(const Transfer& transfer, double rtt_ms, double rate_mbps) {
  return ring_ms(collective_of(transfer.kind), transfer.bytes, transfer.ranks,
                 {.alpha_ms = rtt_ms / 2, .bytes_per_ms = rate_mbps * 1000 / 8});
}

double gloo_ms(const Transfer& transfer, double rtt_ms, double rate_mbps) {
  const double sent = sent_bytes(transfer);
  const double data_ms = bytes_ms(sent, rate_mbps);
  const double tensor = sent / bus_factor(Collective::AllReduce, transfer.ranks);
  switch (transfer.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::Unknown: {
      // Segments without an element are not sent: then no credit is waited for twice.
      const bool is_tiny = tensor < kElementBytes * 2 * transfer.ranks;
      return gloo_ring_ms(tensor, is_tiny ? 2 : transfer.ranks, rtt_ms, rate_mbps * 1000 / 8);
    }
    case CollectiveKind::ReduceScatter:
      return gloo_ring_ms(tensor * 2, transfer.ranks, rtt_ms, rate_mbps * 1000 / 8) / 2;
    case CollectiveKind::Reduce:  // the first half of a ring, then each rank's part to the root
      return gloo_ring_ms(sent, transfer.ranks, rtt_ms, rate_mbps * 1000 / 8) / 2 + rtt_ms +
             bytes_ms(sent / transfer.ranks, rate_mbps);
    case CollectiveKind::AllGather:
      return (transfer.ranks - 1) * rtt_ms + data_ms;
    case CollectiveKind::Broadcast:
      return std::ceil(std::log2(transfer.ranks)) * rtt_ms + data_ms;
    default:
      return rtt_ms + data_ms;
  }
}

using SimilarityKey =
    std::tuple<record::CollectiveSource, CollectiveKind, std::int64_t, bool, double>;

SimilarityKey similarity_key(const Transfer& transfer) {
  const double size = std::round(kSizesPerDoubling * std::log2(std::max(transfer.bytes, 1.0)));
  return {transfer.source, transfer.kind, transfer.group, transfer.is_between_hosts, size};
}

// Of similar exchanges.
struct Sample {
  Transfer usual = {};
  std::vector<double> took_ms = {};
  std::vector<double> at_once = {};
};

double link_mbps(const MeasuredPath& path) {
  return path.path.rate_mbps.value_or(0) * (path.is_full ? 1 : kPayloadOfLine);
}

// `whole`: what exchanges had together.
bool is_held_by_link(const MeasuredPath& path, double whole_mbps) {
  return path.is_full && whole_mbps > kMinShareOfLink * link_mbps(path);
}

// The exchange's own work of the processors, in a step's: what its threads worked, but no more than
// they take for the bytes at their best. Over a slow link they wake for each packet.
double work_ms_of(const Transfer& transfer, const PathChange& change, double all_bytes) {
  const double sent = sent_bytes(transfer);
  const double worked_ms = all_bytes > 0 ? change.work_ms * change.steps * sent / all_bytes : 0;
  return std::min(worked_ms, bytes_ms(sent, kProcessorMbps));
}

// What a full link held goes by its rate, what queued before it included: all but the round trips
// and the processors' work.
double after_full_link_ms(const Transfer& transfer, double took_ms, double work_ms, double hidden,
                          const PathChange& change) {
  const double rtt_before_ms = change.before.path.rtt_ms.value_or(0);
  const double rtt_after_ms = change.after.rtt_ms.value_or(rtt_before_ms);
  const auto fixed_ms = [&](double rtt_ms) {
    return std::max(0.0, transfer_ms(transfer, rtt_ms, kMaxMbps) - hidden * rtt_ms) + work_ms;
  };
  const double held_ms = std::max(0.0, took_ms - fixed_ms(rtt_before_ms));
  const double link_after = change.after.rate_mbps.value_or(0) * kPayloadOfLine;
  return took_ms - held_ms + fixed_ms(rtt_after_ms) - fixed_ms(rtt_before_ms) +
         held_ms * (link_after > 0 ? link_mbps(change.before) / link_after : 1);
}

// What the path gives to one of `share` connections that have it together, and by the record had
// `fitted` each. `load`: times so many of a ring's ranks then share it.
double after_mbps(const PathChange& change, double fitted, double share, double load) {
  const double whole = fitted * share;
  const double link_before = link_mbps(change.before);
  const bool is_held = is_held_by_link(change.before, whole);
  double after = is_held && change.after.rate_mbps ? kMaxMbps : whole;
  if (change.after.rate_mbps) {
    // Not all that seemed to share the link did: none was faster than the whole of it.
    const double reached = is_held ? std::min(whole / link_before, share * kMaxShareOfLink) : 1;
    after = std::min(after, *change.after.rate_mbps * kPayloadOfLine * reached);
  }
  if (is_held) {
    after /= load;
  } else if (load > 1 && link_before > 0) {
    after = std::min(after, link_before / load);
  }
  const double loss = change.after.loss.value_or(0);
  const double rtt_ms = change.after.rtt_ms.value_or(change.before.path.rtt_ms.value_or(0));
  if (loss > change.before.path.loss.value_or(0) && rtt_ms > 0) {
    const auto limit = tcp_limit({.rtt_ms = rtt_ms, .loss = loss}, change.congestion);
    after = limit ? std::min(after, limit->rate_mbps) : after;
  }
  return after / share;
}

// Where an exchange takes less than the model at any rate, some of its round trips passed before
// its ranks were both ready. How many.
double hidden_round_trips(const Transfer& transfer, double rtt_ms, double took_ms) {
  if (rtt_ms <= 0) {
    return 0;
  }
  const double least_ms = transfer_ms(transfer, rtt_ms, kMaxMbps);
  return std::ceil(std::max(least_ms - kRoundingTolerance * took_ms, 0.0) / rtt_ms);
}

}  // namespace

double transfer_ms(const Transfer& transfer, double rtt_ms, double rate_mbps) {
  if (transfer.kind == CollectiveKind::Send) {
    return bytes_ms(transfer.bytes, rate_mbps);  // its propagation is an arc of the graph
  }
  return transfer.source == record::CollectiveSource::Nccl ? nccl_ms(transfer, rtt_ms, rate_mbps)
                                                           : gloo_ms(transfer, rtt_ms, rate_mbps);
}

bool shows_times_without_loss(const std::vector<Transfer>& transfers, double loss) {
  double hit_bytes = 0;
  double all_bytes = 0;
  for (const Transfer& transfer : transfers) {
    if (!transfer.is_between_hosts) continue;
    const double lost =
        loss * 2 * sent_bytes(transfer) / math::kSegmentBytes;  // in both directions
    hit_bytes += lost > kMaxLostOfQuickest ? sent_bytes(transfer) : 0;
    all_bytes += sent_bytes(transfer);
  }
  return hit_bytes <= all_bytes / 2;
}

double fastest_mbps(const std::vector<Transfer>& transfers, double rtt_ms) {
  std::vector<double> mbps;
  for (const Transfer& transfer : transfers) {
    const double data_ms =
        static_cast<double>(transfer.took_ns) / 1e6 - transfer_ms(transfer, rtt_ms, kMaxMbps);
    if (transfer.is_between_hosts && data_ms > kMinMeasuredMs && is_sent_evenly(transfer.kind)) {
      mbps.push_back(sent_bytes(transfer) * 8 / (data_ms * 1000));
    }
  }
  return math::quantile(mbps, kFastestQuantile).value_or(0);
}

double fitted_mbps(const Transfer& transfer, double rtt_ms, double took_ms) {
  double low = std::log(kMinMbps);
  double high = std::log(kMaxMbps);
  for (int round = 0; round < 60; ++round) {
    const double middle = (low + high) / 2;
    (transfer_ms(transfer, rtt_ms, std::exp(middle)) > took_ms ? low : high) = middle;
  }
  return std::exp(high);
}

TransferTimes::TransferTimes(const std::vector<Transfer>& transfers, const PathChange& change)
    : transfers_(transfers) {
  std::map<SimilarityKey, std::size_t> places;
  std::vector<Sample> samples;
  double all_bytes = 0;
  for (const Transfer& transfer : transfers) {
    const auto place = places.try_emplace(similarity_key(transfer), samples.size()).first->second;
    samples.resize(places.size());
    samples[place].usual = transfer;
    samples[place].took_ms.push_back(static_cast<double>(transfer.took_ns) / 1e6);
    samples[place].at_once.push_back(transfer.at_once);
    similar_of_.push_back(place);
    all_bytes += sent_bytes(transfer);
  }
  const double rtt_before_ms = change.before.path.rtt_ms.value_or(0);
  const double rtt_after_ms = change.after.rtt_ms.value_or(rtt_before_ms);
  const double loss_before = change.before.path.loss.value_or(0);
  const double loss_after = change.after.loss.value_or(loss_before);
  for (const Sample& sample : samples) {
    const double took_ms = math::median(sample.took_ms).value_or(0);
    SimilarTransfers similar{.before_ms = took_ms, .after_ms = took_ms};
    similar.free_ms = math::quantile(sample.took_ms, kLosslessQuantile).value_or(took_ms);
    similar.loss_times = loss_before > 0 ? std::min(loss_after / loss_before, 1.0) : 1;
    if (sample.usual.is_between_hosts && took_ms > 0) {
      const double share = math::median(sample.at_once).value_or(1) * sample.usual.crossings;
      const double hidden = hidden_round_trips(sample.usual, rtt_before_ms, took_ms);
      const double fitted =
          fitted_mbps(sample.usual, rtt_before_ms, took_ms + hidden * rtt_before_ms);
      const double model_ms =
          transfer_ms(sample.usual, rtt_before_ms, fitted) - hidden * rtt_before_ms;
      const double work_ms = work_ms_of(sample.usual, change, all_bytes);
      const double load = change.loads.empty() || sample.usual.ring == kNowhere
                              ? 1
                              : change.loads[sample.usual.ring];
      const double after_ms =
          transfer_ms(sample.usual, rtt_after_ms, after_mbps(change, fitted, share, load)) -
          hidden * rtt_after_ms;
      const bool is_by_full_link = change.before.is_full && change.after.rate_mbps && load == 1;
      similar.is_held = is_by_full_link || is_held_by_link(change.before, fitted * share);
      similar.after_ms = is_by_full_link
                             ? after_full_link_ms(sample.usual, took_ms, work_ms, hidden, change)
                             : std::max(took_ms + after_ms - model_ms, std::min(work_ms, took_ms));
    }
    similar_.push_back(similar);
  }
}

double TransferTimes::ns(std::size_t transfer, double took_ns) const {
  const Transfer& own = transfers_[transfer];
  const SimilarTransfers& similar = similar_[similar_of_[transfer]];
  if (own.took_ns <= 0 || similar.before_ms <= 0) {
    return took_ns;
  }
  const double part = std::min(1.0, took_ns / static_cast<double>(own.took_ns));
  const double free_ns = std::min(took_ns, similar.free_ms * 1e6 * part);
  const double left_ns = free_ns + similar.loss_times * (took_ns - free_ns);
  // What is longer than usual on a full link shared it with more.
  if (similar.is_held) return left_ns * similar.after_ms / similar.before_ms;
  const double more_ns = (similar.after_ms - similar.before_ms) * 1e6 * part;
  // Else it is longer for reasons of its own, which stay.
  return more_ns >= 0 ? left_ns + more_ns
                      : std::max(left_ns + more_ns, left_ns * similar.after_ms / similar.before_ms);
}

}  // namespace chokepoint::analysis
