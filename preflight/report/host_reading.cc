#include "preflight/report/host_reading.h"

#include <algorithm>
#include <array>

#include "base/control/fields.h"
#include "preflight/report/json_parts.h"
#include "preflight/report/name_answers.h"
#include "preflight/report/words.h"

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

}  // namespace

Result<std::vector<HostResult>> host_results_in(const Json& document) {
  auto hosts = each_in<HostResult>(document, "hosts", host_in);
  const auto names = document.find("names");
  if (hosts && names != document.end()) {
    TRY(read_names(*names, *hosts));
  }
  return hosts;
}

}  // namespace chokepoint::preflight
