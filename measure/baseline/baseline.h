// The end of every probe: its document gets how both hosts are set up, is printed, and is kept in a
// run record if that was asked for, which a later diagnosis compares a job with. Its figures are
// remembered in the user's history. Opens the record, adds a session, closes it; blocks on the
// disk. One thread.
//
// How a host is set up (base/host/settings.h) is what a comparison names where two measurements
// differ. A server tells its own by one more kind of request:
//
//   client ── Request "facts" ──► server ── Ready {settings} ──► Result
//
// A server that is older, or does not offer it, refuses, and the peer's facts stay unknown.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/cli/command.h"
#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/cli/output.h"
#include "base/control/client.h"
#include "base/control/service.h"
#include "base/history/place.h"
#include "base/host/fact.h"

namespace chokepoint::baseline {

struct Flags {
  std::string folder = {};  // empty: nothing is kept
  std::string node = {};    // empty: the host's name
  history::Flags history = {};
};

void define(cli::Flags& flags, Flags& baseline);

struct Finding {
  std::string kind = {};  // "doctor", "tcp"
  std::string peer = {};
  std::string direction = {};
  cli::Json document = {};
  std::optional<host::Facts> facts = {};  // nothing: keep() reads them
};

// The member of a document that tells how the hosts were set up: {"own": …, "peer": …}; where
// several took part, their names lead to theirs in "peers".
inline constexpr const char* kHostFacts = "host_facts";

// Does nothing where no folder was asked for.
// Before a test that takes long: that there is a place for its result.
Result<> check(const Flags& baseline);
Result<> keep(const Flags& baseline, const Finding& finding, const cli::Context& context);

// The end of a probe: prints the finding's document, or the page without --json, and keeps it. The
// document gets the facts about this host, beside those that ask_peer() put there.
Result<cli::ExitCode> answer(const cli::Context& context, const Flags& baseline, Finding finding,
                             bool interrupted, const std::function<void()>& print_page);

class FactsService final : public control::Service {
 public:
  std::string_view kind() const override { return "facts"; }
  Result<control::Demand> check(const control::Json& parameters,
                                const control::Limits& limits) const override;
  Result<control::Json> serve(control::Session& session, const control::Json& parameters) override;
};

// Puts the peer's facts into the document of a test that has ended, where one is printed or kept.
// Waits for two seconds at most; nothing that fails here is told.
void ask_peer(control::Client& client, const Flags& baseline, const cli::Context& context,
              int interrupt, cli::Json& document);
// The same of a peer whose connection has ended.
void ask_peer(const control::ClientOptions& peer, const Flags& baseline,
              const cli::Context& context, int interrupt, cli::Json& document);

}  // namespace chokepoint::baseline
