// A store from which a rank also takes what is meant for it alone: its next order. One thread.
#pragma once

#include <string>

#include "probe/collective/communicator.h"

namespace chokepoint::probe::collective {

class Group : public Store {
 public:
  // Waits as get() does, and removes it.
  virtual Result<std::string> take(const std::string& key) = 0;
};

}  // namespace chokepoint::probe::collective
