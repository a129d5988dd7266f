// Against the running kernel, in a network namespace of the test's own.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>

#include "base/net/tcp_info.h"
#include "tests/capture/socket/socket_pair.h"
#include "tests/capture/socket/watch_fixture.h"
#include "tests/capture/source/own_network.h"

namespace chokepoint::capture::socket {
namespace {

using source::in_own_network;
using source::ip;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;

constexpr std::int64_t kRow = 77;

class LiveSockets : public WatchFixture {
 protected:
  void SetUp() override {
    if (const std::string lacks = source::lacks_for_own_network(); !lacks.empty()) {
      GTEST_SKIP() << lacks;
    }
    processes_ = {this_process()};
  }

  job::JobProcess this_process() const {
    return {.pid = getpid(), .start_ticks = 1, .start_ns = time_.monotonic_ns(), .record_id = kRow};
  }

  static void in_own_loopback(const std::function<void()>& body) {
    in_own_network([&] {
      ip("link set lo up");
      body();
    });
  }
};

TEST_F(LiveSockets, SamplesAreWhatTheSocketItselfTells) {
  in_own_loopback([&] {
    watch();
    const Listener listener;
    const SocketPair pair = connect_over(listener);
    ASSERT_TRUE(run_until_connections(2));
    carry(pair, 3'000'000);
    run_for(std::chrono::milliseconds(100));
    carry(pair, 100'000);
    const net::TcpInfo info = *net::read_tcp_info(pair.client.get());
    record::Reader reader = finished();
    const auto flows = *reader.all<record::Flow>();
    ASSERT_EQ(flows.size(), 1U);
    EXPECT_EQ(flows[0].process, kRow);
    EXPECT_EQ(flows[0].interface, "lo");
    EXPECT_EQ(flows[0].a_address, "127.0.0.1");
    EXPECT_FALSE(flows[0].local_end.known()) << "both ends are here";
    const bool is_client_a = flows[0].b_port == listener.port();
    record::SocketSample last;
    for (const record::SocketSample& sample : rows<record::SocketSample>(reader)) {
      EXPECT_EQ(sample.flow, flows[0].id);
      last = (sample.direction == record::Direction::AToB) == is_client_a ? sample : last;
    }
    EXPECT_EQ(last.state, 1);
    EXPECT_EQ(last.bytes_acked, *info.bytes_acknowledged);
    EXPECT_EQ(last.bytes_sent, 3'100'000);
    EXPECT_EQ(last.cwnd_packets, info.congestion_window_segments);
    EXPECT_EQ(last.mss_bytes, info.mss_bytes);
    EXPECT_EQ(last.min_rtt_us, std::llround(*info.min_rtt_ms * 1'000));
    EXPECT_EQ(last.delivered, *info.delivered_segments);
    EXPECT_EQ(last.busy_us, info.chrono->busy_us);
    EXPECT_EQ(last.send_window_bytes, *info.send_window_bytes);
    EXPECT_TRUE(last.pacing_bytes_per_s.known());
    EXPECT_TRUE(last.app_limited.known());
    EXPECT_TRUE(last.receive_space_bytes.known());
    EXPECT_EQ(last.send_queue_bytes, 0);
    const Figures figures = watcher_->figures();
    EXPECT_EQ(figures.connections, 2U);
    EXPECT_EQ(figures.sent_bytes, 3'100'000U);
    EXPECT_EQ(figures.received_bytes, 3'100'000U);
    EXPECT_THAT(figures.remarks, testing::IsEmpty());
  });
}

TEST_F(LiveSockets, BusyOnesAreSampledEvery20Ms) {
  in_own_loopback([&] {
    watch();
    const Listener listener;
    const SocketPair pair = connect_over(listener);
    ASSERT_TRUE(run_until_connections(2));
    const std::int64_t start_ns = time_.monotonic_ns();
    for (int step = 0; step < 100; ++step) {
      carry(pair, 10'000);
      run_for(std::chrono::milliseconds(10));
    }
    const auto looks = static_cast<std::size_t>((time_.monotonic_ns() - start_ns) / 20'000'000);
    run_for(std::chrono::milliseconds(500));
    record::Reader reader = finished();
    std::array<std::size_t, 2> samples{};
    for (const record::SocketSample& sample : rows<record::SocketSample>(reader)) {
      ++samples.at(static_cast<std::size_t>(sample.direction));
    }
    EXPECT_GT(samples[0], 15U) << "a second of it; a noisy host sleeps longer";
    EXPECT_LE(samples[0], looks + 10) << "and nothing once it was idle";
    EXPECT_GT(samples[1], 15U);
  });
}

TEST_F(LiveSockets, BothFamiliesAndMappedAddressesAreKnown) {
  in_own_loopback([&] {
    watch();
    const Listener dual("::");
    const SocketPair ipv6 = connect_over(dual, "::1");
    const SocketPair mapped = connect_over(dual, "127.0.0.1");
    ASSERT_TRUE(run_until_connections(4));
    record::Reader reader = finished();
    const auto flows = *reader.all<record::Flow>();
    ASSERT_EQ(flows.size(), 2U) << "one a connection, whichever the family of its ends' sockets";
    EXPECT_THAT(flows, Contains(Field(&record::Flow::a_address, "::1")));
    EXPECT_THAT(flows, Contains(Field(&record::Flow::a_address, "127.0.0.1")));
    EXPECT_THAT(watcher_->figures().peers, testing::SizeIs(2));
  });
}

TEST_F(LiveSockets, WhatClosesBetweenTwoLooksIsCounted) {
  in_own_loopback([&] {
    watch();
    const Listener listener;
    run_for(std::chrono::milliseconds(300));
    constexpr std::uint64_t kConnections = 50;
    for (std::uint64_t number = 0; number < kConnections; ++number) {
      carry(connect_over(listener), 100'000);
    }
    const auto has_all = [&](const Figures& now) {
      return now.sent_bytes >= kConnections * 100'000 && now.connections_ever == 2 * kConnections;
    };
    EXPECT_TRUE(run_until(has_all)) << watcher_->figures().sent_bytes;
    const Figures figures = watcher_->figures();
    EXPECT_EQ(figures.sent_bytes, kConnections * 100'000);
    // The kernel counts what says that the other end has finished as a byte.
    EXPECT_GE(figures.received_bytes, kConnections * 100'000);
    EXPECT_LE(figures.received_bytes, kConnections * 100'002);
    EXPECT_EQ(figures.connections, 0U);
    EXPECT_EQ(figures.connections_ever, 2 * kConnections);
    EXPECT_THAT(figures.remarks, Contains(HasSubstr("closed before they were read")));
    record::Reader reader = finished();
    const auto flows = *reader.all<record::Flow>();
    EXPECT_EQ(flows.size(), kConnections);
    for (const record::Flow& flow : flows) {
      EXPECT_TRUE(flow.end_ns.known());
    }
  });
}

TEST_F(LiveSockets, SumsKeepWhatClosed) {
  in_own_loopback([&] {
    watch();
    const Listener listener;
    {
      const SocketPair pair = connect_over(listener);
      ASSERT_TRUE(run_until_connections(2));
      carry(pair, 1'000'000);
    }
    ASSERT_TRUE(run_until_connections(0));
    EXPECT_EQ(watcher_->figures().sent_bytes, 1'000'000U);
    EXPECT_EQ(watcher_->figures().connections_ever, 2U);
    record::Reader reader = finished();
    EXPECT_TRUE(reader.all<record::Flow>()->at(0).end_ns.known());
    std::int64_t sent = 0;
    for (const record::SocketSample& sample : rows<record::SocketSample>(reader)) {
      sent = std::max(sent, sample.bytes_sent.value_or(0));
    }
    EXPECT_EQ(sent, 1'000'000) << "the last word is a row";
  });
}

// A process that is not the job's connects, and is connected to.
TEST_F(LiveSockets, OtherProcessesSocketsAreNotTheJobs) {
  in_own_loopback([&] {
    watch();
    const Listener of_job;
    const SocketPair of_others = connect_over(of_job);
    Child job([&](Child& self) {
      const sys::Descriptor mine = connect_to("127.0.0.1", of_job.port());
      self.send_word(1);
      self.receive_word();
    });
    job.receive_word();
    const sys::Descriptor accepted = of_job.accept();
    processes_ = {
        {.pid = job.pid(), .start_ticks = 2, .start_ns = time_.monotonic_ns(), .record_id = 8}};
    // The child has copies of what this process held when it forked: those two and the listener.
    EXPECT_TRUE(run_until_connections(3));
    run_for(std::chrono::milliseconds(500));
    EXPECT_EQ(watcher_->figures().connections, 3U) << "not the accepted one";
    job.kill();
    record::Reader reader = finished();
    const auto flows = *reader.all<record::Flow>();
    for (const record::Flow& flow : flows) {
      EXPECT_EQ(flow.process, 8);
    }
  });
}

TEST_F(LiveSockets, ASlowReaderShowsAsTheReceiveWindow) {
  in_own_loopback([&] {
    watch();
    const Listener listener;
    const SocketPair pair = connect_over(listener);
    ASSERT_TRUE(run_until_connections(2));
    ASSERT_EQ(fcntl(pair.client.get(), F_SETFL, O_NONBLOCK), 0);
    const std::vector<char> piece(1 << 16);
    while (send(pair.client.get(), piece.data(), piece.size(), MSG_NOSIGNAL) > 0) {
    }
    EXPECT_TRUE(run_until([](const Figures& now) { return now.shares.receive_window > 0.5; }));
    const Shares shares = watcher_->figures().shares;
    EXPECT_GT(shares.busy, 0.5);
    EXPECT_LT(shares.send_buffer, 0.3);
    EXPECT_NEAR(shares.receive_window + shares.send_buffer + shares.network, 1, 1e-9);
  });
}

TEST_F(LiveSockets, AConnectionInAnotherNetworkIsThere) {
  in_own_network([&] {
    ip("addr add 10.99.0.1/24 dev near");
    Child job([](Child& self) {
      self.send_word(unshare(CLONE_NEWNET) == 0 ? 1 : 0);
      const std::uint16_t port = self.receive_word();
      ip("addr add 10.99.0.2/24 dev far");
      ip("link set far up");
      const sys::Descriptor mine = connect_to("10.99.0.1", port);
      self.send_word(1);
      self.receive_word();
    });
    ASSERT_EQ(job.receive_word(), 1);
    ip("link set far netns " + std::to_string(job.pid()));
    const Listener listener("10.99.0.1");
    job.send_word(listener.port());
    job.receive_word();
    const std::string link =
        std::filesystem::read_symlink("/proc/" + std::to_string(job.pid()) + "/ns/net").string();
    const std::uint64_t network = std::stoull(link.substr(link.find('[') + 1));
    processes_ = {{.pid = job.pid(),
                   .start_ticks = 2,
                   .start_ns = time_.monotonic_ns(),
                   .network = network,
                   .record_id = 8}};
    watch();
    EXPECT_TRUE(run_until_connections(1));
    const Figures figures = watcher_->figures();
    ASSERT_EQ(figures.peers.size(), 1U);
    EXPECT_EQ(figures.peers[0].interface, "far");
    EXPECT_EQ(figures.peers[0].network, network);
    EXPECT_EQ(figures.peers[0].pid, job.pid());
    EXPECT_THAT(figures.remarks, testing::IsEmpty());
    job.kill();
    EXPECT_TRUE(run_until_connections(0)) << "the namespace went, too";
    processes_.clear();
    run_for(std::chrono::milliseconds(50));
    record::Reader reader = finished();
    const auto flows = *reader.all<record::Flow>();
    ASSERT_EQ(flows.size(), 1U);
    EXPECT_EQ(flows[0].a_address, "10.99.0.2");
    EXPECT_EQ(flows[0].local_end, 0);
    EXPECT_EQ(flows[0].interface, "far");
    EXPECT_EQ(flows[0].process, 8);
  });
}

TEST_F(LiveSockets, TwoThousandAreWatched) {
  const rlimit many{.rlim_cur = 4'096, .rlim_max = 4'096};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &many), 0);
  const Listener listener;
  std::vector<SocketPair> pairs;
  std::generate_n(std::back_inserter(pairs), 1'000, [&] { return connect_over(listener); });
  watch();
  ASSERT_TRUE(run_until_connections(2'000));
  for (int round = 0; round < 50; ++round) {
    std::ranges::for_each(pairs, [](const SocketPair& pair) { carry(pair, 100); });
    run_for(std::chrono::milliseconds(20));
  }
  record::Reader reader = finished();
  EXPECT_EQ(reader.all<record::Flow>()->size(), 1'000U);
  const auto samples = *reader.count<record::SocketSample>();
  EXPECT_GT(samples, 2 * 2'000);
  EXPECT_LT(samples, 2 * 2'000 + 2'000 * 25) << "first, last, and what a second may have";
}

}  // namespace
}  // namespace chokepoint::capture::socket
