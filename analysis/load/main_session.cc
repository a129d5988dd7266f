#include "analysis/load/main_session.h"

#include <algorithm>

namespace chokepoint::analysis {

const record::Session* main_session(const std::vector<record::Session>& sessions) {
  const auto watched =
      std::ranges::find_if(sessions.rbegin(), sessions.rend(),
                           [](const record::Session& session) { return !session.command.empty(); });
  if (watched != sessions.rend()) {
    return &*watched;
  }
  return sessions.empty() ? nullptr : &sessions.back();
}

}  // namespace chokepoint::analysis
