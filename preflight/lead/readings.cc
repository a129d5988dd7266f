#include "preflight/lead/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/control/message.h"
#include "base/sys/error.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight::lead {
namespace {

// An agent's document, read field by field with types and bounds: an agent may be broken or
// hostile, and then its whole document is malformed. What is absent or null was not measured.
//
//   Answer in(document, "chokepoint.probe.latency/1");
//   pair.rtt_ms = in.figure("idle_ms.median", 0, kLongestMs);
//   return in.finish();
class Answer {
 public:
  Answer(const control::Json& document, std::string_view schema);

  // A place is a field's name, or names of objects in one another: "cpu.sender_percent".
  std::optional<double> number(std::string_view place, double least, double most);
  std::optional<std::int64_t> integer(std::string_view place, std::int64_t most);  // from 0 on
  Figure figure(std::string_view place, double least, double most);
  std::string text(std::string_view place, std::size_t longest);
  std::optional<bool> boolean(std::string_view place);
  // Empty where there is none.
  const control::Json& list(std::string_view place, std::size_t most);
  bool has(std::string_view place) { return find(place) != nullptr; }

  void wrong(std::string_view place, std::string_view wanted);
  Result<> finish() const;

 private:
  const control::Json* find(std::string_view place);

  const control::Json& document_;
  std::string_view schema_;
  std::optional<Error> error_;
};

using control::Json;

Answer::Answer(const Json& document, std::string_view schema)
    : document_(document), schema_(schema) {
  const Json* said = document.is_object() ? find("schema") : nullptr;
  if (said == nullptr || *said != schema) {
    wrong("schema", schema);
  }
}

const Json* Answer::find(std::string_view place) {
  const Json* at = &document_;
  for (std::string_view left = place; !left.empty();) {
    const std::size_t dot = left.find('.');
    const std::string name(left.substr(0, dot));
    left = dot == std::string_view::npos ? "" : left.substr(dot + 1);
    if (!at->is_object()) {
      wrong(place, "an object");
      return nullptr;
    }
    const auto field = at->find(name);
    if (error_ || field == at->end() || field->is_null()) {
      return nullptr;
    }
    at = &*field;
  }
  return at;
}

void Answer::wrong(std::string_view place, std::string_view wanted) {
  if (!error_) {
    error_ = Error{.kind = ErrorKind::Malformed,
                   .operation = "read answer",
                   .subject = fmt::format("{}, '{}'", schema_, place),
                   .reason = fmt::format("wanted {}", wanted),
                   .next_step = "is the agent there this program's?"};
  }
}

std::optional<double> Answer::number(std::string_view place, double least, double most) {
  const Json* field = find(place);
  if (field == nullptr) {
    return std::nullopt;
  }
  const double value = field->is_number() ? field->get<double>() : std::nan("");
  // What is no number is in no range.
  const bool fits = value >= least && value <= most;
  if (!fits) {
    wrong(place, fmt::format("a number from {} to {}", least, most));
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> Answer::integer(std::string_view place, std::int64_t most) {
  const Json* field = find(place);
  if (field == nullptr) {
    return std::nullopt;
  }
  // Numbers that were read are unsigned unless they are negative; those made here may be signed.
  const bool fits = field->is_number_integer() &&
                    (field->is_number_unsigned() || field->get<std::int64_t>() >= 0) &&
                    field->get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits) {
    wrong(place, fmt::format("a whole number from 0 to {}", most));
    return std::nullopt;
  }
  return field->get<std::int64_t>();
}

Figure Answer::figure(std::string_view place, double least, double most) {
  const std::optional<double> value = number(place, least, most);
  return value ? Figure(static_cast<float>(*value)) : std::nullopt;
}

std::string Answer::text(std::string_view place, std::size_t longest) {
  const Json* field = find(place);
  if (field == nullptr) {
    return {};
  }
  if (!field->is_string() || field->get_ref<const std::string&>().size() > longest) {
    wrong(place, fmt::format("a text of at most {} bytes", longest));
    return {};
  }
  return field->get<std::string>();
}

std::optional<bool> Answer::boolean(std::string_view place) {
  const Json* field = find(place);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (!field->is_boolean()) {
    wrong(place, "true or false");
    return std::nullopt;
  }
  return field->get<bool>();
}

const Json& Answer::list(std::string_view place, std::size_t most) {
  static const Json none = Json::array();
  const Json* field = find(place);
  if (field == nullptr) {
    return none;
  }
  if (!field->is_array() || field->size() > most) {
    wrong(place, fmt::format("a list of at most {}", most));
    return none;
  }
  return *field;
}

Result<> Answer::finish() const {
  if (error_) {
    return std::unexpected(*error_);
  }
  return {};
}

// Upper bounds of real figures; larger ones come from an agent that invents them.
inline constexpr double kFastestMbps = 1e8;  // 100 Tb/s
inline constexpr double kMostBytes = 1e16;
inline constexpr double kMostPackets = 1e12;
inline constexpr double kLargestPacket = 1 << 20;  // of which the kernel may think on loopback
inline constexpr double kLongestMs = 3'600'000;
inline constexpr double kLongestUs = 3.6e9;
// A core may be counted a little over 100 % where its clock ticks are coarse.
inline constexpr double kMostPercent = 10'000;
inline constexpr double kMostHops = 255;
inline constexpr std::size_t kLongestName = 64;
inline constexpr std::size_t kLongestText = 4096;

FamilyState state_of(Answer& in, const std::string& family) {
  const std::optional<bool> resolves = in.boolean("families." + family + ".resolves");
  const std::string connection = in.text("families." + family + ".connection", kLongestName);
  if (!resolves || connection.empty()) {
    return FamilyState::Unknown;
  }
  if (!*resolves) {
    return FamilyState::Absent;
  }
  if (connection == "connected") {
    return FamilyState::Works;
  }
  return connection == "untried" ? FamilyState::Unknown : FamilyState::Fails;
}

void add_way(Answer& in, const std::string& place, WayResult& way) {
  if (!in.has(place)) {
    return;
  }
  way.hops = in.figure(place + ".length", 0, kMostHops);
  way.mtu_bytes = in.figure(place + ".mtu.path_mtu_bytes", 0, kLargestPacket);
  way.black_hole_bytes = in.figure(place + ".mtu.black_hole_from_bytes", 0, kLargestPacket);
}

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

using checks::Status;

constexpr std::size_t kMostChecks = 10'000;
constexpr std::size_t kMostAddresses = 256;
constexpr std::size_t kLongestIdentifier = 256;

std::optional<Status> status_named(std::string_view name) {
  for (const Status each :
       {Status::Pass, Status::Info, Status::Unknown, Status::Warning, Status::Critical}) {
    if (name_of(each) == name) {
      return each;
    }
  }
  return std::nullopt;
}

// A part of a document is read as a document of its own.
Json part(const Json& each, std::string_view name) {
  Json body = each.is_object() ? each : Json::object();
  body["schema"] = name;
  return body;
}

Result<checks::Check> check_in(const Json& each) {
  constexpr std::string_view kName = "check";
  const Json body = part(each, kName);
  Answer in(body, kName);
  const std::optional<Status> status = status_named(in.text("status", kLongestIdentifier));
  checks::Check check{.id = in.text("id", kLongestIdentifier),
                      .status = status.value_or(Status::Unknown),
                      .subject = in.text("subject", kLongestText),
                      .found = in.text("found", kLongestText),
                      .wanted = in.text("wanted", kLongestText),
                      .why = in.text("why", kLongestText),
                      .next_step = in.text("next_step", kLongestText)};
  if (!status || check.id.empty()) {
    in.wrong("status", "a check's status and id");
  }
  TRY(in.finish());
  return check;
}

Result<NameAnswer> name_in(const Json& each, HostIndex asked) {
  constexpr std::string_view kName = "name";
  const Json body = part(each, kName);
  Answer in(body, kName);
  NameAnswer answer{.asked = asked};
  for (const Json& address : in.list("addresses", kMostAddresses)) {
    if (!address.is_string() || address.get_ref<const std::string&>().size() > kLongestIdentifier) {
      in.wrong("addresses", "texts");
      break;
    }
    answer.addresses.push_back(address.get<std::string>());
  }
  if (in.has("error")) {
    answer.error = control::error_in(body["error"], "");
  }
  TRY(in.finish());
  return answer;
}

constexpr std::string_view kSchema = "chokepoint.probe.tcp/1";

// The verdicts of probe tcp; what stands for the network is told apart by the figures.
constexpr std::array<std::pair<std::string_view, TcpLimit>, 9> kLimits{
    {{"sender-cpu", TcpLimit::SenderCpu},
     {"receiver-cpu", TcpLimit::ReceiverCpu},
     {"application", TcpLimit::Application},
     {"send-buffer", TcpLimit::SendBuffer},
     {"receive-window", TcpLimit::ReceiveWindow},
     {"loss", TcpLimit::Network},
     {"queue", TcpLimit::Network},
     {"path", TcpLimit::Network},
     {"slow-start", TcpLimit::Network}}};

TcpLimit limit_named(std::string_view name) {
  const auto* at = std::ranges::find(kLimits, name, &std::pair<std::string_view, TcpLimit>::first);
  return at == kLimits.end() ? TcpLimit::Unknown : at->second;
}

// Of segments as large as the path takes them: those that were sent in all are not counted there.
Figure retransmitted_percent(Answer& in) {
  const auto again = in.number("retransmits", 0, kMostPackets);
  const auto bytes = in.number("sent_bytes", 0, kMostBytes);
  const auto segment = in.number("mss_bytes", 0, kLargestPacket);
  if (!again || !bytes || !segment || *bytes <= 0 || *segment <= 0) {
    return std::nullopt;
  }
  constexpr double kAll = 100;
  return static_cast<float>(std::min(kAll, *again * *segment / *bytes * kAll));
}

// What the window was at most: the kernel's congestion window grows no further than it is used.
Figure largest_window(Answer& in) { return in.figure("max_cwnd_bytes", 0, kMostBytes); }

}  // namespace

Result<> read_path(const Json& document, PairResult& pair) {
  Answer in(document, "chokepoint.probe.path/1");
  PairResult read = pair;
  const std::string family = in.text("peer.family", kLongestName);
  if (family == "ipv4" || family == "ipv6") {
    add_way(in, "families." + family + ".forward", read.there);
    add_way(in, "families." + family + ".reverse", read.back);
  } else {
    in.wrong("peer.family", "ipv4 or ipv6");
  }
  read.ipv4 = state_of(in, "ipv4");
  read.ipv6 = state_of(in, "ipv6");
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  pair = read;
  return {};
}

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

Result<> read_doctor(const Json& document, HostResult& host) {
  Answer in(document, "chokepoint.doctor/1");
  checks::Checks read;
  for (const Json& each : in.list("checks", kMostChecks)) {
    TRY(checks::Check check, check_in(each));
    read.push_back(std::move(check));
  }
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  host.doctor = std::move(read);
  return {};
}

Result<> read_names(const Json& document, const std::vector<HostIndex>& asked, HostResult& host) {
  Answer in(document, "chokepoint.names/1");
  const Json& list = in.list("answers", asked.size());
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  if (list.size() != asked.size()) {
    in.wrong("answers", "an answer for each host that was asked for");
    return in.finish();
  }
  std::vector<NameAnswer> read;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    TRY(NameAnswer answer, name_in(list[i], asked[i]));
    read.push_back(std::move(answer));
  }
  host.names.insert(host.names.end(), read.begin(), read.end());
  return {};
}

