// What is known of the path over one address family once both ends, or this one alone, have looked
// at it. Values, but for look(), which finds them out: it blocks up to its deadline, one thread a
// family.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/sys/clock.h"
#include "probe/path/both_ends.h"
#include "probe/path/families.h"
#include "probe/path/survey.h"
#include "probe/path/symmetry.h"

namespace chokepoint::probe::path {

struct FamilyOutcome {
  FamilyFacts facts = {};
  std::optional<Survey> forward = {};
  std::optional<Survey> reverse = {};
  std::string no_forward = {};  // why not, where there is none
  std::string no_reverse = {};
  bool udp_passes = true;  // to the peer's own port; nothing is known without a peer
  Symmetry symmetry = {};
};

// Opens the control connection over this family; an error is why there is no peer.
using Connect = std::function<Result<control::Client>(net::Family family)>;

struct LookOptions {
  Parameters parameters = {};
  SurveyOptions survey = {};
  bool alone = false;  // look for no peer
};

FamilyOutcome look(const FamilyFacts& facts, const LookOptions& options, const Connect& connect,
                   const sys::Clock& clock, std::int64_t until_ns);

}  // namespace chokepoint::probe::path
