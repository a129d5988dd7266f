// Who writes a record, read under the given root, and how a later boot's clock joins an earlier
// one's. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/record/entities.h"
#include "base/sys/clock.h"
#include "base/sys/root.h"

namespace chokepoint::record {

// The command line as a shell would take it.
std::string shell_line(std::span<const std::string> arguments);

// Fills host, boot and kernel from the root, the start from the clock, and the shift so that times
// go on after those of the sessions before.
Session begin_session(Session session, const std::vector<Session>& before, const sys::Root& root,
                      const sys::Clock& clock);

}  // namespace chokepoint::record
