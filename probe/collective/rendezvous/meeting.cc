#include "probe/collective/rendezvous/meeting.h"

#include <poll.h>
#include <sys/socket.h>

#include "base/control/channel.h"
#include "base/control/message.h"
#include "base/json/codec.h"
#include "base/net/socket.h"
#include "base/sys/thread.h"
#include "probe/collective/communicator.h"
#include "probe/collective/order.h"

template <>
struct chokepoint::Fields<chokepoint::probe::collective::JoiningRank> {
  using N = probe::collective::JoiningRank;
  static constexpr std::size_t kMaxName = 255;
  static constexpr FieldList kList{
      field("job", &N::job, "the same for all ranks of the job").up_to_bytes(kMaxName),
      field("rank", &N::rank, "counts from 0").between(0, probe::collective::kMaxRanks - 1),
      field("ranks", &N::ranks, "of the job").between(1, probe::collective::kMaxRanks),
      field("host", &N::host, "its name").up_to_bytes(kMaxName),
      field("program", &N::program, "its name and version").up_to_bytes(kMaxName)};
};

namespace chokepoint::probe::collective {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using std::chrono::hours;
using std::chrono::milliseconds;

// The conductor's and each rank's own deadlines are shorter.
constexpr hours kMaxService{24};
// A value's digits and the JSON around them.
constexpr std::size_t kMaxBody = 2 * Hub::kMaxValueLength + 1024;

class RankSession {
 public:
  RankSession(Session& session, Hub& hub, int rank) : session_(session), hub_(hub), rank_(rank) {}

  Result<Json> run() {
    session_.channel().allow(kMaxBody);
    std::ignore = net::apply({.no_delay = true}, session_.channel().descriptor(),
                             session_.peer().address.family());
    const auto later = Hub::Clock::now() + kMaxService;
    const Result<> all = hub_.await_all(later, [&] { return still_there(); });
    const Result<> ready = all ? send({Type::Ready}) : all;
    if (!ready) {
      return give_up(ready.error());
    }
    while (true) {
      const Result<Message> message = session_.channel().receive(session_.deadline(kMaxService));
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
  Result<> send(const Message& message) {
    return session_.channel().send(message, net::Deadline::of(control::kAnswer));
  }

  // Reads nothing: the next message is for run().
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
    TRY(const std::string key, key_in(body));
    TRY(const std::string value, value_in(body));
    return hub_.set(key, value);
  }

  Result<> get(const Json& body) {
    TRY(const std::string key, key_in(body));
    TRY(const bool takes, json::field_in<bool>(body, "take", "request"));
    TRY(const milliseconds wait,
        json::field_in<milliseconds>(body, "wait_ms", "request",
                                     {.least = 0, .most = milliseconds(kMaxService).count()}));
    const auto deadline = Hub::Clock::now() + wait;
    const Hub::StillWanted wanted = [&] { return still_there(); };
    const Result<std::string> value =
        takes ? hub_.take(key, deadline, wanted) : hub_.get(key, deadline, wanted);
    if (value) {
      return send({Type::Note, {{"value", to_hex(*value)}}});
    }
    const bool late = value.error().kind == ErrorKind::Timeout && !hub_.failure();
    return late ? send(control::failed(value.error())) : std::unexpected(value.error());
  }

  // Reports this rank as gone, or another rank's failure to this one.
  Result<Json> give_up(const Error& error) {
    const std::optional<Error> failure = hub_.failure();
    if (!failure && error.kind == ErrorKind::Malformed) {
      hub_.fail({.rank = rank_, .error = error});
    } else if (!failure && error.kind != ErrorKind::Interrupted) {
      hub_.leave(rank_, false);
    } else if (failure) {
      std::ignore =
          session_.channel().send(control::failed(*failure), net::Deadline::of(kLastMessageTime));
    }
    // The rank's supervisor only polls for this (POLLRDHUP).
    shutdown(session_.channel().descriptor(), SHUT_WR);
    return std::unexpected(error);
  }

  static Result<std::string> key_in(const Json& body) {
    return json::field_in<std::string>(body, "key", "request", {.longest = Hub::kMaxKeyLength});
  }

  Session& session_;
  Hub& hub_;
  int rank_;
};

// One object for all sessions; serve() runs on a session's thread. The hub outlives it.
class MemberService final : public control::Service {
 public:
  explicit MemberService(Hub& hub) : hub_(hub) {}

