#include "probe/collective/nccl/nccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tests/probe/collective/made/folder_store.h"
#include "tests/probe/collective/made/made_data.h"
#include "tests/probe/collective/made/processes.h"

namespace chokepoint::probe::collective {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

// Each test's environment ends with it: it runs in a process of its own.
class Nccl : public testing::Test {
 protected:
  Nccl() {
    for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "NCCL_HOSTID",
                             "NCCL_NET", "NCCL_SOCKET_IFNAME", "FAKE_NCCL_FAILS"}) {
      unsetenv(name);
    }
    setenv("FAKE_NCCL", folder_.path().c_str(), 1);
    setenv("TMPDIR", folder_.path().c_str(), 1);
    setenv("FAKE_CUDA_GPUS", "4", 1);
  }
  void TearDown() override {
    for (const char* name : {"FAKE_NCCL", "FAKE_NCCL_FAILS", "FAKE_CUDA", "FAKE_CUDA_GPUS",
                             "FAKE_CUDA_BUSY", "TMPDIR"}) {
      unsetenv(name);
    }
  }

  Result<std::unique_ptr<Communicator>> open(int rank, int ranks,
                                             const BackendOptions& options = {}) {
    const RankPosition position{.rank = rank, .ranks = ranks, .local_rank = rank, .host = host_};
    return nccl_backend({.nccl = CHOKEPOINT_FAKE_NCCL, .cuda = CHOKEPOINT_FAKE_CUDA})
        .open(position, store_, options);
  }

  // What a rank did not do; empty where all went well.
  std::string take_part(const Operation& operation, int rank) {
    auto group = open(rank, operation.ranks);
    if (!group) return describe(group.error());
    if (auto done = (*group)->prepare(operation); !done) return describe(done.error());
    const auto input = encode(made_input(operation, rank), operation.type);
    if (auto done = (*group)->write_input(input); !done) return describe(done.error());
    const auto times = (*group)->run(1);
    if (!times) return describe(times.error());
    std::vector<std::byte> output(output_bytes(operation));
    if (auto done = (*group)->read_output(output); !done) return describe(done.error());
    return decode(output, operation.type) == made_output(operation, rank) ? "" : "wrong result";
  }

  static Error none(const std::string& why) { return {ErrorKind::Io, "", "", 0, why}; }

  // Of a lone rank's run.
  Error failure_of(const BackendOptions& options) {
    auto group = open(0, 1, options);
    const Operation operation{.bytes = 64};
    if (!group || !(*group)->prepare(operation)) return none("not begun");
    const auto times = (*group)->run(3);
    EXPECT_FALSE((*group)->run(1));  // what failed stays so, and does not hang
    return times ? none("no failure") : times.error();
  }

  std::string host_ = "here";
  FreshFolder folder_;
  FolderStore store_{folder_.path(), seconds(20)};
};

class NcclCollective : public Nccl, public testing::WithParamInterface<Collective> {};

