// What the watcher makes of what a kernel tells, in a time that the test makes pass.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/base/record/record_folder.h"
#include "tests/capture/socket/fake_kernel.h"

namespace chokepoint::capture::socket {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1'000 * kMs;

class Watch : public record::RecordFolder {
 protected:
  Watch() {
    const auto own = packet::as_in_packets(*net::Address::parse("10.0.0.1"));
    kernel_.interfaces.add(2, "eth0");
    kernel_.interfaces.add(own, 2);
  }

  void start(const Options& options = {}) {
    writer_ = open_writer();
    registry_ = std::make_unique<FlowRegistry>(*writer_);
    Means means;
    means.open = [&](const Network& network) -> Result<std::unique_ptr<Kernel>> {
      if (network.inode != 0) {
        return fail(ErrorKind::Permission, "enter network namespace", "4711", "not permitted");
      }
      return std::make_unique<FakeKernel>(kernel_);
    };
    means.cpu_ns = [&] { return cpu_ns_ += dump_cost_ns_; };
    auto made = make_watcher(options, host_.root(), clock_, *writer_, *registry_, std::move(means));
    ASSERT_TRUE(made);
    watcher_ = *std::move(made);
  }

  void add_process(pid_t pid, std::int64_t record_id, std::optional<int> rank = {}) {
    host_.write(fmt::format("/proc/{}/fd/0", pid), "");
    processes_.push_back({.pid = pid,
                          .start_ticks = static_cast<std::uint64_t>(pid),
                          .start_ns = clock_.monotonic_ns(),
                          .rank = {.rank = rank},
                          .record_id = record_id});
  }
  void hold(pid_t pid, std::uint32_t inode) const {
    host_.link(fmt::format("/proc/{}/fd/{}", pid, inode), fmt::format("socket:[{}]", inode));
  }
  // The socket of the job's process 100 that talks with 10.0.0.2.
  FakeSocket& open_one(std::uint64_t number = 1) {
    const auto inode = static_cast<std::uint32_t>(5'000 + number);
    hold(100, inode);
    return kernel_.open(number, inode, "10.0.0.1", static_cast<std::uint16_t>(40'000 + number),
                        "10.0.0.2", 29'500);
  }

  // Ticks when the watcher wants it; `before` each.
  void run(std::int64_t span_ns, const std::function<void()>& before = [] {}) {
    const std::int64_t end_ns = clock_.monotonic_ns() + span_ns;
    while (clock_.monotonic_ns() < end_ns) {
      before();
      const std::int64_t next_ns = std::min(watcher_->tick(processes_), end_ns);
      clock_.advance(next_ns - clock_.monotonic_ns());
    }
  }
  Figures figures() const { return watcher_->figures(); }
  record::Reader finished() {
    watcher_->finish(processes_);
    writer_->close();
    return open_reader();
  }

  FakeHost kernel_;
  std::int64_t cpu_ns_ = 0;
  std::int64_t dump_cost_ns_ = 0;
  std::unique_ptr<record::Writer> writer_;
  std::unique_ptr<FlowRegistry> registry_;
  std::unique_ptr<Watcher> watcher_;
  job::JobProcesses processes_;
};

TEST_F(Watch, AnIdleConnectionCostsNothing) {
  start();
  add_process(100, 7);
  open_one();
  run(5 * kSecond);
  const std::size_t looks = kernel_.looks;
  const std::size_t dumps = kernel_.dumps;
  run(10 * kSecond);
  EXPECT_EQ(kernel_.looks, looks);
  EXPECT_LE(kernel_.dumps - dumps, 41U);
  record::Reader reader = finished();
  EXPECT_EQ(rows<record::SocketSample>(reader).size(), 2U) << "the first and the last";
}

TEST_F(Watch, AFlatTimeHasBothItsEnds) {
  start();
  add_process(100, 7);
  FakeSocket& one = open_one();
  run(kSecond);
  const std::int64_t before_ns = clock_.monotonic_ns();
  one.send(1'000);
  run(kSecond);
  record::Reader reader = finished();
  const auto samples = rows<record::SocketSample>(reader);
  ASSERT_GE(samples.size(), 3U);
  EXPECT_EQ(samples[1].bytes_sent, 0);
  EXPECT_GT(samples[1].t_ns, before_ns - 300 * kMs);
  EXPECT_EQ(samples[2].bytes_sent, 1'000);
}

TEST_F(Watch, MoreThanMayBeSampledTakeTurns) {
  start({.most_samples_per_s = 100});
  add_process(100, 7);
  for (std::uint64_t number = 1; number <= 50; ++number) {
    open_one(number);
  }
  run(10 * kSecond, [&] {
    for (auto& [cookie, socket] : kernel_.sockets) {
      socket.send(100);
    }
  });
  record::Reader reader = finished();
  std::map<std::int64_t, int> samples;
  for (const record::SocketSample& sample : rows<record::SocketSample>(reader)) {
    ++samples[sample.flow];
  }
  ASSERT_EQ(samples.size(), 50U);
  for (const auto& [flow, count] : samples) {
    EXPECT_GE(count, 10) << flow;
    EXPECT_LE(count, 25) << flow;
  }
}

TEST_F(Watch, ListsThatAreDearAreSeldom) {
  start();
  add_process(100, 7);
  open_one();
  dump_cost_ns_ = 20 * kMs;
  run(20 * kSecond);
  EXPECT_LE(kernel_.dumps, 11U) << "1 % of a core";
  EXPECT_GE(kernel_.dumps, 9U);
}

TEST_F(Watch, AnEndThatAcknowledgesNothingIsSilent) {
  start();
  add_process(100, 7);
  FakeSocket& one = open_one();
  run(kSecond);
  one.info.tcpi_unacked = 3;
  one.info.tcpi_bytes_sent += 4'000;
  const std::int64_t sent_ns = clock_.monotonic_ns();
  run(2 * kSecond);
  EXPECT_TRUE(figures().silent.empty()) << "nothing was sent again";
  one.info.tcpi_total_retrans += 2;
  run(2 * kSecond);
  ASSERT_EQ(figures().silent.size(), 1U);
  EXPECT_EQ(figures().silent[0].unacked_packets, 3);
  EXPECT_EQ(figures().silent[0].resent_packets, 2);
  EXPECT_NEAR(static_cast<double>(figures().silent[0].since_ns), static_cast<double>(sent_ns),
              1.5e9);
  one.info.tcpi_bytes_acked += 4'000;
  one.info.tcpi_unacked = 0;
  run(2 * kSecond);
  EXPECT_TRUE(figures().silent.empty());
}

TEST_F(Watch, TheDirectionIsTheLocalEnds) {
  start();
  add_process(100, 7);
  const FakeSocket one = open_one();
  packet::Ends turned = one.ends;
  std::swap(turned.source, turned.destination);
  std::swap(turned.source_port, turned.destination_port);
  record::Flow row{.protocol = "tcp", .a_address = "10.0.0.2", .b_address = "10.0.0.1"};
  const Sighting packets = registry_->seen_by_packets(turned, 0, 1, row);
  run(kSecond);
  EXPECT_TRUE(packets.entry->is_job());
  record::Reader reader = finished();
  EXPECT_EQ(reader.all<record::Flow>()->size(), 1U);
  EXPECT_EQ(rows<record::SocketSample>(reader).at(0).direction, record::Direction::BToA);
}

TEST_F(Watch, ARankThatIsKnownLateTakesItsSockets) {
  start();
  add_process(101, 1);
  add_process(100, 2);
  add_process(102, 3, 0);
  for (const std::uint32_t inode : {5'001U, 5'002U}) {
    hold(101, inode);
    hold(100, inode);
    kernel_.open(inode, inode, "10.0.0.1", static_cast<std::uint16_t>(inode), "10.0.0.2", 80);
  }
  hold(102, 5'001);
  run(kSecond);
  EXPECT_EQ(figures().connections, 2U);
  processes_[0].rank.rank = 1;
  run(kSecond);
  record::Reader reader = finished();
  const auto flows = *reader.all<record::Flow>();
  ASSERT_EQ(flows.size(), 2U);
  for (const record::Flow& flow : flows) {
    EXPECT_EQ(flow.process, 1) << "101 has a rank by now";
    EXPECT_EQ(flow.interface, "eth0");
  }
}

TEST_F(Watch, AProcessThatIsKnownLateBringsItsConnections) {
  start();
  add_process(100, 7);
  hold(200, 6'000);
  kernel_.open(1, 6'000, "10.0.0.1", 40'000, "10.0.0.2", 80);
  run(3 * kSecond);
  EXPECT_EQ(figures().connections, 0U);
  add_process(200, 8);
  run(kSecond);
  EXPECT_EQ(figures().connections, 1U);
}

TEST_F(Watch, WhatWasThereBeforeDoesNotCount) {
  FakeSocket& old = open_one(1);
  old.send(1'000'000);
  start();
  add_process(100, 7);
  processes_[0].start_ns -= 100 * kSecond;
  run(kSecond);
  old.send(500);
  open_one(2).send(300);
  run(3 * kSecond);
  EXPECT_EQ(figures().connections, 2U);
  EXPECT_EQ(figures().sent_bytes, 800U);
}

TEST_F(Watch, AConnectionThatNobodyFetchedIsTheListeners) {
  start();
  add_process(100, 7);
  add_process(101, 8);
  hold(100, 5'000);
  kernel_.listen(1, 5'000, 29'500);
  kernel_.open(2, 0, "10.0.0.1", 29'500, "10.0.0.2", 40'000);
  run(kSecond);
  EXPECT_EQ(figures().connections, 1U);
  hold(101, 5'001);
  kernel_.sockets.at(2).inode = 5'001;
  run(kSecond);
  EXPECT_EQ(figures().connections, 1U);
  record::Reader reader = finished();
  EXPECT_EQ(reader.all<record::Flow>()->at(0).process, 8);
}

class Unseen : public Watch {
 protected:
  // Opened, used and closed with nobody looking.
  void flash(std::uint64_t cookie, const std::string& remote, std::uint16_t local_port,
             std::uint16_t remote_port, std::uint64_t bytes = 100) {
    kernel_.open(cookie, 0, "10.0.0.1", local_port, remote, remote_port).send(bytes);
    kernel_.close(cookie);
  }
};

TEST_F(Unseen, AreTheJobsWhereItListens) {
  start();
  add_process(100, 7);
  hold(100, 5'000);
  kernel_.listen(1, 5'000, 29'500);
  run(kSecond);
  flash(2, "10.0.0.9", 29'500, 40'000);
  flash(3, "10.0.0.1", 40'001, 29'500);
  flash(4, "10.0.0.9", 40'002, 29'500);
  flash(5, "10.0.0.9", 29'501, 40'003);
  flash(6, "10.0.0.9", 29'500, 40'004, 0);
  run(3 * kSecond);
  EXPECT_EQ(figures().connections_ever, 2U) << "to it, and from here to it";
  EXPECT_EQ(figures().sent_bytes, 200U);
  EXPECT_THAT(figures().remarks, Contains(HasSubstr("1 to its listening ports, 1 from those")));
  record::Reader reader = finished();
  const auto flows = *reader.all<record::Flow>();
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[0].process, 7);
  EXPECT_TRUE(flows[0].end_ns.known());
}

// On a host whose list of sockets is dear, the second dump comes late.
TEST_F(Unseen, CountAlsoBetweenTheFirstTwoDumps) {
  start();
  add_process(100, 7);
  hold(100, 5'000);
  kernel_.listen(1, 5'000, 29'500);
  dump_cost_ns_ = 6 * kMs;
  run(100 * kMs);
  flash(2, "10.0.0.9", 29'500, 40'000);
  run(100 * kMs);
  ASSERT_EQ(kernel_.dumps, 1U);
  EXPECT_EQ(figures().sent_bytes, 100U);
}

TEST_F(Unseen, AreTheJobsWhereItAloneTalks) {
  start();
  add_process(100, 7);
  open_one(1);
  kernel_.open(2, 9'999, "10.0.0.1", 40'000, "10.0.0.3", 22);
  run(kSecond);
  flash(3, "10.0.0.2", 40'001, 29'501);
  flash(4, "10.0.0.3", 40'002, 22);
  run(3 * kSecond);
  EXPECT_EQ(figures().connections_ever, 2U);
  EXPECT_EQ(figures().sent_bytes, 100U);
  kernel_.open(5, 9'998, "10.0.0.1", 40'003, "10.0.0.2", 22);
  run(kSecond);
  flash(6, "10.0.0.2", 40'004, 29'501);
  run(3 * kSecond);
  EXPECT_EQ(figures().sent_bytes, 100U) << "others talk there, too, by now";
}

TEST_F(Unseen, AListenerThatIsFoundLateTellsStill) {
  start();
  add_process(100, 7);
  run(3 * kSecond);
  flash(2, "10.0.0.9", 29'500, 40'000);
  hold(100, 5'000);
  kernel_.listen(1, 5'000, 29'500);
  run(3 * kSecond);
  EXPECT_EQ(figures().connections_ever, 1U);
}

TEST_F(Watch, WhatVanishesWithoutALastWordIsClosed) {
  start();
  add_process(100, 7);
  open_one().send(1'000);
  run(kSecond);
  const FakeSocket gone = kernel_.sockets.at(1);
  kernel_.sockets.clear();
  run(3 * kSecond);
  EXPECT_EQ(figures().connections, 0U);
  EXPECT_EQ(figures().sent_bytes, 1'000U);
  kernel_.last_words.push_back(gone);
  kernel_.last_words.back().send(50);
  run(kSecond);
  EXPECT_EQ(figures().sent_bytes, 1'050U) << "late, and not twice";
  EXPECT_EQ(figures().connections_ever, 1U);
}

TEST_F(Watch, TroubleIsARemarkAndPasses) {
  kernel_.trouble = from_errno(ENOENT, "list sockets", "sock_diag");
  kernel_.events_trouble = from_errno(ENOBUFS, "listen for closed sockets", "sock_diag");
  start();
  add_process(100, 7);
  add_process(101, 8);
  processes_[1].network = 4'711;
  open_one();
  run(kSecond);
  EXPECT_EQ(figures().connections, 0U);
  EXPECT_THAT(figures().remarks, Contains(HasSubstr("list sockets")));
  EXPECT_THAT(figures().remarks, Contains(HasSubstr("listen for closed sockets")));
  EXPECT_THAT(figures().remarks, Contains(HasSubstr("enter network namespace")));
  EXPECT_LE(kernel_.dumps, 1U) << "not again and again";
  kernel_.trouble.reset();
  run(15 * kSecond);
  EXPECT_EQ(figures().connections, 1U);
}

TEST_F(Watch, SharesAreOfTheLastSecond) {
  start();
  add_process(100, 7);
  FakeSocket& one = open_one();
  run(3 * kSecond, [&] {
    one.info.tcpi_busy_time += 10'000;
    one.info.tcpi_rwnd_limited += 4'000;
    one.info.tcpi_sndbuf_limited += 1'000;
  });
  const Shares shares = figures().shares;
  EXPECT_NEAR(shares.receive_window, 0.4, 0.01);
  EXPECT_NEAR(shares.send_buffer, 0.1, 0.01);
  EXPECT_NEAR(shares.network, 0.5, 0.01);
  EXPECT_NEAR(shares.busy, 0.5, 0.1);
  run(3 * kSecond);
  EXPECT_EQ(figures().shares.busy, 0);
}

}  // namespace
}  // namespace chokepoint::capture::socket
