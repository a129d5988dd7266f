#include "preflight/commands/launched_agents.h"

#include <chrono>
#include <utility>
#include <variant>

namespace chokepoint::preflight {
namespace {

constexpr std::chrono::milliseconds kLook{200};  // how often the launcher is asked meanwhile

Presence presence_after(ErrorKind kind) {
  return kind == ErrorKind::NotFound                                    ? Presence::Unresolved
         : kind == ErrorKind::Timeout || kind == ErrorKind::Unreachable ? Presence::Unreachable
                                                                        : Presence::NoAgent;
}

}  // namespace

// A host that did not come yet and that the launcher failed on.
std::optional<Event> LaunchedAgents::failed() {
  for (HostIndex host = 0; host < settled_.size(); ++host) {
    if (settled_[host]) {
      continue;
    }
    if (std::optional<Error> error = launch_.trouble(host)) {
      settled_[host] = true;
      const Presence presence = presence_after(error->kind);
      return Went{.host = host, .presence = presence, .error = std::move(*error)};
    }
  }
  return std::nullopt;
}

void LaunchedAgents::settle(Event& event) {
  if (const Came* came = std::get_if<Came>(&event)) {
    settled_[came->host] = true;
  }
  if (Went* went = std::get_if<Went>(&event)) {
    settled_[went->host] = true;
    if (std::optional<Error> trouble = launch_.trouble(went->host)) {
      went->error = std::move(*trouble);
    } else if (went->presence == Presence::Refused) {
      // What was started here has the right key: it is somebody else's that answers.
      went->error.next_step =
          "another 'chokepoint serve' listens there: end it, or give another --port";
    }
  }
}

Result<std::optional<Event>> LaunchedAgents::next(const net::Patience& patience) {
  for (;;) {
    if (std::optional<Event> event = failed()) {
      return event;
    }
    Result<std::optional<Event>> event = agents_.next(patience.at_most(kLook));
    if (event && *event) {
      settle(**event);
    }
    if (!event || *event || patience.over()) {
      return event;
    }
  }
}

}  // namespace chokepoint::preflight
