#include "base/baseline/host_facts.h"

#include <chrono>

namespace chokepoint::baseline {
namespace {

constexpr std::chrono::seconds kPeersPatience{2};

}  // namespace

Result<control::Demand> FactsService::check(const control::Json& /*parameters*/,
                                            const control::Limits& /*limits*/) const {
  return control::Weight::None;
}

Result<control::Json> FactsService::serve(control::Session& session,
                                          const control::Json& /*parameters*/) {
  const host::Settings settings = host::read_settings(session.surroundings().root);
  TRY(session.channel().send({control::Type::Ready, {{"settings", settings}}},
                             session.patience(kPeersPatience)));
  return control::Json::object();
}

void ask_peer(control::Client& client, const Flags& baseline, const cli::Context& context,
              int interrupt, cli::Json& document) {
  if (!context.json && baseline.folder.empty()) {
    return;
  }
  const auto patience = net::Patience::of(kPeersPatience, interrupt);
  const Result<control::Json> answer =
      client.request("facts", control::Json::object(), patience, [](const std::string&) {});
  if (!answer || !client.channel().expect(control::Type::Result, patience)) {
    return;
  }
  const host::Settings settings =
      host::settings_in(answer->is_object() ? answer->value("settings", cli::Json()) : cli::Json());
  if (!settings.empty()) {
    document[kHostFacts]["peer"] = settings;
  }
}

}  // namespace chokepoint::baseline
