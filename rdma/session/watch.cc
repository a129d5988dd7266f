#include "rdma/session/watch.h"

#include <fmt/format.h>
#include <poll.h>

#include "base/control/message.h"

namespace chokepoint::rdma::session {
namespace {

using control::Json;
using control::Message;
using control::Type;
using net::Patience;
using std::chrono::milliseconds;

// How long the peer may take to say why it left us alone.
constexpr milliseconds kExplanation{500};

bool readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return fd >= 0 && poll(&watched, 1, 0) > 0;
}

bool is_early(const Json& stop) {
  const auto at = stop.find("early");
  return at != stop.end() && *at == true;
}

Error gone(Error error) {
  error.operation.clear();
  error.reason = "the peer has gone: " + error.reason;
  error.next_step = "its own words, or its system's log, say why";
  return error;
}

}  // namespace

Result<> Watch::understand(Message message) {
  switch (message.type) {
    case Type::Stop:
      if (stop_) {
        return fail(ErrorKind::Malformed, "receive", channel_.peer(), "it stopped a test twice");
      }
      stop_ = std::move(message.body);
      enough_ = follows_ || is_early(*stop_);
      return {};
    case Type::Failed:
    case Type::Refused:
      explained_ = true;
      return fail(control::error_in(message.body, channel_.peer()));
    case Type::Bye:
      return fail(ErrorKind::Refused, "", channel_.peer(), "the peer has gone: it said goodbye");
    default:
      return fail(ErrorKind::Malformed, "receive", channel_.peer(),
                  fmt::format("a {} came in the middle of a test", name_of(message.type)));
  }
}

Result<> Watch::hear() {
  while (true) {
    Result<std::optional<Message>> message = channel_.poll();
    if (!message) {
      return fail(gone(message.error()));
    }
    if (!*message) {
      return {};
    }
    if (const Result<> understood = understand(std::move(**message)); !understood) {
      return understood;
    }
  }
}

Result<bool> Watch::go_on() {
  TRY(hear());
  interrupted_ = interrupted_ || readable(interrupt_);
  if (interrupted_ || enough_) {
    return false;
  }
  if (patience_.over()) {
    return fail(ErrorKind::Timeout, "", channel_.peer(), "the test did not come to its end in time",
                "give fewer --iterations, or --time");
  }
  return true;
}

Result<Json> Watch::peer_stopped(const Patience& patience) {
  if (stop_) {
    return *stop_;
  }
  TRY(Message message, channel_.expect(Type::Stop, patience));
  stop_ = std::move(message.body);
  return *stop_;
}

Error Watch::reason(const Error& own) {
  if (explained_) {
    return own;
  }
  const Patience patience = Patience::of(kExplanation);
  while (!patience.over()) {
    const Result<> waited =
        net::wait_for(channel_.descriptor(), POLLIN, patience, "wait", channel_.peer());
    if (!waited) {
      break;
    }
    if (const Result<> heard = hear(); !heard) {
      return heard.error();
    }
  }
  return own;
}

}  // namespace chokepoint::rdma::session
