#include "probe/collective/rendezvous/member.h"

#include <fmt/format.h>

#include "base/control/channel.h"
#include "base/control/message.h"
#include "base/net/socket.h"
#include "probe/collective/communicator.h"
#include "probe/collective/rendezvous/meeting.h"

namespace chokepoint::probe::collective {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using net::Deadline;
using std::chrono::hours;
using std::chrono::milliseconds;

constexpr hours kMaxWait{20};
constexpr milliseconds kRetryInterval{100};

// Whether to try the next port: another job, maybe with another key, or another program is at this
// one.
bool is_elsewhere(const Error& error, int ports) {
  const bool wrong_key = error.kind == ErrorKind::Usage || error.kind == ErrorKind::Permission;
  return error.kind != ErrorKind::Interrupted && (!wrong_key || ports > 1);
}

std::string place_of(const MemberOptions& options) {
  const int first = options.meeting.port;
  return options.ports > 1 ? fmt::format("{} ports {} to {}", options.meeting.host, first,
                                         first + options.ports - 1)
                           : fmt::format("{} port {}", options.meeting.host, first);
}

class Search {
 public:
  Search(const MemberOptions& options)
      : options_(options), deadline_(Deadline::of(options.timeout, options.interrupt)) {}

  // A client that has received Ready.
  Result<Client> run() {
    while (true) {
      for (int i = 0; i < options_.ports && options_.meeting.port + i <= UINT16_MAX; ++i) {
        Result<Client> client = try_port(static_cast<std::uint16_t>(options_.meeting.port + i));
        if (client || !goes_on_) {
          return client;
        }
        keep(client.error());
      }
      const Result<> waited =
          net::wait_for(-1, 0, deadline_.at_most(kRetryInterval), "meet", options_.meeting.host);
      if (!waited && waited.error().kind == ErrorKind::Interrupted) {
        return std::unexpected(waited.error());
      }
      if (deadline_.over()) {
        return not_found();
      }
    }
  }

 private:
  Result<Client> try_port(std::uint16_t port) {
    control::ClientOptions wanted;
    wanted.peer = {options_.meeting.host, port};
    wanted.key = options_.key;
    wanted.own = {options_.who.program, options_.who.host};
    // Small messages, each waited for.
    wanted.socket.no_delay = true;
    Result<Client> client = Client::connect(wanted, deadline_);
    if (!client) {
      goes_on_ = is_elsewhere(client.error(), options_.ports) && !is_gone(client.error());
      return goes_on_ || !is_gone(client.error()) ? std::move(client) : gone();
    }
    // From here on the meeting waits for the other ranks, and reports those that did not join.
    const Result<Json> ready =
        client->request(std::string(kRankKind), body_of(options_.who),
                        Deadline::of(kMaxWait, options_.interrupt), [](const std::string&) {});
    if (!ready) {
      goes_on_ = ready.error().kind == ErrorKind::NotFound;
      return std::unexpected(ready.error());
    }
    return client;
  }

  // A single port was open before the rank was started: refused means that the leader has gone.
  bool is_gone(const Error& error) const {
    return options_.ports == 1 && error.kind == ErrorKind::Refused;
  }

  std::unexpected<Error> gone() const {
    return fail(ErrorKind::Refused, "", place_of(options_), "the other ranks no longer wait there",
                "has the command ended that started this rank, or does a firewall refuse it?");
  }

  // Keeps the first error, and any that is more specific than a closed port or the end of the time.
  void keep(const Error& error) {
    if (!last_ || (error.kind != ErrorKind::Refused && !deadline_.over())) {
      last_ = error;
    }
  }

  std::unexpected<Error> not_found() const {
    return fail(ErrorKind::Timeout, "", place_of(options_),
                fmt::format("no meeting of this job's ranks within {} s; last: {}",
                            options_.timeout.count(), last_ ? last_->reason : "nothing"),
                "is rank 0 started there, and does a firewall let these ports pass?");
  }

  const MemberOptions& options_;
  Deadline deadline_;
  bool goes_on_ = true;
  std::optional<Error> last_;
};

}  // namespace

Result<std::unique_ptr<Member>> Member::join(const MemberOptions& options) {
  TRY(Client client, Search(options).run());
  return std::unique_ptr<Member>(new Member(std::move(client), options));
}

Result<> Member::set(const std::string& key, const std::string& value) {
  return client_.channel().send({Type::Report, {{"key", key}, {"value", to_hex(value)}}},
                                Deadline::of(control::kAnswer, options_.interrupt));
}

Result<std::string> Member::ask(const std::string& key, bool take, std::chrono::nanoseconds wait) {
  const std::lock_guard lock(reading_);
  const auto wait_ms = std::chrono::duration_cast<milliseconds>(wait).count();
  TRY(client_.channel().send({Type::Note, {{"key", key}, {"take", take}, {"wait_ms", wait_ms}}},
                             Deadline::of(control::kAnswer, options_.interrupt)));
  TRY(const Message answer,
      client_.channel().receive(Deadline::of(wait + control::kAnswer, options_.interrupt)));
  if (answer.type == Type::Failed) {
    failure_ = control::error_in(answer.body, client_.channel().peer());
    return chokepoint::fail(*failure_);
  }
  if (answer.type != Type::Note) {
    return chokepoint::fail(ErrorKind::Malformed, "receive", client_.channel().peer(),
                            "another message came than a value");
  }
  return value_in(answer.body);
}

Result<std::string> Member::get(const std::string& key) {
  return ask(key, false, options_.timeout);
}

Result<std::string> Member::take(const std::string& key) { return ask(key, true, kMaxWait); }

void Member::fail(const Error& error) {
  std::ignore = client_.channel().send(control::failed(error), Deadline::of(kLastMessageTime));
}

void Member::bye() { client_.bye(); }

std::optional<Error> Member::last_words() {
  const std::unique_lock lock(reading_, std::try_to_lock);
  if (!lock.owns_lock() || failure_) {
    return lock.owns_lock() ? failure_ : std::nullopt;
  }
  const Result<Message> message = client_.channel().receive(Deadline::of(kLastMessageTime));
  if (!message || message->type != Type::Failed) {
    return std::nullopt;
  }
  failure_ = control::error_in(message->body, "");
  return failure_;
}

}  // namespace chokepoint::probe::collective
