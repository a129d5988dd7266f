#include "probe/iperf3/parameters.h"

#include <nlohmann/json.hpp>

#include "probe/iperf3/fields.h"
#include "probe/iperf3/protocol.h"

namespace chokepoint::probe::iperf3 {
namespace {

constexpr std::int64_t kMostAmount = std::int64_t{1} << 60;
constexpr std::int64_t kMostRate = 10'000'000'000'000;  // bit/s
constexpr std::int64_t kMostTcpBlock = 1 << 20;
constexpr std::int64_t kLeastDatagram = 16;
constexpr std::int64_t kMostDatagram = 65507;

// "as much as comes", in Fields' terms.
std::uint64_t amount(Fields& in, const char* name, std::int64_t most) {
  return static_cast<std::uint64_t>(in.integer(name, 0, most).value_or(0));
}

template <class T>
void set_if(nlohmann::json& object, const char* name, const std::optional<T>& value) {
  if (value) {
    object[name] = *value;
  }
}

std::optional<int> as_int(std::optional<std::int64_t> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

// iperf3 sends 0 for what it leaves to the kernel.
std::optional<int> unless_zero(std::optional<std::int64_t> value) {
  return value.value_or(0) == 0 ? std::nullopt : as_int(value);
}

Way way_of(Fields& in) {
  if (in.flag("bidirectional")) {
    return Way::Both;
  }
  return in.flag("reverse") ? Way::Reverse : Way::Forward;
}

int block_of(Fields& in, Transport transport) {
  const bool udp = transport == Transport::Udp;
  const std::optional<std::int64_t> length =
      in.integer("len", udp ? kLeastDatagram : 1, udp ? kMostDatagram : kMostTcpBlock);
  return static_cast<int>(length.value_or(udp ? 1460 : 128 * 1024));
}

void read_socket(Fields& in, Parameters& parameters) {
  parameters.mss = unless_zero(in.integer("MSS", 0, 32767));
  parameters.window_bytes = unless_zero(in.integer("window", 0, std::int64_t{512} << 20));
  parameters.traffic_class = unless_zero(in.integer("TOS", 0, 255));
  parameters.congestion = in.text("congestion", 15).value_or("");
  parameters.no_delay = in.flag("nodelay");
  if (const std::optional<std::int64_t> pacing = in.integer("fqrate", 0, kMostRate); pacing > 0) {
    parameters.socket_pacing_bits_per_s = static_cast<std::uint64_t>(*pacing);
  }
}

void read_extent(Fields& in, Parameters& parameters) {
  parameters.omit_s = static_cast<int>(in.integer("omit", 0, 600).value_or(0));
  parameters.time_s = static_cast<int>(in.integer("time", 0, 86400).value_or(10));
  parameters.bytes = amount(in, "num", kMostAmount);
  parameters.blocks = amount(in, "blockcount", kMostAmount);
  parameters.streams = static_cast<int>(in.integer("parallel", 1, kMostStreams).value_or(1));
  parameters.rate_bits_per_s = amount(in, "bandwidth", kMostRate);
}

Result<> check_protocol(Fields& in) {
  for (const char* unspoken : {"sctp", "mptcp"}) {
    if (in.flag(unspoken)) {
      return fail(ErrorKind::Unsupported, "read", "iperf3 parameters",
                  std::string("the client asks for ") + unspoken);
    }
  }
  return {};
}

void write_way(nlohmann::json& out, Way way) {
  if (way == Way::Reverse) {
    out["reverse"] = true;
  } else if (way == Way::Both) {
    out["bidirectional"] = true;
  }
}

}  // namespace

std::string encode(const Parameters& parameters) {
  nlohmann::json out = {{parameters.transport == Transport::Udp ? "udp" : "tcp", true},
                        {"omit", parameters.omit_s},
                        {"time", parameters.time_s},
                        {"num", parameters.bytes},
                        {"blockcount", parameters.blocks},
                        {"parallel", parameters.streams},
                        {"len", parameters.block_bytes},
                        {"bandwidth", parameters.rate_bits_per_s},
                        {"pacing_timer", 1000},
                        {"client_version", parameters.client_version}};
  write_way(out, parameters.way);
  set_if(out, "MSS", parameters.mss);
  set_if(out, "window", parameters.window_bytes);
  set_if(out, "TOS", parameters.traffic_class);
  set_if(out, "fqrate", parameters.socket_pacing_bits_per_s);
  if (!parameters.congestion.empty()) {
    out["congestion"] = parameters.congestion;
  }
  if (parameters.no_delay) {
    out["nodelay"] = true;
  }
  if (parameters.wide_counters) {
    out["udp_counters_64bit"] = 1;
  }
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Parameters> decode_parameters(std::string_view json) {
  TRY(const nlohmann::json object, parse_object(json, kMostParameterBytes, "iperf3 parameters"));
  Fields in(object, "iperf3 parameters");
  TRY(check_protocol(in));
  Parameters parameters{.transport = in.flag("udp") ? Transport::Udp : Transport::Tcp,
                        .way = way_of(in)};
  read_extent(in, parameters);
  read_socket(in, parameters);
  parameters.block_bytes = block_of(in, parameters.transport);
  parameters.wide_counters = in.flag("udp_counters_64bit");
  parameters.client_version = in.text("client_version", 64).value_or("");
  if (in.error()) {
    return std::unexpected(*in.error());
  }
  return parameters;
}

}  // namespace chokepoint::probe::iperf3
