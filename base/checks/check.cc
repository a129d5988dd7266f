#include "base/checks/check.h"

#include <algorithm>

namespace chokepoint::checks {

std::string_view name_of(Status status) {
  switch (status) {
    case Status::Pass:
      return "PASS";
    case Status::Info:
      return "INFO";
    case Status::Unknown:
      return "UNKNOWN";
    case Status::Warning:
      return "WARNING";
    case Status::Critical:
      return "CRITICAL";
  }
  return "UNKNOWN";
}

Status worst(const Checks& checks) {
  Status verdict = Status::Pass;
  for (const Check& check : checks) {
    verdict = std::max(verdict, check.status);
  }
  return verdict;
}

}  // namespace chokepoint::checks
