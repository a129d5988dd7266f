#include "probe/path/outcome.h"

#include <algorithm>

#include "probe/path/router_check.h"

namespace chokepoint::probe::path {
namespace {

std::string why_no_peer(const FamilyFacts& facts, bool alone) {
  if (alone) {
    return "the peer was not asked";
  }
  if (facts.connection == Connection::Refused) {
    return "no 'chokepoint serve' runs there";
  }
  return "no 'chokepoint serve' answers there: " + facts.reason;
}

void look_alone(const LookOptions& options, const sys::Clock& clock, std::int64_t until_ns,
                FamilyOutcome& into) {
  Result<Survey> found = survey(into.facts.addresses.front(), options.survey, clock, until_ns);
  if (found) {
    into.forward = std::move(*found);
  } else {
    into.no_forward = describe(found.error());
  }
}

// The routers that addresses leave open are asked where they sit; that changes the verdict only.
Symmetry symmetry_of(const Survey& forward, const Survey& reverse, const Origin& origin,
                     const sys::Clock& clock, std::int64_t until_ns) {
  const Symmetry by_address = compare(forward.trace, reverse.trace, {});
  const Placements placements = place(by_address.routers, origin, clock, until_ns);
  return placements.empty() ? by_address : compare(forward.trace, reverse.trace, placements);
}

void take(BothEnds both, FamilyOutcome& into) {
  into.forward = std::move(both.forward);
  into.reverse = std::move(both.reverse);
  into.udp_passes = both.udp_passes;
  if (both.trouble) {
    into.no_reverse = describe(*both.trouble);
  }
}

// Whether both ends could be asked; else why not is noted.
bool look_from_both(const LookOptions& options, const Connect& connect, const sys::Clock& clock,
                    std::int64_t until_ns, FamilyOutcome& into) {
  if (options.alone || into.facts.connection != Connection::Connected) {
    into.no_reverse = why_no_peer(into.facts, options.alone);
    return false;
  }
  Result<control::Client> client = connect(into.facts.family);
  if (!client) {
    into.no_reverse = describe(client.error());
    return false;
  }
  Result<BothEnds> both = survey_both(*client, options.parameters, options.survey, clock, until_ns);
  if (!both) {
    into.no_reverse = describe(both.error());
    return false;
  }
  client->bye();
  take(std::move(*both), into);
  return true;
}

}  // namespace

FamilyOutcome look(const FamilyFacts& facts, const LookOptions& options, const Connect& connect,
                   const sys::Clock& clock, std::int64_t until_ns) {
  FamilyOutcome outcome{.facts = facts};
  if (!facts.source) {
    outcome.no_forward = facts.resolves() ? facts.reason : "the name has no such address";
    outcome.no_reverse = outcome.no_forward;
  } else if (!look_from_both(options, connect, clock, until_ns, outcome)) {
    look_alone(options, clock, until_ns, outcome);
  }
  if (outcome.forward && outcome.reverse) {
    outcome.symmetry =
        symmetry_of(*outcome.forward, *outcome.reverse, options.survey.origin, clock, until_ns);
  } else {
    outcome.symmetry.why = "the way back is not known";
  }
  return outcome;
}

}  // namespace chokepoint::probe::path
