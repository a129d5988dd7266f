#include "probe/collective/launch/leader.h"

#include <fmt/format.h>
#include <poll.h>

#include <map>
#include <thread>

#include "base/control/fields.h"
#include "base/control/message.h"
#include "probe/collective/launch/children.h"

namespace chokepoint::probe::collective {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using net::Patience;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The first failure that is reported may be an effect of one reported a little later.
constexpr milliseconds kSettle{400};
constexpr milliseconds kCheckWhileSettling{50};

bool is_readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&watched, 1, 0) > 0;
}

class LocalRanks final : public Started {
 public:
  explicit LocalRanks(const sys::Clock& clock) : children_(clock, false) {}

  Children& children() { return children_; }

  Result<> look(Hub& hub) override {
    TRY(const std::vector<ChildEnd> ends, children_.ended());
    for (const ChildEnd& end : ends) {
      report(end, hub);
    }
    return {};
  }

 private:
  Children children_;
};

constexpr seconds kConnect{10};
constexpr hours kMaxQueueing{1};
constexpr seconds kGoodbye{5};
// Of a last line; the sender replaced each byte that is no UTF-8 by three.
constexpr std::size_t kMaxWordsLength = 1500;

Result<ChildEnd> end_in(const Json& body) {
  control::Fields in(body, "rank's end");
  ChildEnd end{.rank = static_cast<int>(in.integer("rank", 0, INT32_MAX)),
               .status = {.code = static_cast<int>(in.integer("code", 0, 1024)),
                          .signal = static_cast<int>(in.integer("signal", 0, 1024))},
               .words = in.text("words", kMaxWordsLength)};
  return in.finish(std::move(end));
}

class RemoteRanks final : public Started {
 public:
  ~RemoteRanks() override {
    // All get the message before the first answer is awaited: they end at the same time.
    for (Client& host : hosts_) {
      std::ignore = host.channel().send({Type::Stop}, Patience::of(kGoodbye));
    }
    for (Client& host : hosts_) {
      std::ignore = host.channel().expect(Type::Result, Patience::of(kGoodbye));
      host.bye();
    }
  }

  void add(Client host) { hosts_.push_back(std::move(host)); }

  Result<> look(Hub& hub) override {
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
    TRY(const ChildEnd end, end_in(message.body));
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
    TRY(Client client, Client::connect(hosts[i], Patience::of(kConnect, interrupt)));
    std::pair place(client.admittance().server.host, client.peer());
    const auto [at, is_new] =
        sorted.try_emplace(std::move(place), static_cast<int>(i), std::move(client));
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
  if (is_readable(options_.interrupt)) {
    return fail(ErrorKind::Interrupted, "", "", "interrupted");
  }
  return started_ ? started_->look(hub_) : Result<>{};
}

Error Leader::cause_of(const Error& error) {
  for (milliseconds waited{0}; hub_.failure() && waited < kSettle; waited += kCheckWhileSettling) {
    std::this_thread::sleep_for(kCheckWhileSettling);
    if (started_) {
      std::ignore = started_->look(hub_);
    }
  }
  return hub_.failure().value_or(error);
}

Led Leader::lead(const Plan& plan) {
  const Hub::StillWanted wanted = [this] { return still_wanted(); };
  Led led;
  Result<> done = hub_.await_all(Hub::Clock::now() + options_.timeout, wanted);
  if (done) {
    Conductor conductor(
        hub_, plan, {.timeout = options_.timeout, .wanted = wanted, .on_size = options_.on_size});
    done = conductor.run(led.outcome);
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

Result<std::unique_ptr<Started>> start_here(const RanksWanted& wanted, const sys::Clock& clock,
                                            const std::string& program) {
  auto here = std::make_unique<LocalRanks>(clock);
  const std::vector<std::string> command = command_of(program, wanted.options);
  for (int rank = 0; rank < wanted.ranks; ++rank) {
    const RankPlacement placement{
        .place = {.rank = rank, .ranks = wanted.ranks, .local_rank = rank},
        .launcher = "chokepoint",
        .job = wanted.job,
        .meeting = {"127.0.0.1", wanted.port},
        .secret = wanted.secret};
    TRY(here->children().start(command, placement, wanted.ranks));
  }
  return here;
}

Result<std::unique_ptr<Started>> start_there(const RanksWanted& wanted,
                                             const std::vector<control::ClientOptions>& hosts,
                                             int interrupt, const control::Waiting& waiting) {
  auto there = std::make_unique<RemoteRanks>();
  TRY(SortedHosts connected, connect_to(hosts, interrupt));
  for (auto& [place, host] : connected) {
    RanksWanted here = wanted;
    here.first = host.first * wanted.count;
    TRY(host.second.request(std::string(kCollectiveKind), body_of(here),
                            Patience::of(kMaxQueueing, interrupt), waiting));
    there->add(std::move(host.second));
  }
  return there;
}

}  // namespace chokepoint::probe::collective
