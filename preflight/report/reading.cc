#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/cli/output.h"
#include "base/control/fields.h"
#include "base/sys/error.h"
#include "preflight/report/document.h"
#include "preflight/report/figures.h"
#include "preflight/report/words.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;

constexpr std::size_t kLongestHostText = 16384;

std::optional<checks::Status> status_named(std::string_view name) {
  using enum checks::Status;
  constexpr std::array kStatuses{Pass, Info, Unknown, Warning, Critical};
  const auto* at = std::ranges::find(kStatuses, name,
                                     [](checks::Status status) { return checks::name_of(status); });
  return at == kStatuses.end() ? std::nullopt : std::optional(*at);
}

Result<checks::Check> check_in(const Json& json) {
  if (!json.is_object()) {
    return malformed("doctor", "wanted an object for each check");
  }
  control::Fields in(json, "check");
  const auto status = status_named(in.text("status", kLongestName));
  checks::Check check{.id = in.text("id", kLongestName),
                      .status = status.value_or(checks::Status::Unknown),
                      .subject = in.text("subject", kLongestHostText),
                      .found = in.text_or("found", kLongestHostText, ""),
                      .wanted = in.text_or("wanted", kLongestHostText, ""),
                      .why = in.text_or("why", kLongestHostText, ""),
                      .next_step = in.text_or("next_step", kLongestHostText, "")};
  Result<checks::Check> read = in.finish(std::move(check));
  return read && !status ? malformed("status", "no status of a check") : std::move(read);
}

Result<std::optional<HostFacts>> facts_in(const Json& json) {
  const auto at = json.find("facts");
  if (at == json.end() || at->is_null()) {
    return std::nullopt;
  }
  TRY(HostFacts facts, host_facts_in(*at));
  return facts;
}

Result<HostResult> host_in(const Json& json) {
  if (!json.is_object()) {
    return malformed("hosts", "wanted an object for each host");
  }
  control::Fields in(json, "host");
  const auto presence = presence_named(in.text("presence", kLongestName));
  Result<HostResult> host =
      in.finish(HostResult{.name = in.text("name", kLongestName),
                           .address = in.text_or("address", kLongestName, ""),
                           .presence = presence.value_or(Presence::Lost),
                           .lost_during = in.text_or("lost_during", kLongestHostText, ""),
                           .program = in.text_or("program", kLongestName, "")});
  if (host && !presence) {
    return malformed("presence", "no such state of a host");
  }
  if (host) {
    auto error = error_in(json, "error");
    auto facts = facts_in(json);
    auto doctor = each_in<checks::Check>(json, "doctor", check_in);
    if (!error || !facts || !doctor) {
      return std::unexpected(!error ? error.error() : !facts ? facts.error() : doctor.error());
    }
    host->error = std::move(*error);
    host->facts = std::move(*facts);
    host->doctor = std::move(*doctor);
  }
  return host;
}

Result<std::vector<HostResult>> host_results_in(const Json& document) {
  auto hosts = each_in<HostResult>(document, "hosts", host_in);
  const auto names = document.find("names");
  if (hosts && names != document.end()) {
    TRY(read_names(*names, *hosts));
  }
  return hosts;
}

using control::Fields;

constexpr double kMostMbps = 1e12;
constexpr const char* kNextStep = "keep a new baseline: 'chokepoint preflight HOST… --keep FILE'";

Result<> check_schema(const Json& document) {
  constexpr std::string_view kFamily = "chokepoint.preflight/";
  const auto at = document.find("schema");
  const std::string schema =
      at != document.end() && at->is_string() ? at->get<std::string>() : std::string();
  if (schema == kSchema) {
    return {};
  }
  const std::string version = schema.starts_with(kFamily) ? schema.substr(kFamily.size()) : "";
  if (!version.empty() && version != "0" &&
      version.find_first_not_of("0123456789") == std::string::npos) {
    return fail(
        ErrorKind::Newer, "read preflight", "",
        fmt::format("this is {}, of a newer chokepoint; this one knows {}", schema, kSchema),
        kNextStep);
  }
  return fail(ErrorKind::Malformed, "read preflight", "",
              schema.empty() ? std::string("this is no document of chokepoint: it names no schema")
                             : fmt::format("wanted {}, and this is '{}'", kSchema,
                                           schema.substr(0, kLongestName)),
              kNextStep);
}

