// Hosts that are not there, their programs, names, clocks, failed tests, and what doctor said.

#include "tests/preflight/judge/judged.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Absence {
  Presence presence = Presence::Present;
  const char* found = "";
  const char* step = "";
};

class Absences : public testing::TestWithParam<Absence> {};

TEST_P(Absences, AreToldWithTheirReason) {
  Cluster cluster({.hosts = 4});
  cluster.remove(2, GetParam().presence);
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), ElementsAre("host.present: gpu2"));
  const checks::Check check = judgement.findings.front().check;
  EXPECT_EQ(judgement.verdict, Status::Critical);
  EXPECT_THAT(check.found, HasSubstr(GetParam().found));
  EXPECT_THAT(check.next_step, HasSubstr(GetParam().step));
}

INSTANTIATE_TEST_SUITE_P(
    OfEachKind, Absences,
    testing::Values(Absence{Presence::Unresolved, "leads nowhere", "getent hosts gpu2"},
                    Absence{Presence::Unreachable, "no answer", "ping -c 3 gpu2"},
                    Absence{Presence::NoAgent, "no agent", "ssh gpu2 'chokepoint serve"},
                    Absence{Presence::Refused, "refused the connection", "same key"},
                    Absence{Presence::Strange, "no agent of this version", "--version"},
                    Absence{Presence::Lost, "in the midst", "dmesg"}));

TEST(Presence, OfAHostThatWentTellsDuringWhat) {
  Cluster cluster({.hosts = 4});
  cluster.host(1).presence = Presence::Lost;
  cluster.host(1).lost_during = "round 2 of 3";
  cluster.host(1).error = Error{ErrorKind::Timeout, "agent", "gpu1", 0, "silent for 10 s"};
  cluster.measured().troubles.push_back(
      {.a = 0, .b = 1, .test = "tcp", .error = {ErrorKind::Timeout, "tcp", "gpu1", 0, "gone"}});
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), ElementsAre("host.present: gpu1"));
  EXPECT_THAT(judgement.findings.front().check.found, HasSubstr("during round 2 of 3"));
  EXPECT_THAT(judgement.findings.front().check.why, HasSubstr("silent for 10 s"));
}

TEST(Versions, ThatDifferAreNamed) {
  Cluster cluster({.hosts = 4});
  cluster.host(3).program = "chokepoint 0.0.9";
  EXPECT_THAT(troubles_of(cluster), ElementsAre("host.version: gpu3"));
}

TEST(Names, ThatLeadWhereTheyShouldAreWell) {
  Cluster cluster({.hosts = 4});
  cluster.look_up_names();
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

TEST(Names, OfAHostThatTakesItselfForLoopback) {
  Cluster cluster({.hosts = 4});
  cluster.look_up_names();
  cluster.host(2).names[2].addresses = {"127.0.1.1"};
  cluster.host(2).doctor.push_back(
      {.id = "names.own", .status = Status::Critical, .subject = "gpu2", .found = "127.0.1.1"});
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), ElementsAre("name.loopback: gpu2"));
  EXPECT_THAT(
      judgement.findings.front().check.next_step,
      AllOf(HasSubstr("ssh gpu2 'getent ahosts gpu2'"), HasSubstr("GLOO_SOCKET_IFNAME=eth0")));
}

TEST(Names, AskedByAddressAreLeftToDoctor) {
  Cluster cluster({.hosts = 4});
  cluster.host(2).doctor.push_back(
      {.id = "names.own", .status = Status::Critical, .subject = "gpu2", .found = "127.0.1.1"});
  EXPECT_THAT(troubles_of(cluster), ElementsAre("names.own: gpu2"));
}

TEST(Names, ThatAllHostsDoWithoutAreNobodysFault) {
  Cluster cluster({.hosts = 4});
  for (HostIndex host = 0; host < 4; ++host) {
    cluster.host(host).doctor.push_back(
        {.id = "names.own", .status = Status::Critical, .subject = "vm", .found = "127.0.0.1"});
  }
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), IsEmpty());
  EXPECT_EQ(only(judgement, "names.own").check.status, Status::Info);
}

TEST(Names, ThatOneHostCannotResolve) {
  Cluster cluster({.hosts = 8});
  cluster.look_up_names();
  for (NameAnswer& answer : cluster.host(5).names) {
    if (answer.asked != 5) {
      answer.addresses.clear();
      answer.error = Error{ErrorKind::NotFound, "resolve", "gpu", 0, "no name server"};
    }
  }
  EXPECT_THAT(troubles_of(cluster), ElementsAre("name.unresolved: gpu5's resolver"));
}

