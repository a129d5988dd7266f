#include "base/control/until_stopped.h"

#include <optional>
#include <string>

#include "base/sys/descriptor.h"

namespace chokepoint::control {

Result<> until_stopped(Session& session, std::string_view kind, const net::Patience& patience,
                       const std::function<Result<>()>& work) {
  const std::string& peer = session.channel().peer();
  while (!patience.over()) {
    TRY(work());
    if (sys::is_readable(session.surroundings().stop)) {
      return fail(ErrorKind::Interrupted, kind, peer, "the server stops");
    }
    TRY(const std::optional<Message> message, session.channel().poll());
    if (message && message->type != Type::Stop) {
      return fail(ErrorKind::Malformed, kind, peer,
                  std::string(name_of(message->type)) + " came in the middle of a test");
    }
    if (message) {
      return {};
    }
  }
  return fail(ErrorKind::Timeout, kind, peer, "it did not say that it was done");
}

}  // namespace chokepoint::control
