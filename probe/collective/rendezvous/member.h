// A rank's end of the rendezvous: finds the meeting, comes in, and from then on is the store of its
// group. One thread uses it; another may meanwhile wait for over() and then last_words().
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/control/client.h"
#include "probe/collective/group.h"
#include "probe/collective/rendezvous/hub.h"

namespace chokepoint::probe::collective {

struct MemberOptions {
  net::HostPort meeting = {};  // its first port
  int ports = 1;               // from the first on
  std::optional<control::Secret> key = {};
  Newcomer who = {};
  std::chrono::seconds timeout{60};  // until the meeting is found, and for each wait
  int interrupt = -1;                // readable once the user wants it to end
};

class Member final : public Group {
 public:
  // Found, let in, and every other rank has come, too.
  static Result<std::unique_ptr<Member>> join(const MemberOptions& options);

  Result<> set(const std::string& key, const std::string& value) override;
  Result<std::string> get(const std::string& key) override;
  // No deadline of its own: the conductor takes its time, and its end is heard of.
  Result<std::string> take(const std::string& key) override;

  // Told to all others.
  void fail(const Error& error);
  void bye();

  // Readable (POLLRDHUP) once the meeting is over for this rank; nothing is read from it.
  int descriptor() const { return client_.channel().descriptor(); }
  // Why it is over, once it is: another rank's failure. Nothing where who led has just gone, or
  // while the other thread waits for an answer.
  std::optional<Error> last_words();

 private:
  Member(control::Client client, const MemberOptions& options)
      : client_(std::move(client)), options_(options) {}
  Result<std::string> ask(const std::string& key, bool take, std::chrono::nanoseconds wait);

  mutable control::Client client_;
  MemberOptions options_;
  std::mutex reading_;
  std::optional<Error> heard_ = {};
};

}  // namespace chokepoint::probe::collective
