#include <algorithm>
#include <string>

#include "preflight/lead/answer.h"
#include "preflight/lead/bounds.h"
#include "preflight/lead/readings.h"

namespace chokepoint::preflight::lead {
namespace {

using control::Json;

constexpr std::int64_t kMostTestPackets = 1'000'000'000;
constexpr double kFurthestClockMs = 1e13;  // some three hundred years

// What either host dropped by itself is no fault of the network.
void add_loss(Answer& in, const std::string& direction, WayResult& way) {
  const auto count = [&](const char* name) {
    return in.integer(direction + "." + name, kMostTestPackets).value_or(0);
  };
  const std::int64_t sent = count("packets_sent");
  const std::int64_t lost = count("lost");
  const std::int64_t in_hosts = count("lost_in_receiver_queue") + count("dropped_by_sender_queue");
  if (lost > sent) {
    in.wrong(direction + ".lost", "no more than were sent");
    return;
  }
  way.packets = static_cast<std::uint32_t>(sent);
  way.lost = static_cast<std::uint32_t>(std::max<std::int64_t>(0, lost - in_hosts));
}

}  // namespace

Result<> read_loss(const Json& document, PairResult& pair) {
  Answer in(document, "chokepoint.probe.udp/1");
  PairResult read = pair;
  add_loss(in, "send", read.there);
  add_loss(in, "receive", read.back);
  read.clock_uncertainty_ms = in.figure("clock_uncertainty_ms", 0, kLongestMs);
  if (!in.has("send") || !in.has("receive")) {
    in.wrong("send", "both directions");
  }
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  pair = read;
  return {};
}

std::optional<double> monotonic_offset_ms(const Json& document) {
  Answer in(document, "chokepoint.probe.udp/1");
  const auto offset = in.number("clock_offset_ms", -kFurthestClockMs, kFurthestClockMs);
  return in.finish() ? offset : std::nullopt;
}

Result<> read_latency(const Json& document, PairResult& pair) {
  Answer in(document, "chokepoint.probe.latency/1");
  PairResult read = pair;
  read.rtt_ms = in.figure("idle_ms.median", 0, kLongestMs);
  read.rtt_p99_ms = in.figure("idle_ms.p99", 0, kLongestMs);
  read.rtt_min_ms = in.figure("idle_ms.min", 0, kLongestMs);
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  pair = read;
  return {};
}

Result<> read_rdma_bandwidth(const Json& document, WayResult& way) {
  Answer in(document, "chokepoint.rdma/1");
  const Figure average = in.figure("average_mbps", 0, kFastestMbps);
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  way.rdma_mbps = average;
  return {};
}

Result<> read_rdma_latency(const Json& document, PairResult& pair) {
  Answer in(document, "chokepoint.rdma/1");
  const Figure median = in.figure("latency_us.median", 0, kLongestUs);
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  pair.rdma_latency_us = median;
  return {};
}

Result<> read_collective(const Json& document, CollectiveResult& result) {
  constexpr std::int64_t kMostRanks = 1'000'000;
  constexpr std::int64_t kMostSizeBytes = std::int64_t{1} << 50;
  constexpr std::size_t kMostSizes = 1000;
  Answer in(document, "chokepoint.collective/1");
  CollectiveResult read = result;
  read.backend = in.text("backend", kLongestName);
  read.ranks = static_cast<int>(in.integer("ranks", kMostRanks).value_or(0));
  const Json& sizes = in.list("sizes", kMostSizes);
  const std::string failure = in.text("failure", kLongestText);
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  if (!failure.empty() || sizes.empty()) {
    return fail(ErrorKind::Io, "", "collective",
                failure.empty() ? "nothing was measured" : failure);
  }
  // The largest comes last; its own fields are read as a document's.
  Json last = sizes.back().is_object() ? sizes.back() : Json::object();
  last["schema"] = "collective size";
  Answer size(last, "collective size");
  read.bytes = size.integer("bytes", kMostSizeBytes).value_or(0);
  read.bus_mbps = size.number("busbw_mbps", 0, kFastestMbps);
  read.time_us = size.number("time_us.median", 0, kLongestUs);
  if (const Result<> fine = size.finish(); !fine) {
    return fine;
  }
  result = std::move(read);
  return {};
}

}  // namespace chokepoint::preflight::lead
