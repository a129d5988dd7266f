#include "probe/serve/conversation.h"

#include <fmt/format.h>
#include <poll.h>

#include "base/control/fields.h"
#include "base/control/message.h"

namespace chokepoint::probe::serve {
namespace {

using control::Json;
using control::Message;
using control::Service;
using control::Services;
using control::Session;
using control::Turnstile;
using control::Type;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kBetweenRequests{60};
constexpr seconds kAnswer{10};
constexpr seconds kLongestQueue{3600};
constexpr milliseconds kAskAgain{50};
constexpr std::size_t kLongestKind = 64;

struct Asked {
  std::string kind;
  const Json& parameters;
  bool share = false;
};

Result<Asked> read_request(const Message& message) {
  if (message.type != Type::Request) {
    return fail(ErrorKind::Malformed, "read message", "",
                fmt::format("a {} came where a request was expected", name_of(message.type)));
  }
  control::Fields in(message.body, "request");
  const std::string kind = in.text("kind", kLongestKind);
  const Json& parameters = in.object("parameters");
  const auto share = parameters.find("share");
  return in.finish(Asked{.kind = kind,
                         .parameters = parameters,
                         .share = share != parameters.end() && *share == true});
}

Result<Service*> service_for(const Services& services, const std::string& kind) {
  for (const auto& service : services) {
    if (service->kind() == kind) {
      return service.get();
    }
  }
  return fail(ErrorKind::Unsupported, "", kind, "this server offers no such test",
              "run the same version of chokepoint at both ends");
}

// Still there and waiting, as far as the connection tells.
Result<> still_waiting(Session& session) {
  TRY(const std::optional<Message> said, session.channel().poll());
  return said ? fail(ErrorKind::Interrupted, "wait", session.channel().peer(), "it gave up")
              : Result<>{};
}

Result<> wait_for_turn(Session& session, Turnstile& turnstile, Turnstile::Turn& turn) {
  const net::Patience patience = session.patience(kLongestQueue);
  std::string told;
  while (true) {
    const Result<> taken = turn.take();
    if (taken || turnstile.exclusive() || patience.over()) {
      return taken;
    }
    if (taken.error().reason != told) {
      told = taken.error().reason;
      const Message queued{Type::Queued, control::body_of(taken.error())};
      if (const Result<> sent = session.channel().send(queued, session.patience(kAnswer)); !sent) {
        return sent;
      }
    }
    const Result<> waited = net::wait_for(session.channel().descriptor(), POLLIN,
                                          patience.at_most(kAskAgain), "wait", "turn");
    if (!waited && waited.error().kind == ErrorKind::Interrupted) {
      return waited;
    }
    if (const Result<> there = still_waiting(session); !there) {
      return there;
    }
  }
}

Result<Json> perform(Session& session, const Services& services, Turnstile& turnstile,
                     const Asked& asked) {
  TRY(Service * service, service_for(services, asked.kind));
  TRY(const control::Weight weight, service->check(asked.parameters, session.limits()));
  if (weight == control::Weight::None) {
    return service->serve(session, asked.parameters);
  }
  Turnstile::Turn turn(turnstile,
                       {.weight = weight,
                        .share = asked.share,
                        .who = fmt::format("{} by {}", asked.kind, session.peer().address.text()),
                        .owner = session.client().host});
  TRY(wait_for_turn(session, turnstile, turn));
  return service->serve(session, asked.parameters);
}

// Whether the conversation goes on.
bool answer(Session& session, const Services& services, Turnstile& turnstile, const Log& log,
            const Message& message) {
  const Result<Asked> asked = read_request(message);
  const Result<Json> result =
      asked ? perform(session, services, turnstile, *asked) : std::unexpected(asked.error());
  log(fmt::format("{}: {}: {}", session.peer().address.text(), asked ? asked->kind : "request",
                  result ? "done" : describe(result.error())));
  const Message said = result ? Message{Type::Result, *result} : control::failed(result.error());
  return session.channel().send(said, session.patience(kAnswer)).has_value() && asked;
}

}  // namespace

void converse(Session& session, const Services& services, Turnstile& turnstile, const Log& log) {
  while (true) {
    const Result<Message> message = session.channel().receive(session.patience(kBetweenRequests));
    if (!message && message.error().kind == ErrorKind::Malformed) {
      // The client may still listen, so it learns why it is left.
      std::ignore =
          session.channel().send(control::failed(message.error()), session.patience(kAnswer));
    }
    if (!message || message->type == Type::Bye ||
        !answer(session, services, turnstile, log, *message)) {
      return;
    }
  }
}

}  // namespace chokepoint::probe::serve