  std::string_view kind() const override { return kRankKind; }

  Result<control::Demand> check(const Json& parameters,
                                const control::Limits& /*limits*/) const override {
    TRY(json::from_json<JoiningRank>(parameters, "rank"));
    return control::Weight::Light;
  }

  Result<Json> serve(Session& session, const Json& parameters) override {
    TRY(const auto rank_to_join, json::from_json<JoiningRank>(parameters, "rank"));
    TRY(hub_.enter(rank_to_join));
    return RankSession(session, hub_, rank_to_join.rank).run();
  }

 private:
  Hub& hub_;
};

constexpr int kBacklog = 1024;
constexpr std::uint16_t kHighestPort = 65535;
// Connections without a request; they are closed after a minute.
constexpr std::size_t kMaxUnjoined = 256;

using Listeners = std::vector<sys::Descriptor>;

net::Endpoint endpoint(net::Family family, bool loopback, std::uint16_t port) {
  const std::string_view text = family == net::Family::Ipv4 ? (loopback ? "127.0.0.1" : "0.0.0.0")
                                                            : (loopback ? "::1" : "::");
  return {net::Address::parse(text).value(), port};
}

// Both families, or the one that this host has.
Result<Listeners> listen_on(std::uint16_t port, bool loopback) {
  Listeners listeners;
  std::optional<Error> problem;
  for (const net::Family family : {net::Family::Ipv4, net::Family::Ipv6}) {
    Result<sys::Descriptor> fd =
        net::listen(endpoint(family, loopback, port), kBacklog, net::SocketOptions{});
    if (!fd) {
      // With one family taken by another program, half of the ranks might connect to that.
      if (fd.error().kind == ErrorKind::Busy) {
        return std::unexpected(fd.error());
      }
      problem = fd.error();
      continue;
    }
    if (const Result<net::Endpoint> local = net::local_endpoint(fd->get()); local) {
      port = local->port;
    }
    listeners.push_back(std::move(*fd));
  }
  return listeners.empty() ? std::unexpected(*problem) : Result<Listeners>(std::move(listeners));
}

Result<Listeners> listen_near(std::uint16_t first, bool loopback) {
  Result<Listeners> listeners = listen_on(first, loopback);
  for (int i = 1; !listeners && i < kPorts && first + i <= kHighestPort; ++i) {
    if (listeners.error().kind != ErrorKind::Busy) {
      break;
    }
    listeners =
        listen_on(first == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(first + i), loopback);
  }
  return listeners;
}

control::Services rank_service(Hub& hub) {
  control::Services services;
  services.push_back(std::make_unique<MemberService>(hub));
  return services;
}

}  // namespace

Json body_of(const JoiningRank& rank_to_join) { return json::to_json(rank_to_join); }

Result<std::string> value_in(const Json& body) {
  TRY(const auto digits,
      json::field_in<std::string>(body, "value", "message", {.longest = 2 * Hub::kMaxValueLength}));
  std::optional<std::string> value = from_hex(digits);
  if (!value) {
    return fail(ErrorKind::Malformed, "read message", "value", "no hexadecimal digits");
  }
  return *std::move(value);
}

Meeting::Meeting(const MeetingOptions& options, Hub& hub, const sys::Clock& clock)
    : hub_(hub),
      services_(rank_service(hub)),
      server_({.own = options.own,
               .keys = options.key,
               .most_clients = kMaxUnjoined + static_cast<std::size_t>(hub.ranks())},
              {.clock = clock, .root = sys::Root("/"), .limits = {}, .stop = hub.alarm()},
              services_, [](const std::string&) {}) {}

Result<std::unique_ptr<Meeting>> Meeting::open(const MeetingOptions& options, Hub& hub,
                                               const sys::Clock& clock) {
  TRY(Listeners listeners, listen_near(options.first_port, options.loopback));
  TRY(const net::Endpoint local, net::local_endpoint(listeners.front().get()));
  std::unique_ptr<Meeting> meeting(new Meeting(options, hub, clock));
  meeting->port_ = local.port;
  TRY(meeting->thread_,
      sys::start_thread("meeting", [raw = meeting.get(), at = std::move(listeners)]() mutable {
        std::ignore = raw->server_.run(std::move(at));
      }));
  return meeting;
}

Meeting::~Meeting() {
  hub_.finish();
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace chokepoint::probe::collective