TEST(Names, ThatLeadsElsewhereForEverybody) {
  Cluster cluster({.hosts = 8});
  cluster.look_up_names();
  for (HostIndex host = 0; host < 8; ++host) {
    cluster.host(host).names[3].addresses = {"192.168.7.7"};
  }
  EXPECT_THAT(troubles_of(cluster), ElementsAre("name.elsewhere: name gpu3"));
}

TEST(Names, ThatOneHostSeesDifferently) {
  Cluster cluster({.hosts = 8});
  cluster.look_up_names();
  InterfaceFacts other{.name = "eth1", .addresses = {"10.9.0.3"}};
  cluster.host_facts(3).interfaces.push_back(other);
  cluster.host(6).names[3].addresses = {"10.9.0.3"};
  EXPECT_THAT(troubles_of(cluster), ElementsAre("name.differs: name gpu3 on gpu6"));
}

TEST(Names, ThatIsAnothersOnOneHost) {
  Cluster cluster({.hosts = 4});
  cluster.look_up_names();
  cluster.host(1).names[3].addresses = {made_address(2)};
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), ElementsAre("name.differs: name gpu3 on gpu1"));
  EXPECT_THAT(judgement.findings.front().hosts, ElementsAre(1));
}

TEST(Names, ThatIsLoopbackOnAnotherHost) {
  Cluster cluster({.hosts = 4});
  cluster.look_up_names();
  cluster.host(1).names[3].addresses = {"127.0.0.1"};
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), ElementsAre("name.loopback: name gpu3 on gpu1"));
  EXPECT_THAT(judgement.findings.front().hosts, ElementsAre(1));
}

TEST(Clocks, OfOneHost) {
  Cluster cluster({.hosts = 8});
  cluster.shift_clock(6, 900);
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), ElementsAre("clock.offset: gpu6"));
  EXPECT_THAT(judgement.findings.front().check.found, StartsWith("+9"));
}

TEST(Clocks, OfTwoHostsAreOneFinding) {
  Cluster cluster({.hosts = 2});
  cluster.shift_clock(1, -300);
  EXPECT_THAT(troubles_of(cluster), ElementsAre("clock.offset: gpu0, gpu1"));
}

TEST(Clocks, ThatWereMeasuredNeedNoDoctor) {
  Cluster cluster({.hosts = 4});
  for (HostIndex host = 0; host < 4; ++host) {
    cluster.host(host).doctor.push_back(
        {.id = "time.sync", .status = Status::Warning, .subject = "host"});
  }
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

TEST(HostChecks, WarningsOfAllHostsAreOne) {
  Cluster cluster({.hosts = 8});
  for (HostIndex host = 0; host < 8; ++host) {
    cluster.host(host).doctor.push_back(
        {.id = "cpu.governor", .status = Status::Warning, .subject = "host", .found = "powersave"});
  }
  EXPECT_THAT(troubles_of(cluster), ElementsAre("cpu.governor: all 8 hosts"));
}

TEST(HostChecks, CriticalsNameTheirHost) {
  Cluster cluster({.hosts = 8});
  cluster.host(4).doctor.push_back({.id = "nic.duplex",
                                    .status = Status::Critical,
                                    .subject = "eth1",
                                    .next_step = "ethtool -s eth1 duplex full"});
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), ElementsAre("nic.duplex: gpu4: eth1"));
  EXPECT_EQ(judgement.findings.front().check.next_step, "on gpu4: ethtool -s eth1 duplex full");
}

TEST(HostChecks, AreLeftOutByTheLimits) {
  Cluster cluster({.hosts = 4});
  cluster.host(1).doctor.push_back(
      {.id = "cpu.governor", .status = Status::Warning, .subject = "host"});
  EXPECT_THAT(troubles_of(cluster, {.doctor_taken = DoctorTaken::Critical}), IsEmpty());
}

TEST(Troubles, OfOneHostAreOneFinding) {
  Cluster cluster({.hosts = 8});
  for (HostIndex host = 0; host < 8; ++host) {
    if (host != 3) {
      cluster.measured().troubles.push_back(
          {.a = std::min(host, 3U),
           .b = std::max(host, 3U),
           .test = "udp",
           .error = {ErrorKind::Timeout, "probe udp", "gpu3", 0, "no packet came"}});
    }
  }
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(troubles_of(judgement), ElementsAre("test.failed: gpu3 eth0"));
  EXPECT_THAT(judgement.findings.front().check.why, HasSubstr("no packet came"));
}

TEST(Troubles, OfOnePair) {
  Cluster cluster({.hosts = 8});
  cluster.measured().troubles.push_back(
      {.a = 2,
       .b = 5,
       .test = "path",
       .error = {ErrorKind::Io, "probe path", "gpu5", 0, "cut off"}});
  EXPECT_THAT(troubles_of(cluster), ElementsAre("test.failed: between gpu2 and gpu5"));
}

