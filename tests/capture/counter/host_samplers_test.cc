// Samplers of the whole host: cpu_samplers.cc, other_processes.cc, protocol_samplers.cc,
// quota_sampler.cc.
#include <fmt/format.h>

#include "tests/capture/counter/watching.h"

namespace chokepoint::capture::counter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HostSamplersTest : public Watching {
 protected:
  // Busy and softirq ticks of each core; the rest of the time is idle.
  void cores(const std::vector<std::pair<int, int>>& ticks, int all) const {
    std::string text = "cpu 1 2 3 4 5 6 7 8 9 10\n";
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      const auto [busy, softirq] = ticks[i];
      text += fmt::format("cpu{} {} 0 0 {} 0 0 {} 0 0 0\n", i, busy - softirq, all - busy, softirq);
    }
    tree_.write("/proc/stat", text + "intr 5 cpu9 1\nctxt 3\n");
  }
};

TEST_F(HostSamplersTest, CoresByTimeBusyAndInSoftirq) {
  const std::unique_ptr<Sampler> sampler = cpu_sampler(tree_.root());
  cores({{10, 0}, {20, 5}}, 1000);
  sample(sampler);
  cores({{10, 0}, {110, 65}}, 1100);
  sample(sampler);
  Figures figures;
  sampler->report(figures);
  EXPECT_DOUBLE_EQ(figures.busiest_core_percent.value_or(0), 90);
  EXPECT_DOUBLE_EQ(figures.softirq_percent.value_or(0), 60);
  close();
  EXPECT_THAT(counters_.values("cpu.busy_ns", "cpu1"), ElementsAre(2e8, 11e8));
  EXPECT_THAT(counters_.values("cpu.softirq_ns", "cpu1"), ElementsAre(5e7, 65e7));
  EXPECT_THAT(counters_.values("cpu.busy_ns", "cpu0"), IsEmpty());
  EXPECT_THAT(counters_.values("cpu.busy_ns", "all"), ElementsAre(3e8, 12e8));
}

TEST_F(HostSamplersTest, Of256CoresRowsAreFewAndNoTimeIsLost) {
  constexpr int kTicks = 20;
  const std::unique_ptr<Sampler> sampler = cpu_sampler(tree_.root());
  for (int tick = 0; tick < kTicks; ++tick) {
    cores(std::vector<std::pair<int, int>>(256, {10 * tick, tick}), 10 * tick);
    sample(sampler, kSecond / 10);
  }
  close();
  std::size_t rows = 0;
  for (const auto& [name, found] : counters_.rows) {
    rows += found.size();
  }
  EXPECT_LE(rows, 2U * kTicks * (8U + 1U) + 2U * 256U);
  EXPECT_THAT(counters_.values("cpu.busy_ns", "cpu0").back(), 19 * 1e8);
  EXPECT_THAT(counters_.values("cpu.busy_ns", "all").back(), 256 * 19 * 1e8);
}

class OtherProcesses : public HostSamplersTest {
 protected:
  void process(pid_t pid, const std::string& name, int ticks, int start_ticks = 5) const {
    tree_.write(fmt::format("/proc/{}/stat", pid),
                fmt::format("{} ({}) R 1 1 1 0 -1 0 0 0 0 0 {} 0 0 0 20 0 1 0 {} 4096 10 0", pid,
                            name, ticks, start_ticks));
  }
  // So many milliseconds of the second in which tasks waited for a core.
  void second(int waited_ms) {
    waited_us_ += waited_ms * 1000;
    tree_.write("/proc/pressure/cpu",
                fmt::format("some avg10=0.00 avg60=0.00 avg300=0.00 total={}\n", waited_us_));
    pressure_->sample({clock_.monotonic_ns(), processes_}, sink());
    sample(sampler_);
  }

  int waited_us_ = 0;
  std::unique_ptr<Sampler> pressure_ = pressure_sampler(tree_.root());
  std::unique_ptr<Sampler> sampler_ = other_processes_sampler(tree_.root());
};

TEST_F(OtherProcesses, AreSummedUpByNameWithoutTheJobs) {
  processes_ = {{.pid = 100, .start_ticks = 5}};
  second(400);
  for (int round = 0; round < 3; ++round) {
    process(100, "python3", 100 * round);
    process(200, "worker-1", 7000 + 20 * round);
    process(201, "a (b) c", 40 * round);
    process(202, "worker-2", 10 * round);
    process(203, "idle", 5000 + round);
    if (round == 2) {
      process(204, "worker-3", 30, 9);  // came since
      process(205, "worker-4", 99);     // was there before, but not seen
    }
    second(400);
  }
  close();
  EXPECT_THAT(counters_.values("others.cpu_ns", "worker-*"), ElementsAre(3e8, 9e8));
  EXPECT_THAT(counters_.values("others.cpu_ns", "a (b) c"), ElementsAre(4e8, 8e8));
  EXPECT_EQ(counters_.rows.count({"others.cpu_ns", "idle"}), 0U);
  EXPECT_EQ(counters_.rows.count({"others.cpu_ns", "python3"}), 0U);
}

