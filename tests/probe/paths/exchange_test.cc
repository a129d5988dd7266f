// Whole sweeps against a server in this process, and what either end makes of wrong words.
#include "probe/paths/exchange.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/net/socket.h"
#include "probe/paths/rates.h"
#include "probe/paths/sweep.h"
#include "probe/udp/packet.h"
#include "tests/fakes/probe_server.h"

namespace chokepoint::probe::paths {
namespace {

using namespace std::chrono_literals;
using control::Client;
using control::Json;
using udp::PacketKind;

control::Services services() {
  control::Services all;
  all.push_back(paths_service());
  return all;
}

constexpr Parameters kFew{.flows = 8, .packets = 50, .time = 20s, .bits_per_s = 10e6};

Result<Sweep> open(Client& client, const Parameters& parameters = kFew, std::uint16_t port = 0) {
  return Sweep::open(client, parameters, port, "", -1, [](const std::string&) {});
}

void nothing(std::uint64_t) {}

TEST(Paths, ARequestTravelsUnchanged) {
  EXPECT_EQ(body_of(*parameters_in(body_of(kFew))), body_of(kFew));
}

TEST(Paths, RequestsAreBounded) {
  for (const auto& [name, value] : {std::pair<const char*, Json>{"flows", 3},
                                    {"flows", 257},
                                    {"packets", 9},
                                    {"packets", 20'001},
                                    {"time_ns", 0},
                                    {"bits_per_s", 0},
                                    {"port", 80},
                                    {"port", 65536}}) {
    Json body = body_of(kFew);
    body[name] = value;
    EXPECT_FALSE(parameters_in(body)) << name << " " << value;
  }
  EXPECT_FALSE(parameters_in(body_of({.flows = 256, .packets = 20'000})));
}

TEST(Paths, LimitsAreTheServers) {
  const control::Limits limits{.longest_test = 10s, .rate_bits_per_s = 1e6};
  EXPECT_FALSE(paths_service()->check(body_of(kFew), limits));
  EXPECT_TRUE(paths_service()->check(body_of({.time = 10s, .bits_per_s = 1e6}), limits));
  EXPECT_FALSE(paths_service()->check(body_of({.time = 11s, .bits_per_s = 1e6}), limits));
}

TEST(Paths, CountsThatCannotBeAreRefused) {
  const Parameters parameters{.flows = 4, .packets = 10};
  const Json right{{"received", {10, 9, 0, 1}}, {"answered", {10, 8, 0, 1}}, {"dropped", 0}};
  EXPECT_TRUE(counts_in(right, parameters));
  for (const auto& [name, value] : {std::pair<const char*, Json>{"received", {11, 9, 0, 1}},
                                    {"received", {10, 9, 0}},
                                    {"answered", {10, 10, 0, 1}},
                                    {"answered", {10, 8, 0, 1, 0}},
                                    {"received", nullptr},
                                    {"dropped", -1}}) {
    Json body = right;
    body[name] = value;
    EXPECT_FALSE(counts_in(body, parameters)) << name << " " << value;
  }
}

TEST(Paths, EveryPacketOfEveryFlowComesBack) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<Sweep> sweep = open(*client, kFew, 42'000);
  ASSERT_TRUE(sweep) << describe(sweep.error());
  ASSERT_TRUE(sweep->run(-1, nothing));
  const Result<SweepRecord> record = sweep->close();
  ASSERT_TRUE(record) << describe(record.error());
  ASSERT_EQ(record->flows.size(), 8U);
  std::uint16_t last = 41'999;
  for (const FlowRecord& flow : record->flows) {
    EXPECT_GT(flow.source_port, last);
    last = flow.source_port;
    EXPECT_EQ(flow.sent, 50U);
    EXPECT_EQ(flow.received_by_peer, 50U);
    EXPECT_EQ(flow.answered, 50U);
    ASSERT_EQ(flow.trips.size(), 50U);
    EXPECT_GT(flow.trips[0].there_ns + flow.trips[0].back_ns, 0);
  }
  EXPECT_FALSE(record->interrupted);
}

TEST(Paths, PortsInUseArePassedOver) {
  const fakes::ProbeServer server(services());
  const auto taken = net::bind_udp({*net::Address::parse("127.0.0.1"), 0}, {});
  const std::uint16_t port = net::local_endpoint(taken->get())->port;
  Result<Client> client = server.client();
  Result<Sweep> sweep = open(*client, kFew, port);
  ASSERT_TRUE(sweep) << describe(sweep.error());
  const Result<SweepRecord> record = sweep->close();
  ASSERT_TRUE(record);
  for (const FlowRecord& flow : record->flows) {
    EXPECT_NE(flow.source_port, port);
  }
}

// A flow's socket may send what it likes: the server counts each packet of the test once.
TEST(Paths, WhatIsNoPacketOfTheTestDoesNotCount) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<Sweep> sweep = open(*client);
  ASSERT_TRUE(sweep);
  const auto say = [&](std::uint64_t test, std::uint64_t sequence) {
    const udp::ExchangePacket packet =
        udp::ping_packet({.kind = PacketKind::Ping, .run = 1, .test = test, .sequence = sequence});
    EXPECT_EQ(send(sweep->socket(0), packet.data(), packet.size(), 0),
              static_cast<ssize_t>(packet.size()));
  };
  say(sweep->test() + 1, sequence_of(3, 0));  // another test's
  say(sweep->test(), sequence_of(8, 0));      // no such flow
  say(sweep->test(), sequence_of(3, 50));     // no such round
  say(sweep->test(), UINT64_MAX);
  ASSERT_TRUE(sweep->run(-1, nothing));
  say(sweep->test(), sequence_of(3, 0));  // seen before
  const Result<SweepRecord> record = sweep->close();
  ASSERT_TRUE(record);
  for (const FlowRecord& flow : record->flows) {
    EXPECT_EQ(flow.received_by_peer, 50U);
    EXPECT_EQ(flow.trips.size(), 50U);
  }
}

TEST(Paths, AnInterruptKeepsWhatWasMeasured) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Parameters many = kFew;
  many.packets = 20'000;
  Result<Sweep> sweep = open(*client, many);
  ASSERT_TRUE(sweep);
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC));
  ASSERT_TRUE(sweep->run(interrupt.get(), [&](std::uint64_t sent) {
    const std::uint64_t one = 1;
    if (sent == 80) {
      EXPECT_EQ(write(interrupt.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    }
  }));
  const Result<SweepRecord> record = sweep->close();
  ASSERT_TRUE(record);
  EXPECT_TRUE(record->interrupted);
  EXPECT_LT(record->rounds, 20'000);
  for (const FlowRecord& flow : record->flows) {
    EXPECT_GE(flow.sent, 10U);
    EXPECT_EQ(flow.trips.size(), flow.sent);
  }
}

TEST(Paths, AServerThatGoesEndsTheSweep) {
  fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Parameters many = kFew;
  many.packets = 20'000;
  Result<Sweep> sweep = open(*client, many);
  ASSERT_TRUE(sweep);
  const Result<> ran = sweep->run(-1, [&](std::uint64_t sent) {
    if (sent == 80) {
      server.stop();
    }
  });
  EXPECT_FALSE(ran);
}

constexpr Parameters kTcp{.flows = 4, .time = 20s, .bits_per_s = 0, .tcp = true};

TEST(Paths, ByTcpEachFlowHasItsTurns) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<RateSweep> sweep = RateSweep::open(*client, kTcp, -1, [](const std::string&) {});
  ASSERT_TRUE(sweep) << describe(sweep.error());
  std::uint64_t turns = 0;
  ASSERT_TRUE(sweep->run(20ms, -1, [&](std::uint64_t done) { turns = done; }));
  EXPECT_EQ(turns, 8U);
  const auto flows = sweep->close();
  ASSERT_TRUE(flows) << describe(flows.error());
  for (const RateRecord& flow : *flows) {
    EXPECT_NE(flow.source_port, 0);
    EXPECT_GT(flow.first.bits_per_s().value_or(0), 0);
    EXPECT_GT(flow.second.bits_per_s().value_or(0), 0);
  }
}

TEST(Paths, ByTcpAnInterruptEndsIt) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<RateSweep> sweep = RateSweep::open(*client, kTcp, -1, [](const std::string&) {});
  ASSERT_TRUE(sweep);
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC));
  ASSERT_TRUE(sweep->run(20ms, interrupt.get(), [&](std::uint64_t) {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(interrupt.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
  }));
  const auto flows = sweep->close();
  ASSERT_TRUE(flows);
  EXPECT_EQ(std::ranges::count_if(*flows, [](const auto& flow) { return flow.first.bytes > 0; }),
            1);
}

TEST(Paths, ByTcpLimitsAreThoseOfStreams) {
  EXPECT_TRUE(paths_service()->check(body_of(kTcp), {.streams = 4}));
  EXPECT_FALSE(paths_service()->check(body_of(kTcp), {.streams = 3}));
  EXPECT_EQ(paths_service()->check(body_of(kTcp), {})->weight, control::Weight::Heavy);
  EXPECT_EQ(paths_service()->check(body_of(kFew), {})->weight, control::Weight::Light);
}

}  // namespace
}  // namespace chokepoint::probe::paths
