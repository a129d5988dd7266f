#include "preflight/commands/conduct.h"

#include <fmt/ostream.h>

#include "base/cli/context.h"
#include "base/cli/text.h"
#include "base/control/handshake.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "preflight/agents/crew.h"
#include "preflight/commands/launched_agents.h"
#include "preflight/commands/names_here.h"
#include "preflight/judge/groups.h"
#include "preflight/judge/suspects.h"

namespace chokepoint::preflight {
namespace {

constexpr std::uint64_t kSteps = 1000;

void tell(const cli::Context& context, const std::string& words) {
  if (!context.quiet) {
    fmt::print(context.err, "{}\n", cli::printable(words));
  }
}

lead::Advisers advisers(const Limits& limits, std::size_t most) {
  return {.suspects = [&limits,
                       most](const Measured& measured) { return suspects(measured, limits, most); },
          .cuts =
              [&limits](const Measured& measured) {
                std::vector<plan::Cut> cuts;
                if (const auto groups = find_groups(measured, limits)) {
                  cuts.push_back({.left = groups->first, .right = groups->second});
                }
                return cuts;
              }};
}

LaunchWanted launch_wanted(const Conduct& conduct, int interrupt, const cli::Context& context) {
  LaunchWanted wanted{.port = conduct.port,
                      .key = conduct.key,
                      .program = conduct.program,
                      .tarball = conduct.tarball,
                      .version = context.version,
                      .interrupt = interrupt,
                      .tell = [&context](const std::string& words) { tell(context, words); }};
  for (const lead::HostWanted& host : conduct.wanted.hosts) {
    wanted.hosts.push_back(host.user.empty() ? host.name : host.user + "@" + host.name);
  }
  return wanted;
}

CrewOptions crew_options(const Conduct& conduct, int interrupt, const cli::Context& context) {
  CrewOptions options{
      .family = conduct.family,
      .own = {.program = conduct.wanted.program, .host = sys::host_name(context.root)},
      .preflight = control::random_id(),
      .interrupt = interrupt,
      .appear = conduct.appear};
  options.resolve = [own = options.own.host](const std::string& name,
                                             std::optional<net::Family> only) {
    return resolve_here(name, only, own);
  };
  for (const lead::HostWanted& host : conduct.wanted.hosts) {
    options.hosts.push_back({host.name, host.port});
  }
  if (!conduct.key.empty()) {
    options.key = control::secret_of(conduct.key);
  }
  return options;
}

lead::Led lead_all(const Conduct& conduct, Agents& agents, const cli::Context& context) {
  cli::Progress bar(context, "preflight", kSteps);
  const auto show = [&](const lead::Progress& progress) {
    bar.update(static_cast<std::uint64_t>(progress.share * kSteps), cli::printable(progress.doing));
  };
  return lead::lead(agents, conduct.wanted,
                    advisers(conduct.limits, conduct.wanted.effort.most_suspects), context.clock,
                    show);
}

std::string announcement(const lead::Wanted& wanted) {
  const plan::Schedule schedule =
      plan::schedule(wanted.effort, wanted.hosts.size(), wanted.seed, wanted.limit);
  const std::string words = describe(schedule);
  return wanted.limit.count() == 0
             ? words
             : fmt::format("{}, {} at most", words, plan::rough(wanted.limit));
}

}  // namespace

Result<Measured> conduct(const Conduct& conduct, const cli::Context& context) {
  const Result<sys::Signals> signals = sys::Signals::watch({SIGINT, SIGTERM});
  if (!signals) {
    return std::unexpected(signals.error());
  }
  const int interrupt = signals->descriptor();
  TRY(const std::unique_ptr<Launch> launched,
      launch(conduct.launcher, launch_wanted(conduct, interrupt, context), context.clock,
             context.root));
  TRY(const std::unique_ptr<Crew> crew, Crew::make(crew_options(conduct, interrupt, context)));
  const lead::Wanted& wanted = conduct.wanted;
  tell(context, announcement(wanted));
  LaunchedAgents launched_agents(*crew, *launched, wanted.hosts.size());
  Agents& agents =
      conduct.launcher == Launcher::None ? static_cast<Agents&>(*crew) : launched_agents;
  lead::Led led = lead_all(conduct, agents, context);
  if (led.broken) {
    tell(context, describe(*led.broken));
  }
  return std::move(led.measured);
}

}  // namespace chokepoint::preflight
