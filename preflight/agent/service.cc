#include "preflight/agent/service.h"

#include <fmt/format.h>

#include "base/cli/utf8.h"
#include "preflight/agent/conversation.h"
#include "preflight/agent/facts.h"

namespace chokepoint::preflight {
namespace {

using control::Json;
using control::Session;

// A coordinator that is started again at once finds its former self leaving.
constexpr std::chrono::milliseconds kLeaving{2500};

constexpr std::size_t kLongestId = 64;

Floor::Coordinator coordinator_of(const Session& session, const Json& parameters) {
  const auto id = parameters.find("preflight");
  const bool has_id = id != parameters.end() && id->is_string() &&
                      id->get_ref<const std::string&>().size() <= kLongestId;
  return {.who = fmt::format("{} ({})", cli::printable(session.client().host),
                             session.peer().address.unmapped().text()),
          .preflight = has_id ? id->get<std::string>() : std::string(),
          .called = session.local().address.unmapped().text()};
}

}  // namespace

Result<control::Weight> PreflightService::check(const Json& /*parameters*/,
                                                const control::Limits& /*limits*/) const {
  return control::Weight::None;
}

Result<Json> PreflightService::serve(Session& session, const Json& parameters) {
  const Result<Floor::Place> place = floor_.take(coordinator_of(session, parameters), kLeaving);
  if (!place) {
    return std::unexpected(place.error());
  }
  Conversation conversation(session, program_, lookups_);
  HostFacts facts = read_facts(session.surroundings().root);
  facts.wall_less_monotonic_ms = wall_less_monotonic_ms(session.surroundings().clock);
  return conversation.hold(facts);
}

}  // namespace chokepoint::preflight
