#include "base/control/message.h"
#include "preflight/lead/answer.h"
#include "preflight/lead/bounds.h"
#include "preflight/lead/readings.h"

namespace chokepoint::preflight::lead {
namespace {

using checks::Status;
using control::Json;

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

}  // namespace

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

}  // namespace chokepoint::preflight::lead