Result<Measured> head_in(const Json& document) {
  Fields in(document, "preflight");
  return in.finish(Measured{
      .plan = in.text("plan", kLongestName),
      .seed = static_cast<std::uint64_t>(in.maybe_integer("seed", 0, INT64_MAX).value_or(0)),
      .is_sampled = in.boolean("sampled"),
      .was_interrupted = in.boolean("interrupted"),
      .duration_s = in.number("duration_s", 0, 1e9),
      .program = in.text("program", kLongestName)});
}

Result<Trouble> trouble_in(const Json& json, std::size_t hosts) {
  if (!json.is_object() || hosts == 0) {
    return malformed("troubles", "wanted an object for each, between two of the hosts");
  }
  const auto last = static_cast<std::int64_t>(hosts) - 1;
  Fields in(json, "trouble");
  Result<Trouble> trouble = in.finish(Trouble{.a = static_cast<HostIndex>(in.integer("a", 0, last)),
                                              .b = static_cast<HostIndex>(in.integer("b", 0, last)),
                                              .test = in.text("test", kLongestName)});
  auto error = error_in(json, "error");
  if (trouble && error) {
    trouble->error = std::move(*error).value_or(Error{});
  }
  return error ? std::move(trouble) : std::unexpected(error.error());
}

Result<CutResult> cut_in(const Json& json, std::size_t hosts) {
  if (!json.is_object()) {
    return malformed("cuts", "wanted an object for each");
  }
  auto left = hosts_in(json, "left", hosts);
  auto right = hosts_in(json, "right", hosts);
  auto ways = ways_in(json, "ways", hosts);
  if (!left || !right || !ways) {
    return std::unexpected(!left ? left.error() : !right ? right.error() : ways.error());
  }
  Fields in(json, "cut");
  return in.finish(CutResult{.left = std::move(*left),
                             .right = std::move(*right),
                             .ways = std::move(*ways),
                             .together_mbps = in.number("together_mbps", 0, kMostMbps),
                             .alone_mbps = in.maybe_number("alone_mbps", 0, kMostMbps)});
}

Result<std::optional<CollectiveResult>> collective_in(const Json& document) {
  const auto at = document.find("collective");
  if (at == document.end() || at->is_null()) {
    return std::nullopt;
  }
  if (!at->is_object()) {
    return malformed("collective", "wanted an object");
  }
  TRY(auto error, error_in(*at, "error"));
  Fields in(*at, "collective");
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return in.finish(std::optional(
      CollectiveResult{.backend = in.text_or("backend", kLongestName, ""),
                       .ranks = static_cast<int>(in.integer("ranks", 0, kMost)),
                       .bytes = in.integer("bytes", 0, std::numeric_limits<std::int64_t>::max()),
                       .bus_mbps = in.maybe_number("bus_mbps", 0, kMostMbps),
                       .time_us = in.maybe_number("time_us", 0, kMostMbps),
                       .error = std::move(error)}));
}

// Puts what was read into its place; false, and the error kept, where it was not.
template <class T>
bool put(Result<T> read, T& place, std::optional<Error>& failed) {
  if (read) {
    place = std::move(*read);
  } else {
    failed = std::move(read.error());
  }
  return read.has_value();
}

