#include "probe/path/exchange.h"

#include <algorithm>
#include <array>

#include "base/control/bodies.h"
#include "base/control/fields.h"

namespace chokepoint::probe::path {
namespace {

using control::Fields;
using control::Json;
using control::or_null;

constexpr int kMostHops = 64;
constexpr int kMostProbes = 10;
constexpr std::size_t kMostAddresses = 16;
constexpr std::size_t kLongestText = 64;
constexpr int kMostPacketBytes = 65536;
constexpr double kLongestMs = 600'000;
constexpr std::int64_t kMostTries = 1000;
constexpr double kLongestSeconds = 600;

constexpr std::array kReasons = {Unreachable::Network, Unreachable::Host,   Unreachable::Protocol,
                                 Unreachable::Port,    Unreachable::TooBig, Unreachable::Prohibited,
                                 Unreachable::Other};

Json text_or_null(const std::optional<net::Address>& address) {
  return address ? Json(address->text()) : Json();
}

std::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorKind::Malformed, "read message", what, "is not what a survey says");
}

Json body_of(const Hop& hop) {
  Json addresses = Json::array();
  for (const net::Address& address : hop.addresses) {
    addresses.push_back(address.text());
  }
  return {{"ttl", hop.ttl},
          {"addresses", std::move(addresses)},
          {"rtt_ms", hop.rtt_ms},
          {"sent", hop.sent},
          {"answered", hop.answered},
          {"unreachable", hop.unreachable ? Json(mark_of(*hop.unreachable)) : Json()}};
}

std::optional<Unreachable> reason_in(const std::string& mark) {
  const auto* at = std::ranges::find(kReasons, mark, mark_of);
  return at == kReasons.end() ? std::nullopt : std::optional(*at);
}

// The list under this name, of at most so many; nothing where it is not one.
const Json* list_in(const Json& body, const char* name, std::size_t most) {
  const auto at = body.find(name);
  return at == body.end() || !at->is_array() || at->size() > most ? nullptr : &*at;
}

Result<> read_answers(const Json& body, Hop& hop) {
  const Json* addresses = list_in(body, "addresses", kMostAddresses);
  const Json* rtts = list_in(body, "rtt_ms", std::size_t{4} * kMostProbes);
  if (addresses == nullptr || rtts == nullptr) {
    return malformed("hop");
  }
  for (const Json& text : *addresses) {
    const Result<net::Address> address =
        net::Address::parse(text.is_string() ? text.get<std::string>() : "");
    if (!address) {
      return malformed("hop 'addresses'");
    }
    hop.addresses.push_back(*address);
  }
  for (const Json& rtt : *rtts) {
    if (!rtt.is_number()) {
      return malformed("hop 'rtt_ms'");
    }
    hop.rtt_ms.push_back(std::clamp(rtt.get<double>(), 0.0, kLongestMs));
  }
  return {};
}

Result<Hop> hop_in(const Json& body) {
  Fields in(body, "hop");
  Hop hop{.ttl = static_cast<int>(in.integer("ttl", 1, kMostHops)),
          .sent = static_cast<int>(in.integer("sent", 0, kMostTries)),
          .answered = static_cast<int>(in.integer("answered", 0, kMostTries)),
          .unreachable = reason_in(in.text_or("unreachable", kLongestText, ""))};
  Result<Hop> read = in.finish(std::move(hop));
  if (!read) {
    return read;
  }
  const Result<> answers = read_answers(body, *read);
  return answers ? read : std::unexpected(answers.error());
}

Json body_of(const Trace& trace) {
  Json hops = Json::array();
  for (const Hop& hop : trace.hops) {
    hops.push_back(body_of(hop));
  }
  return {{"protocol", name_of(trace.protocol)},
          {"source", trace.source.address.text()},
          {"target", trace.target.address.text()},
          {"port", trace.target.port},
          {"reached", trace.reached},
          {"complete", trace.complete},
          {"probed_to", trace.probed_to},
          {"hops", std::move(hops)}};
}

Result<std::vector<Hop>> hops_in(const Json& body) {
  const Json* list = list_in(body, "hops", kMostHops);
  if (list == nullptr) {
    return malformed("trace 'hops'");
  }
  std::vector<Hop> hops;
  for (const Json& each : *list) {
    Result<Hop> hop = hop_in(each);
    if (!hop || hop->ttl != static_cast<int>(hops.size()) + 1) {
      return malformed("trace 'hops'");
    }
    hops.push_back(std::move(*hop));
  }
  return hops;
}

Result<Trace> trace_in(const Json& body) {
  Fields in(body, "trace");
  const bool tcp = in.text("protocol", kLongestText) == name_of(Protocol::Tcp);
  const auto source = net::Address::parse(in.text("source", kLongestText));
  const auto target = net::Address::parse(in.text("target", kLongestText));
  Trace trace{.protocol = tcp ? Protocol::Tcp : Protocol::Udp,
              .reached = in.boolean("reached"),
              .probed_to = static_cast<int>(in.integer("probed_to", 0, kMostHops)),
              .complete = in.boolean("complete")};
  trace.target.port = static_cast<std::uint16_t>(in.integer("port", 0, 65535));
  Result<std::vector<Hop>> hops = hops_in(body);
  if (!source || !target || !hops) {
    return malformed("trace");
  }
  trace.source.address = *source;
  trace.target.address = *target;
  trace.hops = std::move(*hops);
  return in.finish(std::move(trace));
}

