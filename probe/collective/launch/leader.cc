#include "probe/collective/launch/leader.h"

#include <fmt/format.h>

#include <map>
#include <thread>

#include "base/control/channel.h"
#include "base/control/message.h"
#include "base/control/test_driver.h"
#include "base/sys/descriptor.h"
#include "probe/collective/launch/children.h"

namespace chokepoint::probe::collective {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using net::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The first failure that is reported may be an effect of one reported a little later.
constexpr milliseconds kSettle{400};
constexpr milliseconds kCheckWhileSettling{50};

constexpr seconds kGoodbye{5};

// Ranks on other hosts: one connection to the server of each.
class RemoteRanks final : public StartedRanks {
 public:
  ~RemoteRanks() override {
    // All get the message before the first answer is awaited: they end at the same time.
    for (Client& host : hosts_) {
      std::ignore = host.channel().send({Type::Stop}, Deadline::of(kGoodbye));
    }
    for (Client& host : hosts_) {
      std::ignore = host.channel().expect(Type::Result, Deadline::of(kGoodbye));
      host.bye();
    }
  }

  void add(Client host) { hosts_.push_back(std::move(host)); }

  Result<> report_failed(Hub& hub) override {
    for (Client& host : hosts_) {
      while (true) {
        TRY(const std::optional<Message> message, host.channel().poll());
        if (!message) {
          break;
        }
        TRY(handle(*message, host.channel().peer(), hub));
      }
    }
    return {};
  }

 private:
  static Result<> handle(const Message& message, const std::string& peer, Hub& hub) {
    if (message.type == Type::Failed) {
      return fail(control::error_in(message.body, peer));
    }
    if (message.type != Type::Report) {
      return {};
    }
    TRY(const ChildEnd end, child_end_in(message.body));
    report(end, hub);
    return {};
  }

  std::vector<Client> hosts_;
};

// By the servers' own names, then by address: clients may reach a host by different addresses, and
// the order has to be the same for all of them.
using SortedHosts = std::map<std::pair<std::string, net::Endpoint>, std::pair<int, Client>>;

Result<SortedHosts> connect_to(const std::vector<control::ClientOptions>& hosts, int interrupt) {
  SortedHosts sorted;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    TRY(Client client, Client::connect(hosts[i], Deadline::of(control::kConnect, interrupt)));
    std::pair name(client.admittance().server.host, client.peer());
    const auto [at, is_new] =
        sorted.try_emplace(std::move(name), static_cast<int>(i), std::move(client));
    if (!is_new) {
      // It would wait for itself.
      return fail(ErrorKind::Usage, "", "--hosts",
                  fmt::format("{} is the same server as {}", hosts[i].peer.host,
                              hosts[static_cast<std::size_t>(at->second.first)].peer.host),
                  "--ranks-per-host has several ranks on each");
    }
  }
  return sorted;
}

}  // namespace

Leader::Leader(LeaderOptions options)
    : options_(std::move(options)), hub_(options_.job, options_.ranks) {}

Result<std::unique_ptr<Leader>> Leader::open(LeaderOptions options, const sys::Clock& clock) {
  std::unique_ptr<Leader> leader(new Leader(std::move(options)));
  TRY(std::unique_ptr<Meeting> meeting,
      Meeting::open(leader->options_.meeting, leader->hub_, clock));
  leader->meeting_ = std::move(meeting);
  return leader;
}

Result<> Leader::still_wanted() {
  if (sys::is_readable(options_.interrupt)) {
    return fail(ErrorKind::Interrupted, "", "", "interrupted");
  }
  return started_ ? started_->report_failed(hub_) : Result<>{};
}

Error Leader::cause_of(const Error& error) {
  for (milliseconds waited{0}; hub_.failure() && waited < kSettle; waited += kCheckWhileSettling) {
    std::this_thread::sleep_for(kCheckWhileSettling);
    if (started_) {
      std::ignore = started_->report_failed(hub_);
    }
  }
  return hub_.failure().value_or(error);
}

CoordinatorResult Leader::lead(const Plan& plan) {
  const Hub::StillWanted wanted = [this] { return still_wanted(); };
  CoordinatorResult led;
  Result<> done = hub_.await_all(Hub::Clock::now() + options_.timeout, wanted);
  if (done) {
    done = conduct(hub_, plan,
                   {.timeout = options_.timeout, .wanted = wanted, .on_size = options_.on_size},
                   led.outcome);
  }
  led.interrupted = !done && done.error().kind == ErrorKind::Interrupted;
  if (!done && !led.interrupted) {
    led.failure = cause_of(done.error());
  }
  if (!done) {
    // Wakes ranks that wait, with the error that only this side knows.
    hub_.fail({.rank = {}, .error = led.failure.value_or(done.error())});
  }
  meeting_.reset();
  started_.reset();
  return led;
}

Result<std::unique_ptr<StartedRanks>> start_local_ranks(const RanksWanted& wanted,
                                                        const sys::Clock& clock) {
  auto here = std::make_unique<Children>(clock, false);
  const std::vector<std::string> command = command_of(kOwnProgram, wanted.options);
  for (int rank = 0; rank < wanted.ranks; ++rank) {
    const RankPlacement placement{
        .position = {.rank = rank, .ranks = wanted.ranks, .local_rank = rank},
        .launcher = "chokepoint",
        .job = wanted.job,
        .meeting = {"127.0.0.1", wanted.port},
        .secret = wanted.secret};
    TRY(here->start(command, placement, wanted.ranks));
  }
  return here;
}

Result<std::unique_ptr<StartedRanks>> start_remote_ranks(
    const RanksWanted& wanted, const std::vector<control::ClientOptions>& hosts, int interrupt,
    const control::Waiting& waiting) {
  auto there = std::make_unique<RemoteRanks>();
  TRY(SortedHosts connected, connect_to(hosts, interrupt));
  for (auto& [name, host] : connected) {
    RanksWanted here = wanted;
    here.first = host.first * wanted.count;
    TRY(request_test(host.second, kCollectiveKind, body_of(here), interrupt, waiting));
    there->add(std::move(host.second));
  }
  return there;
}

}  // namespace chokepoint::probe::collective