Result<Measured> parts_in(const Json& document, Measured measured) {
  std::optional<Error> failed;
  const auto pairs = document.find("pairs");
  const bool is_read = put(host_results_in(document), measured.hosts, failed) &&
                       put(pairs == document.end() ? malformed("pairs", "is missing")
                                                   : pairs_in(*pairs, measured.hosts.size()),
                           measured.pairs, failed);
  const std::size_t hosts = measured.hosts.size();
  if (is_read && put(texts_in(document, "left_out"), measured.left_out, failed) &&
      put(each_in<Trouble>(document, "troubles",
                           [&](const Json& each) { return trouble_in(each, hosts); }),
          measured.troubles, failed) &&
      put(each_in<CutResult>(document, "cuts",
                             [&](const Json& each) { return cut_in(each, hosts); }),
          measured.cuts, failed) &&
      put(collective_in(document), measured.collective, failed)) {
    return measured;
  }
  return std::unexpected(std::move(*failed));
}

// One operation, and a way out, whichever part it was that could not be read.
Error told(Error error) {
  error.operation = "read preflight";
  error.next_step = error.next_step.empty() ? kNextStep : error.next_step;
  return error;
}

constexpr double kLargestFigure = 1e15;

// The lists of one object. The first one that is not as it must be is kept.
class Lists {
 public:
  Lists(const Json& json, std::size_t count) : json_(json), count_(count) {}

  // take(index, value) says whether the value is one that may stand there; nulls are left out.
  template <class Take>
  void each(const char* name, Take take) {
    const auto at = json_.find(name);
    if (failed_ || at == json_.end() || at->is_null()) {
      return;
    }
    if (!at->is_array() || at->size() != count_) {
      wrong(name, fmt::format("wanted a list of {}", count_));
      return;
    }
    std::size_t index = 0;
    for (const Json& value : *at) {
      if (!value.is_null() && !take(index, value)) {
        wrong(name, fmt::format("entry {} is out of bounds, or no such value", index));
        return;
      }
      ++index;
    }
  }

  Result<> finish() const { return failed_ ? Result<>(std::unexpected(*failed_)) : Result<>(); }

 private:
  void wrong(const char* name, const std::string& reason) {
    failed_ = malformed(name, reason).error();
  }

  const Json& json_;
  std::size_t count_;
  std::optional<Error> failed_;
};

bool take_index(const Json& value, std::size_t end, HostIndex& index) {
  const std::uint64_t number = count_in(value).value_or(end);
  index = static_cast<HostIndex>(std::min<std::uint64_t>(number, end));
  return number < end;
}

bool take_figure(const Json& value, bool may_be_negative, Figure& figure) {
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  const double least = may_be_negative ? -kLargestFigure : 0;
  const bool fits = number >= least && number <= kLargestFigure;
  figure = fits ? Figure(static_cast<float>(number)) : std::nullopt;
  return fits;
}

bool take_count(const Json& value, std::uint32_t& count) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::optional<std::uint64_t> number = count_in(value);
  count = static_cast<std::uint32_t>(std::min(number.value_or(0), kMost));
  return number && *number <= kMost;
}

template <class T, class Named>
bool take_word(const Json& value, Named named, T& state) {
  const std::optional<T> found =
      value.is_string() ? named(value.get_ref<const std::string&>()) : std::nullopt;
  state = found.value_or(state);
  return found.has_value();
}

Result<> check_order(const std::vector<PairResult>& pairs) {
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    const PairResult& pair = pairs[at];
    const bool is_after =
        at == 0 || std::pair(pairs[at - 1].a, pairs[at - 1].b) < std::pair(pair.a, pair.b);
    if (pair.a >= pair.b || !is_after) {
      return malformed("a, b", fmt::format("pair {} stands in the wrong place, or twice", at));
    }
  }
  return {};
}

Result<> read_ends(const Json& json, std::size_t hosts, std::vector<PairResult>& pairs) {
  Lists lists(json, pairs.size());
  std::vector<bool> has_end(2 * pairs.size());
  for (const auto& [name, end] : {std::pair{"a", &PairResult::a}, std::pair{"b", &PairResult::b}}) {
    const std::size_t offset = end == &PairResult::a ? 0 : pairs.size();
    lists.each(name, [&](std::size_t at, const Json& value) {
      has_end[offset + at] = true;
      return take_index(value, hosts, pairs[at].*end);
    });
  }
  if (std::ranges::find(has_end, false) != has_end.end() && lists.finish()) {
    return malformed("a, b", "each pair needs both of its hosts");
  }
  const Result<> read = lists.finish();
  return read ? check_order(pairs) : read;
}