Result<> read_tcp(const Json& document, WayResult& way) {
  Answer in(document, kSchema);
  WayResult read = way;
  read.tcp_mbps = in.figure("throughput_mbps", 0, kFastestMbps);
  read.retransmitted_percent = retransmitted_percent(in);
  read.window_share = in.figure("limited_by.receive_window", 0, 1);
  read.send_buffer_share = in.figure("limited_by.send_buffer", 0, 1);
  read.largest_window_bytes = largest_window(in);
  read.sender_cpu_percent = in.figure("cpu.sender_busiest_core_percent", 0, kMostPercent);
  read.receiver_cpu_percent = in.figure("cpu.receiver_busiest_core_percent", 0, kMostPercent);
  read.limit = limit_named(in.text("limit", kLongestName));
  if (!read.tcp_mbps) {
    in.wrong("throughput_mbps", "a number");
  }
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  way = read;
  return {};
}

Result<> read_alone(const Json& document, WayResult& way) {
  Answer in(document, kSchema);
  const Figure alone = in.figure("throughput_mbps", 0, kFastestMbps);
  if (!alone) {
    in.wrong("throughput_mbps", "a number");
  }
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  way.alone_mbps = alone;
  return {};
}

Result<> read_together(const Json& document, WayResult& sent, WayResult& received) {
  Answer in(document, kSchema);
  const Figure to = in.figure("send.throughput_mbps", 0, kFastestMbps);
  const Figure from = in.figure("receive.throughput_mbps", 0, kFastestMbps);
  if (!to || !from) {
    in.wrong("throughput_mbps", "a number each way");
  }
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  sent.together_mbps = to;
  received.together_mbps = from;
  return {};
}

}  // namespace chokepoint::preflight::lead
