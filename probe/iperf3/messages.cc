#include "probe/iperf3/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/sys/error.h"
#include "probe/iperf3/protocol.h"

namespace chokepoint::probe::iperf3 {
namespace {

constexpr std::string_view kWhat = "iperf3 results";
constexpr std::int64_t kMaxCount = std::int64_t{1} << 60;  // of bytes, blocks, packets
constexpr std::int64_t kMaxBitsPerS = 10'000'000'000'000;
constexpr std::int64_t kMaxTcpBlockBytes = 1 << 20;
constexpr std::int64_t kMinDatagramBytes = 16;
constexpr std::int64_t kMaxDatagramBytes = 65507;
constexpr double kMaxSeconds = 1e6;
constexpr double kMaxPercent = 1e6;
constexpr std::size_t kMaxResultStreams = std::size_t{2} * kMostStreams;  // both ways

// Reads the fields of a peer's JSON object with their types and bounds; what iperf3 may leave out
// is optional. Keeps the first error, after which the values that were read must not be used.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string_view what) : object_(object), what_(what) {}

  bool flag(const char* name);
  std::optional<std::int64_t> integer(const char* name, std::int64_t least, std::int64_t most);
  std::optional<double> number(const char* name, double least, double most);
  std::optional<std::string> text(const char* name, std::size_t longest);
  // An error if the field is missing.
  std::int64_t required_integer(const char* name, std::int64_t least, std::int64_t most);
  double required_number(const char* name, double least, double most);

  void wrong(const char* name, std::string_view wanted);
  const std::optional<Error>& error() const { return error_; }

 private:
  const nlohmann::json* find(const char* name);

  const nlohmann::json& object_;
  std::string_view what_;
  std::optional<Error> error_;
};

// cJSON keeps every number as a double and prints -1 as 2^64-1 in some versions.
std::optional<double> as_number(const nlohmann::json& value) {
  if (!value.is_number()) {
    return std::nullopt;
  }
  const double number = value.get<double>();
  return number >= 18446744073709551615.0 ? -1.0 : number;
}

// An object of at most `most` bytes that is JSON and nothing else.
Result<nlohmann::json> parse_object(std::string_view text, std::size_t most,
                                    std::string_view what) {
  if (text.size() > most) {
    return fail(ErrorKind::Malformed, "read", what,
                fmt::format("{} bytes where at most {} make sense", text.size(), most));
  }
  nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_object()) {
    return fail(ErrorKind::Malformed, "read", what, "it is no JSON object");
  }
  return parsed;
}

const nlohmann::json* Fields::find(const char* name) {
  const auto found = object_.find(name);
  return error_ || found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::wrong(const char* name, std::string_view wanted) {
  if (!error_) {
    error_ = Error{.kind = ErrorKind::Malformed,
                   .operation = "read",
                   .subject = std::string(what_),
                   .reason = fmt::format("'{}' should be {}", name, wanted)};
  }
}

bool Fields::flag(const char* name) {
  const nlohmann::json* value = find(name);
  if (value != nullptr && !value->is_boolean() && !value->is_number()) {
    wrong(name, "true or false");
    return false;
  }
  return value != nullptr && (value->is_boolean() ? value->get<bool>() : value->get<double>() != 0);
}

std::optional<double> Fields::number(const char* name, double least, double most) {
  const nlohmann::json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const std::optional<double> number = as_number(*value);
  if (!number || !std::isfinite(*number) || *number < least || *number > most) {
    wrong(name, fmt::format("a number from {} to {}", least, most));
    return std::nullopt;
  }
  return number;
}

std::optional<std::int64_t> Fields::integer(const char* name, std::int64_t least,
                                            std::int64_t most) {
  const std::optional<double> value =
      number(name, static_cast<double>(least), static_cast<double>(most));
  return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

std::optional<std::string> Fields::text(const char* name, std::size_t longest) {
  const nlohmann::json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string() || value->get_ref<const std::string&>().size() > longest) {
    wrong(name, fmt::format("a text of at most {} bytes", longest));
    return std::nullopt;
  }
  return value->get<std::string>();
}

std::int64_t Fields::required_integer(const char* name, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> value = integer(name, least, most);
  if (!value) {
    wrong(name, "there");
  }
  return value.value_or(0);
}

double Fields::required_number(const char* name, double least, double most) {
  const std::optional<double> value = number(name, least, most);
  if (!value) {
    wrong(name, "there");
  }
  return value.value_or(0);
}

// 0 if it is missing.
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

// iperf3 sends 0 for a value that it leaves to the kernel.
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
      in.integer("len", udp ? kMinDatagramBytes : 1, udp ? kMaxDatagramBytes : kMaxTcpBlockBytes);
  return static_cast<int>(length.value_or(udp ? 1460 : 128 * 1024));
}

void read_socket(Fields& in, Parameters& parameters) {
  parameters.mss = unless_zero(in.integer("MSS", 0, 32767));
  parameters.window_bytes = unless_zero(in.integer("window", 0, std::int64_t{512} << 20));
  parameters.traffic_class = unless_zero(in.integer("TOS", 0, 255));
  parameters.congestion = in.text("congestion", 15).value_or("");
  parameters.no_delay = in.flag("nodelay");
  if (const std::optional<std::int64_t> pacing = in.integer("fqrate", 0, kMaxBitsPerS);
      pacing > 0) {
    parameters.socket_pacing_bits_per_s = static_cast<std::uint64_t>(*pacing);
  }
}