Result<> read_pair_figures(const Json& json, std::size_t, std::vector<PairResult>& pairs) {
  Lists lists(json, pairs.size());
  for (const auto& column : kPairColumns) {
    lists.each(column.name, [&](std::size_t at, const Json& value) {
      return take_figure(value, column.may_be_negative, pairs[at].*column.figure);
    });
  }
  for (const auto& [name, family] :
       {std::pair{"ipv4", &PairResult::ipv4}, std::pair{"ipv6", &PairResult::ipv6}}) {
    lists.each(name, [&](std::size_t at, const Json& value) {
      return take_word(value, family_state_named, pairs[at].*family);
    });
  }
  return lists.finish();
}

Result<> read_ways(const Json& json, const char* object, WayResult PairResult::* way,
                   std::vector<PairResult>& pairs) {
  const auto place = json.find(object);
  if (place == json.end() || !place->is_object()) {
    return malformed(object, "wanted an object of lists");
  }
  Lists lists(*place, pairs.size());
  for (const auto& column : kWayColumns) {
    lists.each(column.name, [&](std::size_t at, const Json& value) {
      return take_figure(value, column.may_be_negative, pairs[at].*way.*column.figure);
    });
  }
  for (const auto& [name, count] :
       {std::pair{"udp_packets", &WayResult::packets}, std::pair{"udp_lost", &WayResult::lost}}) {
    lists.each(name, [&](std::size_t at, const Json& value) {
      return take_count(value, pairs[at].*way.*count);
    });
  }
  lists.each("tcp_limit", [&](std::size_t at, const Json& value) {
    return take_word(value, tcp_limit_named, (pairs[at].*way).limit);
  });
  return lists.finish();
}

Result<> read_there(const Json& json, std::size_t, std::vector<PairResult>& pairs) {
  return read_ways(json, "there", &PairResult::there, pairs);
}

Result<> read_back(const Json& json, std::size_t, std::vector<PairResult>& pairs) {
  return read_ways(json, "back", &PairResult::back, pairs);
}

Result<std::size_t> length_in(const Json& json, std::size_t hosts) {
  const auto at = json.find("count");
  const std::size_t most = hosts * (hosts - std::min<std::size_t>(hosts, 1)) / 2;
  const auto count = at == json.end() ? std::nullopt : count_in(*at);
  if (!count || *count > most) {
    return malformed("count", fmt::format("wanted at most {} pairs of {} hosts", most, hosts));
  }
  // Before any room is made: a count alone must cost nothing.
  const auto list = json.find("a");
  if (list == json.end() || !list->is_array() || list->size() != *count) {
    return malformed("a", fmt::format("wanted a list of {}", *count));
  }
  return list->size();
}

}  // namespace

Result<Measured> measured_in(const Json& document) {
  if (!document.is_object()) {
    return fail(ErrorKind::Malformed, "read preflight", "",
                "this is no JSON document, or not whole", kNextStep);
  }
  const Result<> known = check_schema(document);
  Result<Measured> head = known ? head_in(document) : std::unexpected(known.error());
  Result<Measured> whole = head ? parts_in(document, std::move(*head)) : std::move(head);
  return whole ? std::move(whole) : std::unexpected(told(std::move(whole.error())));
}

Result<Measured> measured_in_text(std::string_view text) {
  return measured_in(Json::parse(text, nullptr, false));
}

Result<std::vector<PairResult>> pairs_in(const Json& json, std::size_t hosts) {
  if (!json.is_object()) {
    return malformed("pairs", "wanted an object of lists");
  }
  TRY(const std::size_t count, length_in(json, hosts));
  std::vector<PairResult> pairs(count);
  for (const auto& read : {read_ends, read_pair_figures, read_there, read_back}) {
    TRY(read(json, hosts, pairs));
  }
  return pairs;
}

}  // namespace chokepoint::preflight
