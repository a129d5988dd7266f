#include "probe/collective/rendezvous/member_service.h"

#include <poll.h>
#include <sys/socket.h>

#include "base/control/fields.h"
#include "base/control/message.h"
#include "base/net/socket.h"
#include "probe/collective/hex.h"
#include "probe/collective/order.h"

namespace chokepoint::probe::collective {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The conductor's and each rank's own deadlines are shorter.
constexpr hours kLongestService{24};
constexpr seconds kAnswer{10};
constexpr seconds kLastWord{1};
constexpr std::size_t kLongestName = 255;
// A value's digits and what is around them.
constexpr std::size_t kMostBody = 2 * Hub::kLongestValue + 1024;

class Host {
 public:
  Host(Session& session, Hub& hub, int rank) : session_(session), hub_(hub), rank_(rank) {}

  Result<Json> run() {
    session_.channel().allow(kMostBody);
    std::ignore = net::apply({.no_delay = true}, session_.channel().descriptor(),
                             session_.peer().address.family());
    const auto later = Hub::Clock::now() + kLongestService;
    const Result<> all = hub_.await_all(later, [&] { return still_there(); });
    const Result<> ready = all ? say({Type::Ready}) : all;
    if (!ready) {
      return give_up(ready.error());
    }
    while (true) {
      const Result<Message> message =
          session_.channel().receive(session_.patience(kLongestService));
      if (!message) {
        return give_up(message.error());
      }
      if (message->type == Type::Bye) {
        hub_.leave(rank_, true);
        return Json::object();
      }
      if (const Result<> done = answer(*message); !done) {
        return give_up(done.error());
      }
    }
  }

 private:
  Result<> say(const Message& message) {
    return session_.channel().send(message, net::Patience::of(kAnswer));
  }

  // Without reading: what it says next is not for who waits for another.
  Result<> still_there() const {
    pollfd watched{session_.channel().descriptor(), POLLRDHUP, 0};
    ::poll(&watched, 1, 0);
    return watched.revents == 0 ? Result<>{}
                                : fail(ErrorKind::Refused, "wait", session_.channel().peer(),
                                       "it closed the connection");
  }

  Result<> answer(const Message& message) {
    if (message.type == Type::Report) {
      return set(message.body);
    }
    if (message.type == Type::Note) {
      return get(message.body);
    }
    if (message.type == Type::Failed) {
      Error error = control::error_in(message.body, "");
      error.subject.erase(0, error.subject.starts_with(" says: ") ? 7 : 0);
      hub_.fail({.rank = rank_, .error = std::move(error)});
      return fail(ErrorKind::Refused, "rank", session_.channel().peer(), "it failed");
    }
    return fail(ErrorKind::Malformed, "read message", session_.channel().peer(),
                "it came where none was expected");
  }

  Result<> set(const Json& body) {
    control::Fields in(body, "value");
    const std::string key = in.text("key", Hub::kLongestKey);
    const std::optional<std::string> value = from_hex(in.text("value", 2 * Hub::kLongestValue));
    const Result<bool> whole = in.finish(value.has_value());
    if (!whole || !*whole) {
      return whole ? fail(ErrorKind::Malformed, "read message", key, "no hexadecimal digits")
                   : std::unexpected(whole.error());
    }
    return hub_.set(key, *value);
  }

  Result<> get(const Json& body) {
    control::Fields in(body, "request");
    const std::string key = in.text("key", Hub::kLongestKey);
    const bool takes = in.boolean("take");
    const milliseconds wait(in.integer(
        "wait_ms", 0, std::chrono::duration_cast<milliseconds>(kLongestService).count()));
    TRY(in.finish(true));
    const auto deadline = Hub::Clock::now() + wait;
    const Hub::StillWanted wanted = [&] { return still_there(); };
    const Result<std::string> value =
        takes ? hub_.take(key, deadline, wanted) : hub_.get(key, deadline, wanted);
    if (value) {
      return say({Type::Note, {{"value", to_hex(*value)}}});
    }
    const bool late = value.error().kind == ErrorKind::Timeout && !hub_.failure();
    return late ? say(control::failed(value.error())) : std::unexpected(value.error());
  }

  // Tells the others of a rank that is gone, or this one of another that failed.
  Result<Json> give_up(const Error& error) {
    const std::optional<Error> failure = hub_.failure();
    if (!failure && error.kind == ErrorKind::Malformed) {
      hub_.fail({.rank = rank_, .error = error});
    } else if (!failure && error.kind != ErrorKind::Interrupted) {
      hub_.leave(rank_, false);
    } else if (failure) {
      std::ignore =
          session_.channel().send(control::failed(*failure), net::Patience::of(kLastWord));
    }
    // The rank's supervisor looks for this end alone.
    shutdown(session_.channel().descriptor(), SHUT_WR);
    return std::unexpected(error);
  }

  Session& session_;
  Hub& hub_;
  int rank_;
};

}  // namespace

Json body_of(const Newcomer& newcomer) {
  return {{"job", newcomer.job},
          {"rank", newcomer.rank},
          {"ranks", newcomer.ranks},
          {"host", newcomer.host},
          {"program", newcomer.program}};
}

Result<Newcomer> newcomer_in(const Json& body) {
  control::Fields in(body, "rank");
  Newcomer newcomer{.job = in.text("job", kLongestName),
                    .rank = static_cast<int>(in.integer("rank", 0, kMostRanks - 1)),
                    .ranks = static_cast<int>(in.integer("ranks", 1, kMostRanks)),
                    .host = in.text("host", kLongestName),
                    .program = in.text("program", kLongestName)};
  return in.finish(std::move(newcomer));
}

Result<control::Weight> MemberService::check(const Json& parameters,
                                             const control::Limits& /*limits*/) const {
  const Result<Newcomer> newcomer = newcomer_in(parameters);
  return newcomer ? Result<control::Weight>(control::Weight::Light)
                  : std::unexpected(newcomer.error());
}

Result<Json> MemberService::serve(Session& session, const Json& parameters) {
  const Result<Newcomer> newcomer = newcomer_in(parameters);
  TRY(newcomer ? hub_.enter(*newcomer) : std::unexpected(newcomer.error()));
  return Host(session, hub_, newcomer->rank).run();
}

}  // namespace chokepoint::probe::collective
