#include "probe/iperf3/messages.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/documents/bounds.h"
#include "base/json/codec.h"
#include "base/net/headers.h"
#include "probe/iperf3/protocol.h"

namespace chokepoint {

template <>
struct Fields<probe::iperf3::Parameters> {
  using P = probe::iperf3::Parameters;
  static constexpr double kMaxAmount = 0x1p60;
  static constexpr double kMaxBitsPerS = 1e13;
  static constexpr FieldList kList{
      field("udp", &P::udp, "whether the test runs over UDP").or_default(),
      computed<P>(
          "tcp", [](const P& p) { return !p.udp; }, "whether the test runs over TCP"),
      computed<P>(
          "reverse", [](const P& p) { return p.direction == control::Direction::Receive; },
          "the server sends"),
      computed<P>(
          "bidirectional", [](const P& p) { return p.direction == control::Direction::Both; },
          "both send"),
      field("omit", &P::omit_s, "seconds at the start that do not count")
          .between(0, 600)
          .or_default(),
      field("time", &P::time_s, "seconds that the test runs; 0 if an amount ends it")
          .between(0, 86400)
          .or_default(),
      field("num", &P::bytes, "bytes that end the test; 0 for none")
          .at_most(kMaxAmount)
          .or_default(),
      field("blockcount", &P::blocks, "blocks that end the test; 0 for none")
          .at_most(kMaxAmount)
          .or_default(),
      field("parallel", &P::streams, "streams in each direction")
          .between(1, probe::iperf3::kMaxStreams)
          .or_default(),
      field("len", &P::block_bytes, "bytes of a write, or of a datagram's payload")
          .between(1, 1 << 20)
          .or_default(),
      field("bandwidth", &P::rate_bits_per_s, "of one stream; 0 for as fast as it goes")
          .at_most(kMaxBitsPerS)
          .or_default(),
      field("fqrate", &P::socket_pacing_bits_per_s,
            "rate to which the kernel paces a socket, bit/s")
          .at_most(kMaxBitsPerS),
      field("MSS", &P::mss, "TCP's maximum segment size in bytes").between(0, 32767),
      field("window", &P::window_bytes, "socket buffers in bytes").between(0, 512 << 20),
      field("TOS", &P::traffic_class, "the IP header's traffic class").between(0, 255),
      field("congestion", &P::congestion, "TCP's congestion control")
          .up_to_bytes(15)
          .null_if_empty(),
      field("nodelay", &P::no_delay, "whether Nagle's algorithm is off").or_default(),
      field("udp_counters_64bit", &P::wide_counters,
            "whether datagrams have sequence numbers of 64 bits")
          .or_default(),
      computed<P>(
          "pacing_timer", [](const P&) { return 1000; },
          "iperf3's pacing interval in microseconds"),
      field("client_version", &P::client_version, "version of iperf3")
          .up_to_bytes(64)
          .or_default()};
};

template <>
struct Fields<probe::iperf3::StreamResult> {
  using S = probe::iperf3::StreamResult;
  static constexpr double kMaxCount = 0x1p60;
  static constexpr double kMaxSeconds = 1e6;
  static constexpr FieldList kList{
      field("id", &S::id, "number of the stream, as stream_id() gives it").between(1, 1 << 20),
      field("bytes", &S::bytes, "bytes sent or received").at_most(kMaxCount),
      field("retransmits", &S::retransmits, "segments sent again; -1 where not counted")
          .between(-1, kMaxCount),
      field("jitter", &S::jitter_s, "jitter in seconds, smoothed as RFC 1889 says")
          .between(0, kMaxSeconds),
      field("errors", &S::lost, "datagrams lost; a duplicate makes it smaller")
          .between(-kMaxCount, kMaxCount),
      field("packets", &S::packets, "datagrams sent, or the highest sequence number received")
          .between(0, kMaxCount),
      field("omitted_errors", &S::omitted_lost, "datagrams lost in the omitted start")
          .between(-kMaxCount, kMaxCount)
          .or_default(),
      field("omitted_packets", &S::omitted_packets, "datagrams of the omitted start")
          .between(0, kMaxCount)
          .or_default(),
      field("start_time", &S::start_s, "begin of the interval, seconds since the test began")
          .between(0, kMaxSeconds)
          .or_default(),
      field("end_time", &S::end_s, "end of the interval, seconds since the test began")
          .between(0, kMaxSeconds)
          .or_default()};
};

template <>
struct Fields<probe::iperf3::EndResults> {
  using E = probe::iperf3::EndResults;
  static constexpr FieldList kList{
      field("cpu_util_total", &E::cpu_percent, "processor time of the test, percent of one CPU")
          .between(0, documents::kMaxPercent),
      field("cpu_util_user", &E::cpu_user_percent,
            "processor time outside the kernel, percent of one CPU")
          .between(0, documents::kMaxPercent),
      field("cpu_util_system", &E::cpu_system_percent, "percent of one CPU")
          .between(0, documents::kMaxPercent),
      field("sender_has_retransmits", &E::counts_retransmits, "1: yes; 0: no; -1: did not send")
          .between(-1, 1),
      field("congestion_used", &E::congestion, "TCP's congestion control")
          .up_to_bytes(64)
          .null_if_empty(),
      field("streams", &E::streams, "each, both directions")
          .up_to_items(std::size_t{2} * probe::iperf3::kMaxStreams)};
};

namespace probe::iperf3 {
namespace {

// What decides over the rest of the parameters.
struct Switches {
  bool reverse = false;
  bool bidirectional = false;
  bool sctp = false;
  bool mptcp = false;
};

}  // namespace
}  // namespace probe::iperf3

template <>
struct Fields<probe::iperf3::Switches> {
  using S = probe::iperf3::Switches;
  static constexpr FieldList kList{
      field("reverse", &S::reverse, "the server sends").or_default(),
      field("bidirectional", &S::bidirectional, "both send").or_default(),
      field("sctp", &S::sctp, "over SCTP").or_default(),
      field("mptcp", &S::mptcp, "over MPTCP").or_default()};
};

namespace probe::iperf3 {
namespace {

constexpr std::string_view kWhat = "iperf3 parameters";
constexpr int kDefaultDatagramBytes = 1460;
constexpr int kMinDatagramBytes = 16;
constexpr int kMaxDatagramBytes = net::kMaxUdpPayloadBytes;

// As cJSON's users write it: what is unknown or false is left out.
std::string text_of(const json::Json& message) {
  nlohmann::json sorted(message);
  std::erase_if(sorted.get_ref<nlohmann::json::object_t&>(), [](const auto& each) {
    return each.second.is_null() || each.second == nlohmann::json(false);
  });
  return sorted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

int connections(const Parameters& parameters) {
  return parameters.direction == Direction::Both ? 2 * parameters.streams : parameters.streams;
}

bool client_sends(const Parameters& parameters, int index) {
  return parameters.direction != Direction::Receive && index < parameters.streams;
}

std::string encode(const Parameters& parameters) {
  json::Json out = json::to_json(parameters);
  if (parameters.wide_counters) {
    out["udp_counters_64bit"] = 1;
  }
  return text_of(out);
}

Result<Parameters> decode_parameters(std::string_view text) {
  TRY(const json::Json object, json::parse_object(text, kMaxParameterBytes, kWhat));
  TRY(const auto switches, json::from_json<Switches>(object, kWhat, json::Dialect::CJson));
  if (switches.sctp || switches.mptcp) {
    return fail(ErrorKind::Unsupported, "read", kWhat,
                switches.sctp ? "the client asks for sctp" : "the client asks for mptcp");
  }
  TRY(auto parameters, json::from_json<Parameters>(object, kWhat, json::Dialect::CJson));
  parameters.direction = switches.bidirectional ? Direction::Both
                         : switches.reverse     ? Direction::Receive
                                                : Direction::Send;
  // iperf3 sends 0 for a value that it leaves to the kernel.
  for (auto* value : {&parameters.mss, &parameters.window_bytes, &parameters.traffic_class}) {
    *value = value->value_or(0) == 0 ? std::nullopt : *value;
  }
  if (parameters.socket_pacing_bits_per_s == 0) {
    parameters.socket_pacing_bits_per_s.reset();
  }
  if (parameters.udp && !object.contains("len")) {
    parameters.block_bytes = kDefaultDatagramBytes;
  }
  if (parameters.udp &&
      (parameters.block_bytes < kMinDatagramBytes || parameters.block_bytes > kMaxDatagramBytes)) {
    return fail(ErrorKind::Malformed, "read message", fmt::format("{} 'len'", kWhat),
                fmt::format("wanted a datagram's payload of {} to {} bytes", kMinDatagramBytes,
                            kMaxDatagramBytes));
  }
  return parameters;
}

const StreamResult* EndResults::find(int id) const {
  const auto found = std::ranges::find(streams, id, &StreamResult::id);
  return found == streams.end() ? nullptr : &*found;
}

std::string encode(const EndResults& results) { return text_of(json::to_json(results)); }

Result<EndResults> decode_results(std::string_view text) {
  constexpr std::string_view kResults = "iperf3 results";
  TRY(const json::Json object, json::parse_object(text, kMaxResultBytes, kResults));
  return json::from_json<EndResults>(object, kResults, json::Dialect::CJson);
}

}  // namespace probe::iperf3
}  // namespace chokepoint
