#include "probe/collective/rendezvous/member.h"

#include <fmt/format.h>

#include "base/control/fields.h"
#include "base/control/message.h"
#include "base/net/socket.h"
#include "probe/collective/hex.h"
#include "probe/collective/rendezvous/member_service.h"

namespace chokepoint::probe::collective {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using net::Patience;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr hours kLongestWait{20};
constexpr milliseconds kAgain{100};
constexpr seconds kSend{10};
constexpr seconds kLastWords{1};
// An answer comes this much later than it was due, at most.
constexpr seconds kLate{10};

// Others meet there, who may have a key, or something else listens: the next port may be the right
// one, where there is one.
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
      : options_(options), patience_(Patience::of(options.timeout, options.interrupt)) {}

  // A client that was told Ready.
  Result<Client> run() {
    while (true) {
      for (int i = 0; i < options_.ports && options_.meeting.port + i <= UINT16_MAX; ++i) {
        Result<Client> client = try_port(static_cast<std::uint16_t>(options_.meeting.port + i));
        if (client || !goes_on_) {
          return client;
        }
        note(client.error());
      }
      const Result<> waited =
          net::wait_for(-1, 0, patience_.at_most(kAgain), "meet", options_.meeting.host);
      if (!waited && waited.error().kind == ErrorKind::Interrupted) {
        return std::unexpected(waited.error());
      }
      if (patience_.over()) {
        return nobody();
      }
    }
  }

 private:
  Result<Client> try_port(std::uint16_t port) {
    control::ClientOptions wanted;
    wanted.peer = {options_.meeting.host, port};
    wanted.key = options_.key;
    wanted.own = {options_.who.program, options_.who.host};
    // Many small words, each waited for.
    wanted.socket.no_delay = true;
    Result<Client> client = Client::connect(wanted, patience_);
    if (!client) {
      goes_on_ = is_elsewhere(client.error(), options_.ports) && !is_gone(client.error());
      return goes_on_ || !is_gone(client.error()) ? std::move(client) : gone();
    }
    // From here on it is the meeting that waits for the others, and tells who did not come.
    const Result<Json> ready =
        client->request(std::string(kRankKind), body_of(options_.who),
                        Patience::of(kLongestWait, options_.interrupt), [](const std::string&) {});
    if (!ready) {
      goes_on_ = ready.error().kind == ErrorKind::NotFound;
      return std::unexpected(ready.error());
    }
    return client;
  }

  // Who starts a rank opens the one port before.
  bool is_gone(const Error& error) const {
    return options_.ports == 1 && error.kind == ErrorKind::Refused;
  }

  std::unexpected<Error> gone() const {
    return fail(ErrorKind::Refused, "", place_of(options_), "nobody meets there any more",
                "has the command ended that started this rank, or does a firewall refuse it?");
  }

  // What is wrong at the likeliest port tells more than that others are closed; and what ends with
  // all patience tells nothing.
  void note(const Error& error) {
    if (!last_ || (error.kind != ErrorKind::Refused && !patience_.over())) {
      last_ = error;
    }
  }

  std::unexpected<Error> nobody() const {
    return fail(ErrorKind::Timeout, "", place_of(options_),
                fmt::format("no meeting of this job's ranks within {} s; last: {}",
                            options_.timeout.count(), last_ ? last_->reason : "nothing"),
                "is rank 0 started there, and does a firewall let these ports pass?");
  }

  const MemberOptions& options_;
  Patience patience_;
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
                                Patience::of(kSend, options_.interrupt));
}

Result<std::string> Member::ask(const std::string& key, bool take, std::chrono::nanoseconds wait) {
  const std::lock_guard lock(reading_);
  const auto wait_ms = std::chrono::duration_cast<milliseconds>(wait).count();
  const Result<> sent =
      client_.channel().send({Type::Note, {{"key", key}, {"take", take}, {"wait_ms", wait_ms}}},
                             Patience::of(kSend, options_.interrupt));
  TRY(const Message answer,
      sent ? client_.channel().receive(Patience::of(wait + kLate, options_.interrupt))
           : std::unexpected(sent.error()));
  if (answer.type == Type::Failed) {
    heard_ = control::error_in(answer.body, client_.channel().peer());
    return chokepoint::fail(*heard_);
  }
  if (answer.type != Type::Note) {
    return chokepoint::fail(ErrorKind::Malformed, "receive", client_.channel().peer(),
                            "another message came than a value");
  }
  control::Fields in(answer.body, "value");
  const std::optional<std::string> value = from_hex(in.text("value", 2 * Hub::kLongestValue));
  const Result<bool> whole = in.finish(value.has_value());
  if (!whole || !*whole) {
    return chokepoint::fail(ErrorKind::Malformed, "read message", key, "no hexadecimal digits");
  }
  return *value;
}

Result<std::string> Member::get(const std::string& key) {
  return ask(key, false, options_.timeout);
}

Result<std::string> Member::take(const std::string& key) { return ask(key, true, kLongestWait); }

void Member::fail(const Error& error) {
  std::ignore = client_.channel().send(control::failed(error), Patience::of(kLastWords));
}

void Member::bye() { client_.bye(); }

std::optional<Error> Member::last_words() {
  const std::unique_lock lock(reading_, std::try_to_lock);
  if (!lock.owns_lock() || heard_) {
    return lock.owns_lock() ? heard_ : std::nullopt;
  }
  const Result<Message> message = client_.channel().receive(Patience::of(kLastWords));
  if (!message || message->type != Type::Failed) {
    return std::nullopt;
  }
  heard_ = control::error_in(message->body, "");
  return heard_;
}

}  // namespace chokepoint::probe::collective
