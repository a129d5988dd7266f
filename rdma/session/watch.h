// What a running test listens to beside its completions: the control connection, the user, and the
// clock. So a peer that dies, fails or has enough ends the test at once. Used by the test's own
// thread.
#pragma once

#include <optional>

#include "base/control/channel.h"
#include "base/net/patience.h"
#include "base/sys/error.h"
#include "rdma/perf/test.h"

namespace chokepoint::rdma::session {

class Watch final : public perf::Attention {
 public:
  // `interrupt` is readable once this side's user wants it to end. `follows`: this side ends when
  // the other one has said that it is done.
  Watch(control::Channel& channel, int interrupt, std::chrono::nanoseconds longest, bool follows)
      : channel_(channel),
        interrupt_(interrupt),
        patience_(net::Patience::of(longest)),
        follows_(follows) {}

  Result<bool> go_on() override;

  bool interrupted() const { return interrupted_; }
  const std::string& peer() const { return channel_.peer(); }

  // The peer's Stop: come already, or waited for.
  Result<control::Json> peer_stopped(const net::Patience& patience);

  // Why the test failed: the peer's reason where it has one, since it is the cause of ours.
  Error reason(const Error& own);

 private:
  Result<> hear();
  Result<> understand(control::Message message);

  control::Channel& channel_;
  int interrupt_;
  net::Patience patience_;
  bool follows_;
  bool interrupted_ = false;
  std::optional<control::Json> stop_;
  bool enough_ = false;
  bool explained_ = false;  // the peer has said why: what it says afterwards only follows from it
};

}  // namespace chokepoint::rdma::session
