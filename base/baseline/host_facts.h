// How both hosts of a test are set up, for its document: what a later comparison names where two
// measurements differ (base/host/settings.h). A server tells its own as one more kind of request:
//
//   client ── Request "facts" ──► server ── Ready {settings} ──► Result
//
// A server that is older, or does not offer it, refuses, and the peer's facts stay unknown.
#pragma once

#include "base/baseline/baseline.h"
#include "base/control/client.h"
#include "base/control/session.h"
#include "base/host/settings.h"

namespace chokepoint::baseline {

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

}  // namespace chokepoint::baseline
