// One live interface, read by whoever calls read(), without a thread of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/source/listened_to.h"
#include "capture/source/live.h"

namespace chokepoint::capture::source {

std::unique_ptr<LiveSource> single_live(ListenedTo listened_to, std::vector<std::string> remarks);

}  // namespace chokepoint::capture::source
