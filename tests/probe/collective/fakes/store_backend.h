// A backend that moves data through the ranks' store: slow, small, and right; or wrong, or dead, as
// its algorithm says:
//
//   damage   the last element of rank 1's output is off by one bit
//   fail     rank 1 fails as soon as it shall run
//   vanish   rank 1's process ends without a word
//   hang     rank 1 never comes back
#pragma once

#include "probe/collective/communicator.h"

namespace chokepoint::fakes {

probe::collective::Backend store_backend(const std::string& name = "gloo");

}  // namespace chokepoint::fakes
