#include "analysis/load/probe_document.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

constexpr std::array kWays{"send", "receive"};

Json member(const Json& object, const std::string& key) {
  return object.is_object() && object.contains(key) ? object[key] : Json();
}

std::string text(const Json& object, const std::string& key) {
  const Json value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::optional<double> number(const Json& object, const std::string& key) {
  const Json value = member(object, key);
  return value.is_number() && value.get<double>() >= 0 ? std::optional(value.get<double>())
                                                       : std::nullopt;
}

// The part about one way.
Json part_of(const Json& document, const std::string& way) {
  const std::string direction = text(document, "direction");
  if (direction == "both") {
    return member(document, way);
  }
  return direction == way ? document : Json();
}

std::optional<double> loss_of(const Json& part) {
  const auto again = number(part, "retransmits");
  const auto mss = number(part, "mss_bytes");
  const auto bytes = number(part, "bytes");
  if (again && mss.value_or(0) > 0 && bytes.value_or(0) > 0) {
    return 100 * *again * *mss / *bytes;
  }
  return number(part, "loss_percent");
}

std::optional<double> lesser(std::optional<double> one, std::optional<double> other) {
  return one && other ? std::min(one, other) : one ? one : other;
}

// `part` is null where the probe did not measure that way.
ProbedWay way_of(const Json& document, const Json& part, const std::string& way) {
  const Json rtt_ms = member(part, "rtt_ms");
  const Json limits = member(part, "limited_by");
  const auto under_load = number(rtt_ms, "median");
  return {.throughput_mbps = number(part, "throughput_mbps"),
          .loss_percent = loss_of(part),
          .loaded_rtt_ms =
              under_load ? under_load : number(member(document, "loaded_" + way + "_ms"), "median"),
          .least_rtt_ms = number(rtt_ms, "min"),
          .by_application = number(limits, "application"),
          .by_receive_window = number(limits, "receive_window"),
          .by_send_buffer = number(limits, "send_buffer")};
}

// Of the last router that answered, if it is the peer itself.
std::optional<double> rtt_of_path(const Json& document, const std::string& peer) {
  const Json hops = member(document, "forward");
  const bool is_whole = hops.is_array() && !hops.empty() && text(hops.back(), "address") == peer;
  return is_whole ? number(hops.back(), "rtt_ms") : std::nullopt;
}

void take_peer(const Json& peer, ProbeDocument& reading) {
  if (const auto address = net::Address::parse(text(peer, "address"))) {
    reading.peer = address->unmapped();
  }
  reading.peer_name = text(peer, "name").empty() ? text(peer, "host") : text(peer, "name");
}

}  // namespace

std::optional<ProbeDocument> read_probe(const record::Probe& probe) {
  const Json document = json::object_or_null(probe.document);
  if (!document.is_object()) {
    return std::nullopt;
  }
  ProbeDocument reading;
  const Json peer = member(document, "peer");
  take_peer(peer, reading);
  reading.least_rtt_ms = lesser(number(member(document, "idle_ms"), "min"),
                                rtt_of_path(document, text(peer, "address")));
  for (std::size_t way = 0; way < kWays.size(); ++way) {
    const Json part = part_of(document, kWays.at(way));
    reading.ways.at(way) = way_of(document, part, kWays.at(way));
    reading.least_rtt_ms = lesser(reading.least_rtt_ms, number(member(part, "rtt_ms"), "min"));
  }
  return reading;
}

std::optional<StorageProbe> read_storage_probe(const record::Probe& probe) {
  const Json document = json::object_or_null(probe.document);
  if (probe.kind != "storage" || !document.is_object()) {
    return std::nullopt;
  }
  const bool is_cold = member(document, "read_cold") == Json(true);
  return StorageProbe{.mount = text(member(document, "mount"), "point"),
                      .read_mb_per_s = is_cold ? number(document, "read_mb_per_s") : std::nullopt,
                      .write_mb_per_s = number(document, "write_mb_per_s")};
}

}  // namespace chokepoint::analysis
