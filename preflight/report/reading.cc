#include "preflight/report/reading.h"

#include <fmt/format.h>

#include <limits>

#include "base/control/fields.h"
#include "preflight/report/document.h"
#include "preflight/report/host_reading.h"
#include "preflight/report/json_parts.h"
#include "preflight/report/pair_columns.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;
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

}  // namespace chokepoint::preflight
