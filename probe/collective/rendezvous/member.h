// A rank's end of the meeting: finds it, joins, and from then on is the store of its group. One
// thread uses it; another may meanwhile poll descriptor() and then call last_words().
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/control/client.h"
#include "probe/collective/communicator.h"
#include "probe/collective/rendezvous/hub.h"

namespace chokepoint::probe::collective {

struct MemberOptions {
  net::HostPort meeting = {};  // its first port
  int ports = 1;               // how many from the first on may be it
  std::optional<control::Secret> key = {};
  JoiningRank who = {};
  std::chrono::seconds timeout{60};  // until the meeting is found, and for each wait
  int interrupt = -1;                // readable once the user wants it to end
};

class Member final : public Group {
 public:
  // Returns once it has joined and every other rank has, too.
  static Result<std::unique_ptr<Member>> join(const MemberOptions& options);

  Result<> set(const std::string& key, const std::string& value) override;
  Result<std::string> get(const std::string& key) override;
  // Without a deadline: the conductor may take long, and its end closes the connection.
  Result<std::string> take(const std::string& key) override;

  // Reports it to all others.
  void fail(const Error& error);
  void bye();

  // Readable (POLLRDHUP) once the meeting is over for this rank; nothing is read from it.
  int descriptor() const { return client_.channel().descriptor(); }
  // Another rank's failure, once the meeting is over for it. nullopt if the leader closed without a
  // reason, or while the other thread waits for an answer.
  std::optional<Error> last_words();

 private:
  Member(control::Client client, const MemberOptions& options)
      : client_(std::move(client)), options_(options) {}
  Result<std::string> ask(const std::string& key, bool take, std::chrono::nanoseconds wait);

  mutable control::Client client_;
  MemberOptions options_;
  std::mutex reading_;
  std::optional<Error> failure_ = {};
};

}  // namespace chokepoint::probe::collective
