// What is known about the path over one address family once both ends, or this end alone, have
// surveyed it. look() finds that out: it blocks up to its deadline and runs on one thread per
// family.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/control/client.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "probe/path/exchange.h"
#include "probe/path/families.h"
#include "probe/path/survey.h"
#include "probe/path/trace_analysis.h"

namespace chokepoint::probe::path {

struct FamilyOutcome {
  FamilyFacts facts = {};
  std::optional<Survey> forward = {};
  std::optional<Survey> reverse = {};
  std::string no_forward = {};  // why there is no forward survey
  std::string no_reverse = {};
  bool udp_passes = true;  // between the two ends; always true without a peer
  Symmetry symmetry = {};
};

// Opens the control connection over this family; the error is the reason why there is no peer.
using Connect = std::function<Result<control::Client>(net::Family family)>;

struct LookOptions {
  Parameters parameters = {};
  SurveyOptions survey = {};  // of this end
  bool alone = false;         // without a peer
};

FamilyOutcome look(const FamilyFacts& facts, const LookOptions& options, const Connect& connect,
                   const sys::Clock& clock, std::int64_t until_ns);

}  // namespace chokepoint::probe::path