TEST(Troubles, TheNextStepIsACommandThatIsThere) {
  const auto next_step = [](const std::string& test) {
    Cluster cluster({.hosts = 8});
    cluster.measured().troubles.push_back({.a = 2, .b = 5, .test = test});
    return judge(cluster.measured(), {}, nullptr).findings.front().check.next_step;
  };
  EXPECT_THAT(next_step("tcp"), HasSubstr("chokepoint probe tcp "));
  EXPECT_THAT(next_step("loss"), HasSubstr("chokepoint probe udp "));
  EXPECT_THAT(next_step("rdma_bandwidth"), HasSubstr("chokepoint rdma write bw "));
  EXPECT_THAT(next_step("rdma_latency"), HasSubstr("chokepoint rdma write lat "));
}

TEST(Slots, ThatAreTooNarrow) {
  Cluster cluster({.hosts = 4, .speed_mbps = 100'000});
  cluster.port(1).pci_mbps = 57'600;
  cluster.all_of(1, [](PathResult& path) { path.tcp_mbps = 54'000; });
  cluster.host(1).doctor.push_back(
      {.id = "pci.bandwidth", .status = Status::Critical, .subject = "eth0"});
  EXPECT_THAT(troubles_of(cluster), ElementsAre("pci.slot: gpu1 eth0"));
}

TEST(Rdma, OfOnePort) {
  Cluster cluster({.hosts = 4, .speed_mbps = 100'000});
  for (HostIndex host = 0; host < 4; ++host) {
    cluster.host_facts(host).rdma = {
        {.device = "mlx5_0", .interface = "eth0", .speed_mbps = 100'000, .is_active = true}};
  }
  cluster.each([](HostIndex from, HostIndex to, PathResult& path) {
    path.rdma_mbps = from == 2 || to == 2 ? 31'000.0F : 97'000.0F;
  });
  EXPECT_THAT(troubles_of(cluster), ElementsAre("rdma.rate: gpu2 eth0"));
}

TEST(Collective, ThatFailsOrFallsShort) {
  Cluster cluster({.hosts = 4});
  cluster.measured().collective = CollectiveResult{.backend = "gloo", .ranks = 4, .bus_mbps = 800};
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
  EXPECT_THAT(troubles_of(cluster, {.collective_mbps = 900}),
              ElementsAre("collective.rate: cluster"));
  cluster.measured().collective->error = Error{ErrorKind::Refused, "gloo", "gpu1", 0, "no"};
  EXPECT_THAT(troubles_of(cluster), ElementsAre("collective.rate: cluster"));
}

// Names that are nobody's friend: what is copied into a shell stays one word each.
TEST(HostileNames, StayWordsToAShell) {
  Cluster cluster({.hosts = 4});
  cluster.host(1).name = "a'; rm -rf / #";
  cluster.port(1).name = "$(reboot)";
  cluster.host(2).name = "-oProxyCommand=reboot";
  cluster.sending(1, Cluster::slower(10));
  cluster.remove(2, Presence::Lost);
  const Judgement judgement = judge(cluster.measured(), {}, nullptr);
  EXPECT_THAT(only(judgement, "link.oneway").check.next_step,
              StartsWith("ssh 'a'\\''; rm -rf / #' 'ethtool '\\''$(reboot)'\\''; "));
  EXPECT_THAT(judgement.findings,
              testing::Contains(testing::Field(
                  &Finding::check, testing::Field(&checks::Check::next_step,
                                                  StartsWith("ssh -- -oProxyCommand=reboot ")))));
}

// A document may say anything.
TEST(HostileResults, OfHostsThatAreNotThereArePassedOver) {
  Cluster cluster({.hosts = 3});
  PairResult nobody{.a = 1, .b = 4'000'000'000};
  nobody.there.tcp_mbps = nobody.back.tcp_mbps = 1;
  nobody.clock_offset_ms = 1e9;
  cluster.measured().pairs.push_back(nobody);
  nobody.b = 1;
  cluster.measured().pairs.push_back(nobody);
  cluster.measured().troubles.push_back({.a = 9, .b = 1, .test = "tcp"});
  cluster.measured().cuts.push_back({.paths = {{7, 9}}, .together_mbps = 1});
  cluster.host(0).names.push_back({.asked = 77, .addresses = {"127.0.0.1"}});
  EXPECT_THAT(troubles_of(cluster), IsEmpty());
}

TEST(Nothing, IsJudgedToPass) { EXPECT_EQ(judge({}, {}, nullptr).verdict, Status::Pass); }

}  // namespace
}  // namespace chokepoint::preflight
