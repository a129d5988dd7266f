#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/control/fields.h"
#include "base/control/message.h"
#include "probe/collective/launch/children.h"
#include "probe/collective/launch/started.h"

namespace chokepoint::probe::collective {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using net::Patience;
using std::chrono::hours;
using std::chrono::seconds;

constexpr seconds kConnect{10};
constexpr hours kLongestQueue{1};
constexpr seconds kGoodbye{5};
// Of a last line: bytes that are no UTF-8 come as three each.
constexpr std::size_t kLongestWords = 1500;

Result<ChildEnd> end_in(const Json& body) {
  control::Fields in(body, "rank's end");
  ChildEnd end{.rank = static_cast<int>(in.integer("rank", 0, INT32_MAX)),
               .status = {.code = static_cast<int>(in.integer("code", 0, 1024)),
                          .signal = static_cast<int>(in.integer("signal", 0, 1024))},
               .words = in.text("words", kLongestWords)};
  return in.finish(std::move(end));
}

class There final : public Started {
 public:
  ~There() override {
    // All are told first, so that they end at the same time.
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
        TRY(const std::optional<Message> said, host.channel().poll());
        if (!said) {
          break;
        }
        if (const Result<> heard = hear(*said, host.channel().peer(), hub); !heard) {
          return heard;
        }
      }
    }
    return {};
  }

 private:
  static Result<> hear(const Message& message, const std::string& peer, Hub& hub) {
    if (message.type == Type::Failed) {
      return fail(control::error_in(message.body, peer));
    }
    if (message.type != Type::Report) {
      return {};
    }
    TRY(const ChildEnd end, end_in(message.body));
    tell(end, hub);
    return {};
  }

  std::vector<Client> hosts_;
};

// By the servers' own names, then by address: a host calls itself by another address than others
// do, and the order has to be the same from everywhere.
using InTurn = std::map<std::pair<std::string, net::Endpoint>, std::pair<int, Client>>;

Result<InTurn> connect_to(const std::vector<control::ClientOptions>& hosts, int interrupt) {
  InTurn in_turn;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    TRY(Client client, Client::connect(hosts[i], Patience::of(kConnect, interrupt)));
    std::pair place(client.admittance().server.host, client.peer());
    const auto [at, is_new] =
        in_turn.try_emplace(std::move(place), static_cast<int>(i), std::move(client));
    if (!is_new) {
      // It would wait for its own turn to end.
      return fail(ErrorKind::Usage, "", "--hosts",
                  fmt::format("{} is the same server as {}", hosts[i].peer.host,
                              hosts[static_cast<std::size_t>(at->second.first)].peer.host),
                  "--ranks-per-host has several ranks on each");
    }
  }
  return in_turn;
}

}  // namespace

Result<std::unique_ptr<Started>> start_there(const RanksWanted& wanted,
                                             const std::vector<control::ClientOptions>& hosts,
                                             int interrupt, const control::Waiting& waiting) {
  auto there = std::make_unique<There>();
  TRY(InTurn connected, connect_to(hosts, interrupt));
  for (auto& [place, host] : connected) {
    RanksWanted here = wanted;
    here.first = host.first * wanted.count;
    TRY(host.second.request(std::string(kCollectiveKind), body_of(here),
                            Patience::of(kLongestQueue, interrupt), waiting));
    there->add(std::move(host.second));
  }
  return there;
}

}  // namespace chokepoint::probe::collective
