// Several live interfaces, each read by a thread of its own, merged by time by whoever calls
// read(). The threads start with the first read() and end with the object.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/source/listened_to.h"
#include "capture/source/live.h"

namespace chokepoint::capture::source {

std::unique_ptr<LiveSource> several_live(std::vector<ListenedTo> listened_to,
                                         std::vector<std::string> remarks);

}  // namespace chokepoint::capture::source
