// Makes a detail of a half when it is first needed, and accounts for it.
#pragma once

#include <memory>

#include "capture/flow/budget.h"

namespace chokepoint::capture::flow {

template <class Detail>
Detail& made(std::unique_ptr<Detail>& detail, Budget& budget) {
  if (!detail) {
    detail = std::make_unique<Detail>(budget);
  }
  return *detail;
}

}  // namespace chokepoint::capture::flow
