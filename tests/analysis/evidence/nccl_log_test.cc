#include "analysis/evidence/nccl_log.h"

#include <gmock/gmock.h>

#include "analysis/evidence/job_log.h"
#include "analysis/evidence/nccl_setup.h"

namespace chokepoint::analysis {
namespace {

using Setup = Claim::Setup;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

ToolFile log_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  const auto source = bytes_of(text);
  Result<ToolFile> file = read_job_log(*source, "job.log");
  EXPECT_TRUE(file) << text;
  return file ? *std::move(file) : ToolFile{};
}

std::vector<Setup> setups_of(const std::vector<std::string>& lines) {
  std::vector<Setup> setups;
  for (const Claim& claim : claims_of_nccl_setup({log_of(lines)})) {
    setups.push_back(claim.setup);
  }
  return setups;
}

std::string info(const std::string& host, int pid, const std::string& text) {
  return host + ":" + std::to_string(pid) + ":" + std::to_string(pid + 7) + " [0] NCCL INFO " +
         text;
}

std::string init(const std::string& host, int pid, int rank, int ranks) {
  return info(host, pid,
              "comm 0x55cc8aa86c70 rank " + std::to_string(rank) + " nranks " +
                  std::to_string(ranks) +
                  " cudaDev 0 nvmlDev 0 busId 1c000 commId 0x65e0bd6ee7449db4 - Init START");
}

TEST(NcclLog, TellsOfEachProcessHowItConnects) {
  const ToolFile file = log_of(
      {"[rank0]: " + info("gpu1", 920, "NCCL version 2.21.5+cuda12.4"),
       info("gpu1", 920, "NCCL_SOCKET_IFNAME set by environment to eth0"),
       info("gpu1", 920,
            "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.10.10.10<0>"),
       info("gpu1", 920, "Using network IB"), init("gpu1", 920, 3, 16), init("gpu1", 920, 0, 2),
       info("gpu1", 920, "Channel 00/0 : 9[1] -> 0[0] [receive] via NET/IB/0/GDRDMA"),
       info("gpu1", 920, "Channel 01/0 : 9[1] -> 0[0] [receive] via NET/IB/1"),
       info("gpu1", 920, "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"),
       "[1,4]<stdout>:gpu2:7:9 [1] NCCL INFO NET/Socket : Using [0]ens3:172.31.12.210<0>"});
  ASSERT_EQ(file.nccl.size(), 2U);
  const NcclProcess& one = file.nccl[0];
  EXPECT_EQ(one.host, "gpu1");
  EXPECT_EQ(one.rank, 3);
  EXPECT_EQ(one.version, "2.21.5+cuda12.4");
  EXPECT_EQ(one.network, "IB");
  EXPECT_THAT(one.rdma_devices, ElementsAre("mlx5_0", "mlx5_1"));
  EXPECT_THAT(one.devices_used, ElementsAre("0", "1"));
  EXPECT_EQ(one.network_channels, 2);
  EXPECT_EQ(one.direct_channels, 1);
  EXPECT_EQ(one.peer_channels, 1);
  EXPECT_EQ(one.variables.at("NCCL_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(file.nccl[1].host, "gpu2");
  EXPECT_THAT(file.nccl[1].interfaces, ElementsAre("ens3"));
}

TEST(NcclSetup, OfAJobThatUsesAllItHasNothingIsSaid) {
  EXPECT_THAT(setups_of({info("a", 1, "NET/IB : Using [0]mlx5_0:1/RoCE; OOB eth0:10.0.0.1<0>"),
                         info("a", 1, "Using network IB"), init("a", 1, 0, 2),
                         info("a", 1, "Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA")}),
              IsEmpty());
  // No better way is known where there is no RDMA device.
  EXPECT_THAT(setups_of({info("a", 1, "NET/IB : No device found."),
                         info("a", 1, "NET/Socket : Using [0]eth0:10.0.0.1<0>"),
                         info("a", 1, "Using network Socket"), init("a", 1, 0, 2),
                         info("a", 1, "Channel 00/0 : 1[0] -> 0[0] [send] via NET/Socket/0")}),
              IsEmpty());
}

TEST(NcclSetup, SocketsBesideRdma) {
  EXPECT_THAT(setups_of({info("a", 1, "NCCL_IB_DISABLE set by environment to 1."),
                         info("a", 1, "Using network Socket")}),
              ElementsAre(Setup::Sockets));
  EXPECT_THAT(setups_of({info("a", 1, "NCCL_IB_DISABLE set by environment to 0."),
                         info("a", 1, "Using network Socket")}),
              IsEmpty());
}

TEST(NcclSetup, AnInterfaceThatAContainerEngineMade) {
  EXPECT_THAT(setups_of({info("a", 1, "NET/Socket : Using [0]docker0:172.17.0.1<0>"),
                         info("a", 1, "Using network Socket"), init("a", 1, 0, 2),
                         info("a", 1, "Channel 00/0 : 1[0] -> 0[0] [send] via NET/Socket/0")}),
              ElementsAre(Setup::VirtualInterface));
}

TEST(NcclSetup, OneCardOfSeveralUnlessOtherProcessesUseTheOthers) {
  const auto with = [](const std::string& second) {
    return std::vector<std::string>{
        info("a", 1, "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB; OOB eth0:10.0.0.1<0>"),
        info("a", 1, "Using network IB"),
        info("a", 1, "Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA"),
        info("a", 2, "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB; OOB eth0:10.0.0.1<0>"),
        info("a", 2, "Using network IB"),
        info("a", 2, "Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/" + second + "/GDRDMA")};
  };
  EXPECT_THAT(setups_of(with("0")), ElementsAre(Setup::OneCard));
  EXPECT_THAT(setups_of(with("1")), IsEmpty());
}

TEST(NcclSetup, WithoutGpuDirectAndWithoutPeerToPeer) {
  EXPECT_THAT(setups_of({info("a", 1, "NET/IB : Using [0]mlx5_0:1/RoCE; OOB eth0:10.0.0.1<0>"),
                         info("a", 1, "Using network IB"),
                         info("a", 1, "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"),
                         info("a", 1, "Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0"),
                         info("a", 1, "NCCL_P2P_DISABLE set by environment to 1"),
                         info("a", 1, "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct")}),
              UnorderedElementsAre(Setup::NoGpuDirect, Setup::NoPeerToPeer));
}

// As far as a log goes that ends before the channels, or lost its hosts.
TEST(NcclSetup, GpuDirectIsOffAlsoWhereFewLinesAreLeft) {
  const auto ends_early = [](int ranks) {
    return std::vector<std::string>{
        info("a", 1, "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e:10.10.10.10<0>"),
        info("a", 1, "Using network IB"), init("a", 1, 0, ranks),
        info("a", 1, "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"),
        info("a", 1, "NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'")};
  };
  EXPECT_THAT(setups_of(ends_early(16)), ElementsAre(Setup::NoGpuDirect));
  EXPECT_THAT(setups_of(ends_early(1)), IsEmpty());
  EXPECT_THAT(
      setups_of({" [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE ; OOB br0:10.137.141.16<0>",
                 " [0] NCCL INFO Ring 00 : 15[41000] -> 0[1b000] [receive] via NET/IB/0"}),
      ElementsAre(Setup::NoGpuDirect));
}

TEST(NcclSetup, RanksThatDifferAreNamed) {
  const auto claims = claims_of_nccl_setup({log_of(
      {info("a", 1, "NCCL version 2.21.5+cuda12.4"), info("b", 1, "NCCL version 2.21.5+cuda12.4"),
       info("c", 1, "NCCL version 2.18.1+cuda12.1")})});
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].setup, Setup::Versions);
  EXPECT_EQ(claims[0].host, "c");
}

TEST(NcclLog, BrokenLinesAreNoProcess) {
  NcclLog log;
  for (const std::string_view line :
       {" NCCL INFO ", "NCCL INFO", ": NCCL INFO x", "a:b:c [0] NCCL INFO Using network IB",
        "::1 [0] NCCL INFO Using network IB", "x:1:2 [0] NCCL INFO ] via ",
        "x:1:2 [0] NCCL INFO ] via NET", "x:1:2 [0] NCCL INFO ] via /",
        "x:1:2 [0] NCCL INFO NET/IB : Using [", "x:1:2 [0] NCCL INFO  set by environment to "}) {
    log.add(line);
  }
  const auto processes = log.take();
  ASSERT_EQ(processes.size(), 1U);
  EXPECT_EQ(processes[0].network_channels, 0);
}

}  // namespace
}  // namespace chokepoint::analysis
