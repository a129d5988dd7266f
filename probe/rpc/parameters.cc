#include "probe/rpc/parameters.h"

#include "base/json/codec.h"
#include "base/math/units.h"

namespace chokepoint {

template <>
struct EnumNames<probe::rpc::OnlyFamily> {
  using E = probe::rpc::OnlyFamily;
  static constexpr std::string_view kWhat = "any, ipv4 or ipv6";
  static constexpr auto kNames =
      std::to_array<EnumName<E>>({{E::Any, "any"}, {E::Ipv4, "ipv4"}, {E::Ipv6, "ipv6"}});
};

template <>
struct Fields<probe::rpc::NextWorker> {
  using N = probe::rpc::NextWorker;
  static constexpr std::size_t kMaxName = 255;  // of a host, in DNS
  static constexpr FieldList kList{field("host", &N::host).up_to_bytes(kMaxName),
                                   field("port", &N::port).at_least(1)};
};

template <>
struct Fields<probe::rpc::Parameters> {
  using P = probe::rpc::Parameters;
  static constexpr double kMaxMessage = static_cast<double>(probe::rpc::kMaxMessageBytes);
  static constexpr FieldList kList{
      field("request_bytes", &P::request_bytes).between(1, kMaxMessage),
      field("response_bytes", &P::response_bytes).between(1, kMaxMessage),
      field("callers", &P::callers, "a connection each").between(1, probe::rpc::kMaxCallers),
      field("outstanding", &P::outstanding, "calls of a caller at once")
          .between(1, probe::rpc::kMaxOutstanding),
      field("time_ns", &P::time).between(1, control::kMaxTestNs),
      field("pause_ns", &P::pause, "from an answer to the next call")
          .between(0, control::kMaxTestNs),
      field("congestion", &P::congestion).up_to_bytes(15),  // TCP_CA_NAME_MAX less the final zero
      field("no_delay", &P::no_delay),
      field("pace_bits_per_s", &P::pace_bits_per_s, "in each direction, all connections")
          .between(control::kMinPaceBitsPerS, control::kMaxBitsPerS),
      field("next", &P::next, "workers that are called in turn").up_to_items(probe::rpc::kMaxNext),
      field("family", &P::family, "between workers"),
      field("share", &P::share, "may run beside other tests that share")};
};

}  // namespace chokepoint

namespace chokepoint::probe::rpc {

control::Json body_of(const Parameters& parameters) { return json::to_json(parameters); }

Result<Parameters> parameters_in(const control::Json& body) {
  return json::from_json<Parameters>(body, "rpc request");
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  TRY(control::check_time(limits, parameters.time));
  TRY(control::check_streams(limits, parameters.callers));
  return control::check_pace(limits, parameters.pace_bits_per_s);
}

net::SocketOptions socket_options(const Parameters& parameters) {
  net::SocketOptions options{.congestion = parameters.congestion, .no_delay = parameters.no_delay};
  if (parameters.pace_bits_per_s) {
    options.pacing_bytes_per_s =
        static_cast<std::uint64_t>(*parameters.pace_bits_per_s / math::kBits / parameters.callers);
  }
  return options;
}

std::int64_t memory_of(const Parameters& parameters) {
  constexpr std::int64_t kBuffers = std::int64_t{2} << 20;
  constexpr std::int64_t kBytesOfCall = 3 * static_cast<std::int64_t>(sizeof(std::int64_t));
  return kBuffers + kBytesOfCall * parameters.callers * parameters.outstanding;
}

std::chrono::nanoseconds stall_limit_of(const Parameters& parameters) {
  constexpr std::chrono::seconds kLastWorker{5};
  constexpr std::chrono::seconds kPerNextWorker{1};
  return kLastWorker + kPerNextWorker * static_cast<int>(parameters.next.size());
}

}  // namespace chokepoint::probe::rpc