TEST_P(NcclCollective, MakesOfTheRanksDataWhatItsNameSays) {
  for (const ElementType type : {ElementType::Float32, ElementType::Int32, ElementType::Uint8}) {
    const FreshFolder fresh;
    setenv("FAKE_NCCL", fresh.path().c_str(), 1);
    store_ = FolderStore(fresh.path(), seconds(20));
    Operation operation{.collective = GetParam(), .type = type, .bytes = 600, .ranks = 3};
    operation.root = 1;
    operation.bytes = rounded(operation);
    std::vector<pid_t> others;
    for (int rank = 1; rank < 3; ++rank) {
      others.push_back(elsewhere([&] { return take_part(operation, rank).empty() ? 0 : 1; }));
    }
    EXPECT_EQ(take_part(operation, 0), "");
    for (const pid_t other : others) {
      EXPECT_EQ(status_of(other), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, NcclCollective,
                         testing::Values(Collective::AllReduce, Collective::AllGather,
                                         Collective::ReduceScatter, Collective::Broadcast,
                                         Collective::AllToAll, Collective::SendReceive),
                         [](const auto& tried) {
                           std::string name(name_of(tried.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_F(Nccl, SaysHowTheDataWentByItsLogOfWhichNothingIsLeftBehind) {
  auto group = open(0, 1);
  ASSERT_TRUE(group) << describe(group.error());
  const DataPath data_path = (*group)->data_path();
  EXPECT_EQ(data_path.library, "NCCL 2.28.9");
  EXPECT_EQ(data_path.transport, "socket");
  EXPECT_EQ(data_path.interface, "lo");
  EXPECT_EQ(data_path.channels, 2);
  // Not even while it runs: the process may be killed.
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("chokepoint"))) << entry.path();
  }
}

TEST_F(Nccl, LeavesTheUsersLogAloneButOffStandardOutput) {
  setenv("NCCL_DEBUG", "WARN", 1);
  const auto group = open(0, 1);
  ASSERT_TRUE(group) << describe(group.error());
  EXPECT_STREQ(std::getenv("NCCL_DEBUG"), "WARN");
  EXPECT_STREQ(std::getenv("NCCL_DEBUG_FILE"), "/dev/stderr");
  EXPECT_EQ((*group)->data_path().transport, "");
}

TEST_F(Nccl, TakesAnInterfaceByItsExactName) {
  ASSERT_TRUE(open(0, 1, {.interface = "eth0"}));
  EXPECT_STREQ(std::getenv("NCCL_SOCKET_IFNAME"), "=eth0");
}

TEST_F(Nccl, MakesRanksOfOneGpuLookLikeThoseOfSeveralHosts) {
  setenv("FAKE_CUDA_GPUS", "1", 1);
  const auto shares = [&](int rank) {
    const auto group = open(rank, 2);
    return group && std::getenv("NCCL_HOSTID") == "here-" + std::to_string(rank) &&
           std::getenv("NCCL_NET") == std::string("Socket") &&
           (*group)->data_path().better.find("share a GPU") != std::string::npos;
  };
  const pid_t other = elsewhere([&] { return shares(1) ? 0 : 1; });
  EXPECT_TRUE(shares(0));
  EXPECT_EQ(status_of(other), 0);
}

TEST_F(Nccl, KnowsAGpuThatContainersOfOneHostShare) {
  setenv("FAKE_CUDA_GPUS", "1", 1);
  const auto shares = [&](const std::string& container, int rank) {
    host_ = container;
    const auto group = open(rank, 2);
    return group && (*group)->data_path().better.find("share a GPU") != std::string::npos;
  };
  const pid_t other = elsewhere([&] { return shares("b", 1) ? 0 : 1; });
  EXPECT_TRUE(shares("a", 0));
  EXPECT_EQ(status_of(other), 0);
}

TEST_F(Nccl, LeavesRanksOfSeveralGpusAsTheyAre) {
  const auto alone = [&](int rank) {
    return open(rank, 2).has_value() && std::getenv("NCCL_HOSTID") == nullptr;
  };
  const pid_t other = elsewhere([&] { return alone(1) ? 0 : 1; });
  EXPECT_TRUE(alone(0));
  EXPECT_EQ(status_of(other), 0);
}

TEST_F(Nccl, SaysWhichOneItIsWhereThereIsNoGpu) {
  setenv("FAKE_CUDA", "gpus", 1);
  const auto group = open(0, 1);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().subject, "NCCL 2.28.9");
  EXPECT_THAT(group.error().reason, HasSubstr("no CUDA-capable device"));
}

TEST_F(Nccl, SaysWhichOneItIsWhereThereIsNoDriver) {
  const auto group = nccl_backend({.nccl = CHOKEPOINT_FAKE_NCCL, .cuda = "/nonexistent/libcuda"})
                         .open({}, store_, {});
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().subject, "NCCL 2.28.9");
  EXPECT_EQ(group.error().kind, ErrorKind::NotFound);
}

TEST_F(Nccl, IsMissedInOneLine) {
  const auto group = nccl_backend({.nccl = "/nonexistent/libnccl.so.2"}).open({}, store_, {});
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().next_step, HasSubstr("LD_LIBRARY_PATH"));
}

TEST_F(Nccl, OfThePythonEnvironmentIsTakenWhereTheLoaderKnowsNone) {
  const auto lies = folder_.path() / "lib/python3.12/site-packages/nvidia/nccl/lib";
  std::filesystem::create_directories(lies);
  std::filesystem::create_symlink(CHOKEPOINT_FAKE_NCCL, lies / "libnccl.so.2");
  setenv("VIRTUAL_ENV", folder_.path().c_str(), 1);
  setenv("FAKE_NCCL_FAILS", "init", 1);
  const RankPosition position{.rank = 0, .ranks = 1, .local_rank = 0, .host = "here"};
  const auto group = nccl_backend({.nccl = "libnccl-of-nowhere.so.2", .cuda = CHOKEPOINT_FAKE_CUDA})
                         .open(position, store_, {});
  unsetenv("VIRTUAL_ENV");
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().reason, HasSubstr("connection closed"));
}

TEST_F(Nccl, OfAnotherKindIsNotUsed) {
  const auto group = nccl_backend({.nccl = "libm.so.6"}).open({}, store_, {});
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().reason, HasSubstr("lacks ncclGetVersion"));
}

TEST_F(Nccl, TellsWhyTheRanksWereNotConnected) {
  setenv("FAKE_NCCL_FAILS", "init", 1);
  const auto group = open(0, 1);
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().reason, HasSubstr("connection closed"));
}

TEST_F(Nccl, WaitsNoLongerThanItMayForARankThatNeverComes) {
  setenv("FAKE_NCCL_FAILS", "hang", 1);
  const auto group = open(0, 1, {.timeout = seconds(1)});
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().kind, ErrorKind::Timeout);
}

TEST_F(Nccl, TellsWhatWentWrongWhileItRan) {
  setenv("FAKE_NCCL_FAILS", "enqueue", 1);
  EXPECT_THAT(failure_of({}).reason, HasSubstr("unhandled system error"));
}

TEST_F(Nccl, TellsWhatWentWrongInTheMeantime) {
  setenv("FAKE_NCCL_FAILS", "async", 1);
  setenv("FAKE_CUDA_BUSY", "1", 1);
  EXPECT_THAT(failure_of({}).reason, HasSubstr("remote process exited"));
}

TEST_F(Nccl, DoesNotWaitForEver) {
  setenv("FAKE_CUDA_BUSY", "1", 1);
  EXPECT_EQ(failure_of({.timeout = seconds(1)}).kind, ErrorKind::Timeout);
}

TEST_F(Nccl, RefusesAnIdOfAnotherKind) {
  ASSERT_TRUE(store_.set("nccl/id", "abcd"));
  ASSERT_TRUE(store_.set("nccl/gpu/0", ""));
  const auto group = open(1, 2);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().kind, ErrorKind::Malformed);
}

}  // namespace
}  // namespace chokepoint::probe::collective
