// A rank's session with the hub, on the hub's side: the one kind of test that a rendezvous offers.
//
//   rank                                                hub
//     Request {kind rank, job, rank, ranks, host} ──────►
//     ◄──────────── Ready {}  once all have come, or Failed
//     Report {key, value} ──────────────────────────────►  set
//     Note {key, take, wait_ms} ────────────────────────►  get, or take
//     ◄────────────────────────────── Note {value}         or Failed: not in time
//     Failed {error} ───────────────────────────────────►  all others are told
//     ◄───────────────────────────────── Failed {error}    at any time: another rank has failed
//     Bye {} ───────────────────────────────────────────►
//
// Values are bytes in hexadecimal digits. One object for all sessions; serve() runs on a session's
// thread.
#pragma once

#include "base/control/session.h"
#include "probe/collective/rendezvous/hub.h"

namespace chokepoint::probe::collective {

inline constexpr std::string_view kRankKind = "rank";

// A Request's parameters, and back.
control::Json body_of(const Newcomer& newcomer);
Result<Newcomer> newcomer_in(const control::Json& body);

class MemberService final : public control::Service {
 public:
  // The hub outlives it.
  explicit MemberService(Hub& hub) : hub_(hub) {}

  std::string_view kind() const override { return kRankKind; }
  Result<control::Weight> check(const control::Json& parameters,
                                const control::Limits& limits) const override;
  Result<control::Json> serve(control::Session& session, const control::Json& parameters) override;

 private:
  Hub& hub_;
};

}  // namespace chokepoint::probe::collective
