// An open tap and what is known of its interface, on their way from opening to reading.
#pragma once

#include "capture/source/source.h"
#include "capture/source/tap.h"

namespace chokepoint::capture::source {

struct ListenedTo {
  Tap tap;
  Interface interface;
};

}  // namespace chokepoint::capture::source
