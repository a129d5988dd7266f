#include "preflight/agent/service.h"

#include <fmt/format.h>

#include "base/cli/text.h"
#include "preflight/agent/conversation.h"
#include "preflight/agent/facts.h"

namespace chokepoint::preflight {
namespace {

using control::Json;
using control::Session;

// A coordinator that is started again at once finds its former self leaving.
constexpr std::chrono::milliseconds kLeaving{2500};

constexpr std::size_t kLongestId = 64;

CoordinatorLock::Coordinator coordinator_of(const Session& session, const Json& parameters) {
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
  TRY([[maybe_unused]] const CoordinatorLock::Place held,
      lock_.take(coordinator_of(session, parameters), kLeaving));
  Conversation conversation(session, program_, lookups_);
  HostFacts facts = read_facts(session.surroundings().root);
  facts.wall_less_monotonic_ms = wall_less_monotonic_ms(session.surroundings().clock);
  return conversation.hold(facts);
}

}  // namespace chokepoint::preflight
