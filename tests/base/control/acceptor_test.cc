#include "base/control/acceptor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "base/net/socket.h"

namespace chokepoint::control {
namespace {

constexpr std::size_t kPlaces = 8;

class Nobody final : public AdmissionHandler {
 public:
  Result<> enter(sys::Descriptor& /*fd*/, ServerHandshake& /*handshake*/) override { return {}; }
  void attach(const Attachment& /*attachment*/, sys::Descriptor /*fd*/) override {}
  void tidy() override {}
  const KeyRing& keys() const override { return keys_; }

 private:
  KeyRing keys_;
};

// An acceptor of few places on a port of loopback, and clients that send nothing.
class CrowdedAcceptor : public testing::Test {
 protected:
  CrowdedAcceptor() : stop_(eventfd(0, EFD_CLOEXEC)) {
    std::vector<sys::Descriptor> listeners;
    listeners.push_back(
        std::move(net::listen({net::Address::parse("127.0.0.1").value(), 0}, 64, {}).value()));
    at_ = net::local_endpoint(listeners.front().get()).value();
    thread_ = std::thread([this, listeners = std::move(listeners)]() mutable {
      auto acceptor =
          Acceptor::open(std::move(listeners), {.own = {}, .max_pending = kPlaces}, nobody_);
      std::ignore = acceptor->run(stop_.get());
    });
  }
  ~CrowdedAcceptor() override {
    const std::uint64_t one = 1;
    std::ignore = write(stop_.get(), &one, sizeof(one));
    thread_.join();
  }

  sys::Descriptor client(const std::string& from) const {
    return std::move(net::connect(at_, {.source = net::Address::parse(from).value()},
                                  net::Deadline::of(std::chrono::seconds(10)))
                         .value());
  }

  // Which of them the acceptor has closed; waits for one.
  static std::size_t closed_of(const std::vector<sys::Descriptor>& clients) {
    std::vector<pollfd> all;
    for (const sys::Descriptor& client : clients) all.push_back({client.get(), POLLIN, 0});
    EXPECT_EQ(poll(all.data(), all.size(), 10'000), 1);
    return static_cast<std::size_t>(
        std::ranges::find_if(all, [](const pollfd& each) { return each.revents != 0; }) -
        all.begin());
  }

  Nobody nobody_;
  sys::Descriptor stop_;
  net::Endpoint at_;
  std::thread thread_;
};

// With thousands of sources each arrival pushed out the one before it, so that nobody had the time
// for a second message.
TEST_F(CrowdedAcceptor, OfManySourcesAnyGoesAndNotAlwaysTheNewest) {
  std::vector<sys::Descriptor> clients;
  for (std::size_t number = 1; number <= kPlaces; ++number) {
    clients.push_back(client("127.0.1." + std::to_string(number)));
  }
  std::set<std::size_t> victims;
  for (int arrival = 1; arrival <= 40; ++arrival) {
    clients.push_back(client("127.0.2." + std::to_string(arrival)));
    const std::size_t victim = closed_of(clients);
    ASSERT_LT(victim, kPlaces) << "the one that has just come stays";
    victims.insert(victim);
    clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(victim));
  }
  EXPECT_GT(victims.size(), kPlaces / 2);
}

TEST_F(CrowdedAcceptor, ASourceWithSeveralPushesOutItsOwn) {
  std::vector<sys::Descriptor> quiet;
  for (const char* from : {"127.0.1.1", "127.0.1.2", "127.0.1.3"}) quiet.push_back(client(from));
  std::vector<sys::Descriptor> many;
  for (int arrival = 0; arrival < 30; ++arrival) {
    many.push_back(client("127.0.2.1"));
    if (many.size() + quiet.size() > kPlaces) {
      many.erase(many.begin() + static_cast<std::ptrdiff_t>(closed_of(many)));
    }
  }
  for (const sys::Descriptor& each : quiet) {
    char byte = 0;
    EXPECT_EQ(recv(each.get(), &byte, 1, MSG_DONTWAIT), -1);
  }
}

}  // namespace
}  // namespace chokepoint::control