void read_extent(Fields& in, Parameters& parameters) {
  parameters.omit_s = static_cast<int>(in.integer("omit", 0, 600).value_or(0));
  parameters.time_s = static_cast<int>(in.integer("time", 0, 86400).value_or(10));
  parameters.bytes = amount(in, "num", kMaxCount);
  parameters.blocks = amount(in, "blockcount", kMaxCount);
  parameters.streams = static_cast<int>(in.integer("parallel", 1, kMostStreams).value_or(1));
  parameters.rate_bits_per_s = amount(in, "bandwidth", kMaxBitsPerS);
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

nlohmann::json to_json(const StreamResult& stream) {
  nlohmann::json out = {{"id", stream.id},
                        {"bytes", stream.bytes},
                        {"retransmits", -1},
                        {"jitter", stream.jitter_s},
                        {"errors", stream.lost},
                        {"packets", stream.packets},
                        {"start_time", stream.start_s},
                        {"end_time", stream.end_s}};
  if (stream.retransmits) {
    out["retransmits"] = *stream.retransmits;
  }
  return out;
}

Result<StreamResult> stream_of(const nlohmann::json& object) {
  if (!object.is_object()) {
    return fail(ErrorKind::Malformed, "read", kWhat, "a stream is no JSON object");
  }
  Fields in(object, kWhat);
  StreamResult stream{
      .id = static_cast<int>(in.required_integer("id", 1, 1 << 20)),
      .bytes = static_cast<std::uint64_t>(in.required_integer("bytes", 0, kMaxCount))};
  if (const std::int64_t count = in.required_integer("retransmits", -1, kMaxCount); count >= 0) {
    stream.retransmits = static_cast<std::uint64_t>(count);
  }
  stream.jitter_s = in.required_number("jitter", 0, kMaxSeconds);
  stream.lost = in.required_integer("errors", -kMaxCount, kMaxCount);
  stream.packets = in.required_integer("packets", 0, kMaxCount);
  stream.start_s = in.number("start_time", 0, kMaxSeconds).value_or(0);
  stream.end_s = in.number("end_time", 0, kMaxSeconds).value_or(0);
  if (in.error()) {
    return std::unexpected(*in.error());
  }
  return stream;
}

Result<std::vector<StreamResult>> streams_of(const nlohmann::json& object) {
  const auto list = object.find("streams");
  if (list == object.end() || !list->is_array() || list->size() > kMaxResultStreams) {
    return fail(ErrorKind::Malformed, "read", kWhat, "'streams' should be a list of streams");
  }
  std::vector<StreamResult> streams;
  streams.reserve(list->size());
  for (const nlohmann::json& entry : *list) {
    TRY(StreamResult stream, stream_of(entry));
    streams.push_back(stream);
  }
  return streams;
}

}  // namespace

int connections(const Parameters& parameters) {
  return parameters.way == Way::Both ? 2 * parameters.streams : parameters.streams;
}

bool client_sends(const Parameters& parameters, int index) {
  return parameters.way == Way::Forward ||
         (parameters.way == Way::Both && index < parameters.streams);
}

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

const StreamResult* EndResults::find(int id) const {
  const auto found = std::ranges::find(streams, id, &StreamResult::id);
  return found == streams.end() ? nullptr : &*found;
}

std::string encode(const EndResults& results) {
  const int retransmits = results.sends ? static_cast<int>(results.counts_retransmits) : -1;
  nlohmann::json out = {{"cpu_util_total", results.cpu_percent},
                        {"cpu_util_user", results.cpu_user_percent},
                        {"cpu_util_system", results.cpu_system_percent},
                        {"sender_has_retransmits", retransmits}};
  if (!results.congestion.empty()) {
    out["congestion_used"] = results.congestion;
  }
  nlohmann::json& streams = out["streams"] = nlohmann::json::array();
  for (const StreamResult& stream : results.streams) {
    streams.push_back(to_json(stream));
  }
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<EndResults> decode_results(std::string_view json) {
  TRY(const nlohmann::json object, parse_object(json, kMostResultBytes, kWhat));
  TRY(std::vector<StreamResult> streams, streams_of(object));
  Fields in(object, kWhat);
  EndResults results{.cpu_percent = in.required_number("cpu_util_total", 0, kMaxPercent),
                     .cpu_user_percent = in.required_number("cpu_util_user", 0, kMaxPercent),
                     .cpu_system_percent = in.required_number("cpu_util_system", 0, kMaxPercent),
                     .streams = std::move(streams)};
  const std::int64_t counts = in.required_integer("sender_has_retransmits", -1, 1);
  results.sends = counts >= 0;
  results.counts_retransmits = counts == 1;
  results.congestion = in.text("congestion_used", 64).value_or("");
  if (in.error()) {
    return std::unexpected(*in.error());
  }
  return results;
}

}  // namespace chokepoint::probe::iperf3