Json body_of(const MtuFinding& mtu) {
  return {{"path_mtu_bytes", or_null(mtu.path_mtu_bytes)},
          {"interface_mtu_bytes", or_null(mtu.interface_mtu_bytes)},
          {"limited_by", text_or_null(mtu.limited_by)},
          {"announced_bytes", or_null(mtu.announced_bytes)},
          {"black_hole_from_bytes", or_null(mtu.black_hole_from_bytes)},
          {"confirmed", mtu.confirmed},
          {"complete", mtu.complete},
          {"tries", mtu.tries}};
}

std::optional<int> size_in(Fields& in, const char* name) {
  const std::optional<std::int64_t> size = in.maybe_integer(name, 0, kMostPacketBytes);
  return size ? std::optional(static_cast<int>(*size)) : std::nullopt;
}

Result<MtuFinding> mtu_in(const Json& body) {
  Fields in(body, "mtu");
  MtuFinding mtu;
  mtu.path_mtu_bytes = size_in(in, "path_mtu_bytes");
  mtu.interface_mtu_bytes = size_in(in, "interface_mtu_bytes");
  if (const auto by = net::Address::parse(in.text_or("limited_by", kLongestText, ""))) {
    mtu.limited_by = *by;
  }
  mtu.announced_bytes = size_in(in, "announced_bytes");
  mtu.black_hole_from_bytes = size_in(in, "black_hole_from_bytes");
  mtu.confirmed = in.boolean("confirmed");
  mtu.complete = in.boolean("complete");
  mtu.tries = static_cast<int>(in.integer("tries", 0, kMostTries));
  return in.finish(mtu);
}

Json body_of(const BlackHole& hole) {
  return {{"packet_bytes", hole.packet_bytes},
          {"last_before", hole.last_before ? body_of(*hole.last_before) : Json()},
          {"first_behind", body_of(hole.first_behind)}};
}

Result<BlackHole> black_hole_in(const Json& body) {
  Fields in(body, "black hole");
  BlackHole hole{.packet_bytes = static_cast<int>(in.integer("packet_bytes", 0, kMostPacketBytes))};
  TRY(const Hop behind, hop_in(in.object("first_behind")));
  hole.first_behind = behind;
  if (const auto at = body.find("last_before"); at != body.end() && at->is_object()) {
    TRY(const Hop before, hop_in(*at));
    hole.last_before = before;
  }
  return in.finish(std::move(hole));
}

}  // namespace

Json body_of(const Parameters& parameters) {
  return {{"protocol", name_of(parameters.protocol)},
          {"port", parameters.port},
          {"max_hops", parameters.max_hops},
          {"probes", parameters.probes},
          {"time_s", std::chrono::duration<double>(parameters.time).count()},
          {"search_mtu", parameters.search_mtu}};
}

Result<Parameters> parameters_in(const Json& body) {
  Fields in(body, "path request");
  const bool tcp = in.text("protocol", kLongestText) == name_of(Protocol::Tcp);
  const std::chrono::duration<double> time(in.number("time_s", 0.1, kLongestSeconds));
  return in.finish(Parameters{.protocol = tcp ? Protocol::Tcp : Protocol::Udp,
                              .port = static_cast<std::uint16_t>(in.integer("port", 1, 65535)),
                              .max_hops = static_cast<int>(in.integer("max_hops", 1, kMostHops)),
                              .probes = static_cast<int>(in.integer("probes", 1, kMostProbes)),
                              .time = std::chrono::duration_cast<std::chrono::nanoseconds>(time),
                              .search_mtu = in.boolean("search_mtu")});
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  return control::check_time(limits, parameters.time);
}

SurveyOptions survey_options(const Parameters& parameters) {
  SurveyOptions options{.protocol = parameters.protocol,
                        .plan = {.max_hops = parameters.max_hops, .probes = parameters.probes},
                        .search_mtu = parameters.search_mtu};
  if (parameters.protocol == Protocol::Tcp) {
    options.port = parameters.port;
  }
  return options;
}

Json body_of(const Survey& survey) {
  return {{"trace", body_of(survey.trace)},
          {"mtu", survey.mtu ? body_of(*survey.mtu) : Json()},
          {"black_hole", survey.black_hole ? body_of(*survey.black_hole) : Json()}};
}

Result<Survey> survey_in(const Json& body) {
  Fields in(body, "survey");
  TRY(Trace trace, trace_in(in.object("trace")));
  Survey survey{.trace = std::move(trace)};
  if (const auto at = body.find("mtu"); at != body.end() && at->is_object()) {
    TRY(const MtuFinding mtu, mtu_in(*at));
    survey.mtu = mtu;
  }
  if (const auto at = body.find("black_hole"); at != body.end() && at->is_object()) {
    TRY(BlackHole hole, black_hole_in(*at));
    survey.black_hole = std::move(hole);
  }
  return survey;
}

}  // namespace chokepoint::probe::path
