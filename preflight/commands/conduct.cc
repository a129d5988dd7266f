#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "base/cli/context.h"
#include "base/cli/text.h"
#include "base/control/handshake.h"
#include "base/net/address.h"
#include "base/net/resolver.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "preflight/agents/agent_pool.h"
#include "preflight/commands/preflight.h"
#include "preflight/judge/retest_candidates.h"

namespace chokepoint::preflight {
namespace {

constexpr std::chrono::milliseconds kCheckInterval{
    200};  // how often the launcher is asked meanwhile

Presence presence_after(ErrorKind kind) {
  return kind == ErrorKind::NotFound                                    ? Presence::Unresolved
         : kind == ErrorKind::Timeout || kind == ErrorKind::Unreachable ? Presence::Unreachable
                                                                        : Presence::NoAgent;
}

std::string first_label(const std::string& name) { return name.substr(0, name.find('.')); }

constexpr std::uint64_t kSteps = 1000;

void print_line(const cli::Context& context, const std::string& words) {
  if (!context.quiet) {
    fmt::print(context.err, "{}\n", cli::printable(words));
  }
}

coordinator::Advisers advisers(const Limits& limits, const coordinator::Effort& effort) {
  return {.suspects =
              [&limits, &effort](const Measured& measured) {
                return suspects(measured, limits, effort.most_suspects);
              },
          .cuts =
              [&limits](const Measured& measured) {
                std::vector<coordinator::Cut> cuts;
                if (const auto groups = find_groups(measured, limits)) {
                  cuts.push_back({.left = groups->first, .right = groups->second});
                }
                return cuts;
              },
          .bundles =
              [&limits, &effort](const Measured& measured) {
                return bundle_suspects(measured, limits, effort.most_bundles);
              }};
}

LaunchWanted launch_wanted(const Conduct& conduct, int interrupt, const cli::Context& context) {
  LaunchWanted wanted{
      .port = conduct.port,
      .key = conduct.key,
      .program = conduct.program,
      .copy = conduct.copy,
      .version = context.version,
      .interrupt = interrupt,
      .report = [&context](const std::string& words) { print_line(context, words); }};
  for (const coordinator::HostWanted& host : conduct.wanted.hosts) {
    wanted.hosts.push_back(host.user.empty() ? host.name : host.user + "@" + host.name);
  }
  return wanted;
}

coordinator::CoordinatorResult lead_all(const Conduct& conduct, Agents& agents,
                                        const cli::Context& context) {
  cli::Progress bar(context, "preflight", kSteps);
  const auto show = [&](const coordinator::Progress& progress) {
    bar.update(static_cast<std::uint64_t>(progress.share * kSteps), cli::printable(progress.doing));
  };
  return coordinator::run_preflight(
      agents, conduct.wanted, advisers(conduct.limits, conduct.wanted.effort), context.clock, show);
}

std::string announcement(const coordinator::Wanted& wanted) {
  const coordinator::Schedule schedule =
      coordinator::schedule(wanted.effort, wanted.hosts.size(), wanted.seed, wanted.limit);
  const std::string words = describe(schedule);
  return wanted.limit.count() == 0
             ? words
             : fmt::format("{}, {} at most", words, coordinator::rough(wanted.limit));
}

}  // namespace

AgentPoolOptions pool_options(const Conduct& conduct, int interrupt, const cli::Context& context) {
  AgentPoolOptions options{
      .family = conduct.family,
      .own = {.program = conduct.wanted.program, .host = sys::host_name(context.root)},
      .preflight = control::random_id(),
      .interrupt = interrupt,
      .appear = conduct.appear};
  options.resolve = [own = options.own.host](const std::string& name,
                                             std::optional<net::Family> only) {
    return resolve_here(name, only, own);
  };
  for (const coordinator::HostWanted& host : conduct.wanted.hosts) {
    options.hosts.push_back({host.name, host.port});
  }
  if (!conduct.key.empty()) {
    options.key = control::secret_of(conduct.key);
  }
  return options;
}

// A host that did not come yet and that the launcher failed on.
std::optional<Event> LaunchedAgents::failed() {
  for (HostIndex host = 0; host < settled_.size(); ++host) {
    if (settled_[host]) {
      continue;
    }
    if (std::optional<Error> error = launch_.trouble(host)) {
      settled_[host] = true;
      const Presence presence = presence_after(error->kind);
      return AgentLeft{.host = host, .presence = presence, .error = std::move(*error)};
    }
  }
  return std::nullopt;
}

void LaunchedAgents::settle(Event& event) {
  if (const AgentJoined* came = std::get_if<AgentJoined>(&event)) {
    settled_[came->host] = true;
  }
  if (AgentLeft* went = std::get_if<AgentLeft>(&event)) {
    settled_[went->host] = true;
    if (std::optional<Error> trouble = launch_.trouble(went->host)) {
      went->error = std::move(*trouble);
    } else if (went->presence == Presence::Refused) {
      // Agents that were started here have the right key: another one answers.
      went->error.next_step =
          "another 'chokepoint serve' listens there: end it, or give another --port";
    }
  }
}

Result<std::optional<Event>> LaunchedAgents::next(const net::Deadline& deadline) {
  for (;;) {
    if (std::optional<Event> event = failed()) {
      return event;
    }
    Result<std::optional<Event>> event = agents_.next(deadline.at_most(kCheckInterval));
    if (event && *event) {
      settle(**event);
    }
    if (!event || *event || deadline.over()) {
      return event;
    }
  }
}

bool may_be_loopback(const std::string& name, const std::string& own) {
  const std::string label = first_label(name);
  return label == first_label(own) || label == "localhost" || label == "ip6-localhost" ||
         net::Address::parse(name).has_value();
}

Result<std::vector<net::Address>> resolve_here(const std::string& name,
                                               std::optional<net::Family> only,
                                               const std::string& own) {
  Result<std::vector<net::Address>> addresses = net::resolve(name, only);
  if (!addresses || addresses->empty() || may_be_loopback(name, own) ||
      !std::ranges::all_of(*addresses, &net::Address::is_loopback)) {
    return addresses;
  }
  return fail(ErrorKind::Malformed, "resolve", name,
              fmt::format("leads to {}, which is this host, {}", addresses->front().text(), own),
              "fix /etc/hosts here, or give the host's address");
}

Result<Measured> conduct(const Conduct& conduct, const cli::Context& context) {
  const Result<sys::Signals> signals = sys::Signals::watch_for_end();
  if (!signals) {
    return std::unexpected(signals.error());
  }
  const int interrupt = signals->descriptor();
  TRY(const std::unique_ptr<Launch> launched,
      launch(conduct.launcher, launch_wanted(conduct, interrupt, context), context.clock,
             context.root));
  TRY(const std::unique_ptr<AgentPool> pool,
      AgentPool::make(pool_options(conduct, interrupt, context)));
  const coordinator::Wanted& wanted = conduct.wanted;
  print_line(context, announcement(wanted));
  LaunchedAgents launched_agents(*pool, *launched, wanted.hosts.size());
  Agents& agents =
      conduct.launcher == Launcher::None ? static_cast<Agents&>(*pool) : launched_agents;
  coordinator::CoordinatorResult led = lead_all(conduct, agents, context);
  if (led.broken) {
    print_line(context, describe(*led.broken));
  }
  return std::move(led.measured);
}

}  // namespace chokepoint::preflight
