#include "base/control/wire_error.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace chokepoint::control {
namespace {

constexpr std::size_t kLongestWords = 500;

constexpr std::array<std::pair<ErrorKind, std::string_view>, 14> kKinds{{
    {ErrorKind::Usage, "usage"},
    {ErrorKind::NotFound, "not_found"},
    {ErrorKind::Permission, "permission"},
    {ErrorKind::Refused, "refused"},
    {ErrorKind::Timeout, "timeout"},
    {ErrorKind::Unreachable, "unreachable"},
    {ErrorKind::Exhausted, "exhausted"},
    {ErrorKind::ReadOnly, "read_only"},
    {ErrorKind::Busy, "busy"},
    {ErrorKind::Unsupported, "unsupported"},
    {ErrorKind::Malformed, "malformed"},
    {ErrorKind::Newer, "newer"},
    {ErrorKind::Interrupted, "interrupted"},
    {ErrorKind::Io, "io"},
}};

std::string_view name_of(ErrorKind kind) {
  const auto* at = std::ranges::find(kKinds, kind, &std::pair<ErrorKind, std::string_view>::first);
  return at == kKinds.end() ? "io" : at->second;
}

ErrorKind kind_named(std::string_view name) {
  const auto* at = std::ranges::find(kKinds, name, &std::pair<ErrorKind, std::string_view>::second);
  return at == kKinds.end() ? ErrorKind::Io : at->first;
}

std::string words(const Json& body, const char* name) {
  const auto at = body.find(name);
  return at != body.end() && at->is_string()
             ? at->get_ref<const std::string&>().substr(0, kLongestWords)
             : std::string();
}

}  // namespace

Json body_of(const Error& error) {
  return {{"kind", name_of(error.kind)},
          {"operation", error.operation},
          {"subject", error.subject},
          {"reason", error.reason},
          {"next_step", error.next_step}};
}

Error error_in(const Json& body, std::string_view peer) {
  Error error{.kind = kind_named(words(body, "kind")),
              .operation = words(body, "operation"),
              .subject = words(body, "subject"),
              .reason = words(body, "reason"),
              .next_step = words(body, "next_step")};
  // Only this side's own user can interrupt this side.
  error.kind = error.kind == ErrorKind::Interrupted ? ErrorKind::Refused : error.kind;
  error.subject =
      error.subject.empty() ? std::string(peer) : std::string(peer) + " says: " + error.subject;
  error.reason = error.reason.empty() ? "it gave no reason" : error.reason;
  return error;
}

}  // namespace chokepoint::control