TEST_F(OtherProcesses, AreNotReadWhileNobodyWaitsForACore) {
  for (int round = 0; round < 4; ++round) {
    process(200, "worker", 100 * round);
    second(1);
  }
  close();
  EXPECT_EQ(counters_.rows.count({"others.cpu_ns", "worker"}), 0U);
}

TEST_F(OtherProcesses, AreFewSeriesHoweverManyNamesThereAre) {
  second(400);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100; ++i) {
      process(200 + i, fmt::format("name{}x", i), 100 * round);
    }
    second(400);
  }
  close();
  EXPECT_LE(counters_.rows.size(), 24U + 2U);
  EXPECT_EQ(counters_.rows.count({"others.cpu_ns", "other"}), 1U);
}

class Quotas : public HostSamplersTest {
 protected:
  void cgroup(const std::string& folder, const std::string& stat) const {
    tree_.write("/sys/fs/cgroup" + folder + "/cgroup.procs", "100\n");
    tree_.write("/sys/fs/cgroup" + folder + "/cpu.stat", stat);
  }

  std::unique_ptr<Sampler> sampler_ = quota_sampler(tree_.root());
};

TEST_F(Quotas, AreThoseOfTheJobsCgroupsAndAboveThem) {
  processes_ = {{.pid = 100, .start_ticks = 5}};
  tree_.write("/proc/100/cgroup", "0::/pods/one\n");
  cgroup("/pods", "usage_usec 7\nnr_periods 10\nnr_throttled 1\nthrottled_usec 3000\n");
  cgroup("/pods/one", "usage_usec 7\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  cgroup("/others", "usage_usec 7\nnr_periods 10\nnr_throttled 1\nthrottled_usec 3000\n");
  sample(sampler_);
  cgroup("/pods", "usage_usec 7\nnr_periods 20\nnr_throttled 2\nthrottled_usec 500000\n");
  sample(sampler_);
  close();
  EXPECT_THAT(counters_.values("cgroup.throttled_ns", "/pods"), ElementsAre(3e6, 5e8));
  EXPECT_EQ(series_.size(), 1U);
}

TEST_F(Quotas, OfVersion1AreTheProcessorControllers) {
  processes_ = {{.pid = 100, .start_ticks = 5}};
  tree_.write("/proc/100/cgroup", "5:memory:/m\n4:cpu,cpuacct:/q\n1:cpuset:/s\n0::/\n");
  cgroup("/cpu,cpuacct/q", "nr_periods 10\nnr_throttled 1\nthrottled_time 77\n");
  cgroup("/cpuset/s", "nr_periods 10\nnr_throttled 1\nthrottled_time 88\n");
  sample(sampler_);
  close();
  EXPECT_THAT(counters_.values("cgroup.throttled_ns", "/cpu,cpuacct/q"), ElementsAre(77));
  EXPECT_EQ(series_.size(), 1U);
}

TEST_F(HostSamplersTest, PressureInNanoseconds) {
  const std::unique_ptr<Sampler> sampler = pressure_sampler(tree_.root());
  const auto write = [&](int some, int full) {
    tree_.write("/proc/pressure/cpu",
                fmt::format("some avg10=6.99 avg60=3.67 avg300=1.17 total={}\n"
                            "full avg10=0.00 avg60=0.00 avg300=0.00 total={}\n",
                            some, full));
  };
  write(1000, 0);
  sample(sampler);
  write(1500, 0);
  sample(sampler);
  EXPECT_EQ(sink().remarks().size(), 2U) << "memory and io are not there";
  close();
  EXPECT_THAT(counters_.values("pressure.some_ns", "cpu"), ElementsAre(1e6, 1.5e6));
  EXPECT_THAT(counters_.values("pressure.full_ns", "cpu"), IsEmpty());
}

TEST_F(HostSamplersTest, TcpByTheKernelsNames) {
  const std::unique_ptr<Sampler> sampler = protocol_sampler(tree_.root());
  const auto write = [&](int sent, int retransmitted, int timeouts, int discards) {
    tree_.write("/proc/net/snmp",
                fmt::format("Ip: Forwarding InDiscards\nIp: 2 0\n"
                            "Tcp: RtoAlgorithm OutSegs RetransSegs\nTcp: 1 {} {}\n",
                            sent, retransmitted));
    tree_.write("/proc/net/netstat",
                fmt::format("TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 0 {}\n", timeouts));
    tree_.write("/proc/net/snmp6", fmt::format("Ip6InDiscards   \t{}\nIcmp6InMsgs 5\n", discards));
  };
  write(100, 2, 1, 0);
  sample(sampler);
  write(200, 5, 1, 3);
  sample(sampler);
  close();
  EXPECT_THAT(counters_.values("tcp.OutSegs", ""), ElementsAre(100, 200));
  EXPECT_THAT(counters_.values("tcp.RetransSegs", ""), ElementsAre(2, 5));
  EXPECT_THAT(counters_.values("ip6.InDiscards", ""), ElementsAre(0, 3));
  EXPECT_THAT(counters_.values("tcpext.TCPTimeouts", ""), IsEmpty());
  EXPECT_EQ(series_.size(), 3U);
}

TEST_F(HostSamplersTest, TablesThatAreNoneArePassedOver) {
  const std::unique_ptr<Sampler> sampler = protocol_sampler(tree_.root());
  tree_.write("/proc/net/snmp", "Tcp: OutSegs\nUdp: 5\nTcp:\n");
  tree_.write("/proc/net/netstat", "TcpExt: TCPTimeouts TCPRcvQDrop\nTcpExt: -1\n");
  tree_.write("/proc/net/snmp6", "Ip6InDiscards");
  sample(sampler);
  close();
  EXPECT_THAT(series_, IsEmpty());
}

TEST_F(HostSamplersTest, SoftnetByCoreAndTogether) {
  const std::unique_ptr<Sampler> sampler = softnet_sampler(tree_.root());
  const auto write = [&](int dropped, int squeezed) {
    tree_.write("/proc/net/softnet_stat",
                fmt::format("03551efd {:08x} 00000001 0 0 0 0 0 0 0 0 0 00000000 0 0\n"
                            "079e8f59 00000000 {:08x} 0 0 0 0 0 0 0 0 0 00000004 0 0\n",
                            dropped, squeezed));
  };
  write(0, 16);
  sample(sampler);
  write(10, 32);
  sample(sampler);
  close();
  EXPECT_THAT(counters_.values("softnet.dropped", "all"), ElementsAre(0, 10));
  EXPECT_THAT(counters_.values("softnet.time_squeeze", "all"), ElementsAre(17, 33));
  EXPECT_THAT(counters_.values("softnet.time_squeeze", "cpu4"), ElementsAre(16, 32));
  EXPECT_THAT(counters_.values("softnet.time_squeeze", "cpu0"), IsEmpty());
}

TEST_F(HostSamplersTest, RdmaByCommonNamesInBytes) {
  const std::unique_ptr<Sampler> sampler = rdma_sampler(tree_.root());
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  const auto write = [&](std::uint64_t words, std::uint64_t out_of_sequence) {
    tree_.write(port + "counters/port_xmit_data", fmt::format("{}\n", words));
    tree_.write(port + "counters/symbol_error", "0\n");
    tree_.write(port + "hw_counters/out_of_sequence", fmt::format("{}\n", out_of_sequence));
    tree_.write(port + "hw_counters/np_cnp_sent", fmt::format("{}\n", words / 10));
    tree_.write(port + "hw_counters/lifespan", "10\n");
  };
  write(1000, 4'294'967'290);
  sample(sampler);
  write(2000, 4);
  sample(sampler);
  close();
  EXPECT_THAT(counters_.values("rdma.sent_bytes", "mlx5_0/1"), ElementsAre(4000, 8000));
  EXPECT_THAT(counters_.values("rdma.out_of_sequence", "mlx5_0/1"),
              ElementsAre(4'294'967'290, 4'294'967'300));
  EXPECT_THAT(counters_.values("rdma.cnp_sent", "mlx5_0/1"), ElementsAre(100, 200));
  EXPECT_EQ(series_.size(), 3U);
}

TEST_F(HostSamplersTest, RdmaDataThatBeganAnewDidNotWrap) {
  const std::unique_ptr<Sampler> sampler = rdma_sampler(tree_.root());
  for (const int words : {900'000'000, 1'000'000'000, 10}) {
    tree_.write("/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data",
                fmt::format("{}\n", words));
    sample(sampler);
  }
  close();
  EXPECT_THAT(counters_.values("rdma.sent_bytes", "mlx5_0/1"),
              ElementsAre(3'600'000'000, 4'000'000'000, 4'000'000'040));
}

}  // namespace
}  // namespace chokepoint::capture::counter
