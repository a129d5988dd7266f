// A path looked at from both ends at once, as the client sees it: what it finds on the way there,
// and what the server reports of the way back. Owns the control connection meanwhile; blocks up to
// its deadline; one thread a family.
#pragma once

#include <optional>

#include "base/control/client.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "probe/path/exchange.h"
#include "probe/path/survey.h"

namespace chokepoint::probe::path {

struct BothEnds {
  Survey forward = {};
  std::optional<Survey> reverse = {};
  std::optional<Error> trouble = {};  // why there is no reverse
  bool udp_passes = true;
};

// Nothing but an error where not even the way there could be looked at. `forward` is what the
// client asks of itself; its port is used where UDP does not pass to the server's own.
Result<BothEnds> survey_both(control::Client& client, const Parameters& parameters,
                             const SurveyOptions& forward, const sys::Clock& clock,
                             std::int64_t until_ns);

}  // namespace chokepoint::probe::path
