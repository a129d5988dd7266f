// Checks stand in base, because doctor is not alone in judging a host.
#pragma once

#include "base/checks/check.h"

namespace chokepoint::probe {

using checks::Check;
using checks::Checks;
using checks::name_of;
using checks::Status;
using checks::worst;

}  // namespace chokepoint::probe
