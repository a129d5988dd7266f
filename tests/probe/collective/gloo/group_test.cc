// Groups of ranks, over gloo.cc and the module.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <thread>
#include <vector>

#include "probe/collective/gloo/gloo.h"
#include "tests/probe/collective/made/folder_store.h"
#include "tests/probe/collective/made/made_data.h"
#include "tests/probe/collective/made/processes.h"

namespace chokepoint::probe::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Result<std::unique_ptr<Communicator>> open(int rank, int ranks, Store& store,
                                           const BackendOptions& options = {
                                               .interface = "127.0.0.1", .timeout = seconds(20)}) {
  const RankPosition position{.rank = rank, .ranks = ranks, .local_rank = rank, .host = "here"};
  return gloo_backend(CHOKEPOINT_GLOO_MODULE).open(position, store, options);
}

const Operation large{.collective = Collective::AllReduce,
                      .type = ElementType::Float32,
                      .bytes = 4'000'000,
                      .ranks = 2};

TEST(GlooGroup, GoesOnFromSizeToSizeAndFromCollectiveToCollective) {
  const FreshFolder folder;
  const auto sweep = [&](int rank) {
    FolderStore store(folder.path(), seconds(20));
    auto group = open(rank, 2, store);
    if (!group) return 1;
    for (const Collective collective : {Collective::ReduceScatter, Collective::AllReduce,
                                        Collective::ReduceScatter, Collective::SendReceive}) {
      for (std::uint64_t bytes = 64; bytes < 3'000'000; bytes *= 8) {
        const Operation operation{.collective = collective, .bytes = bytes, .ranks = 2};
        const auto input = encode(made_input(operation, rank), operation.type);
        std::vector<std::byte> output(output_bytes(operation));
        if (!(*group)->prepare(operation) || !(*group)->run(3) || !(*group)->write_input(input) ||
            !(*group)->run(1) || !(*group)->read_output(output) ||
            decode(output, operation.type) != made_output(operation, rank)) {
          return 2;
        }
      }
    }
    return 0;
  };
  const pid_t other = elsewhere([&] { return sweep(1); });
  EXPECT_EQ(sweep(0), 0);
  EXPECT_EQ(status_of(other), 0);
}

TEST(GlooGroup, TellsOfARankThatDies) {
  const FreshFolder folder;
  const pid_t other = elsewhere([&] {
    FolderStore store(folder.path(), seconds(20));
    auto group = open(1, 2, store);
    if (group && (*group)->prepare(large) && (*group)->run(1)) {
      std::raise(SIGKILL);
    }
    return 1;
  });
  FolderStore store(folder.path(), seconds(20));
  auto group = open(0, 2, store);
  ASSERT_TRUE(group) << describe(group.error());
  ASSERT_TRUE((*group)->prepare(large));
  ASSERT_TRUE((*group)->run(1));
  const auto more = (*group)->run(1000);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().subject, "all-reduce");
  EXPECT_EQ(more.error().reason.find("[/"), std::string::npos) << more.error().reason;
  EXPECT_EQ(status_of(other), 128 + SIGKILL);
}

TEST(GlooGroup, WaitsForASilentRankNoLongerThanItMay) {
  const FreshFolder folder;
  const pid_t other = elsewhere([&] {
    FolderStore store(folder.path(), seconds(20));
    auto group = open(1, 2, store);
    std::this_thread::sleep_for(seconds(60));
    return 0;
  });
  FolderStore store(folder.path(), seconds(20));
  auto group = open(0, 2, store, {.interface = "127.0.0.1", .timeout = seconds(1)});
  ASSERT_TRUE(group) << describe(group.error());
  ASSERT_TRUE((*group)->prepare(large));
  const auto waited = (*group)->run(1);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind, ErrorKind::Timeout) << describe(waited.error());
  kill(other, SIGKILL);
  status_of(other);
}

TEST(GlooGroup, IsNotMadeWhereARankNeverComes) {
  const FreshFolder folder;
  FolderStore store(folder.path(), milliseconds(50));
  const auto group = open(0, 2, store);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().reason, "nobody has set it");
}

// Before this key is told, something happens.
class EventfulStore final : public Store {
 public:
  EventfulStore(const std::filesystem::path& folder, std::string key,
                std::function<Result<>()> event)
      : whole_(folder, seconds(20)), key_(std::move(key)), event_(std::move(event)) {}

  Result<> set(const std::string& key, const std::string& value) override {
    return whole_.set(key, value);
  }
  Result<std::string> get(const std::string& key) override {
    if (key == key_) {
      if (const Result<> done = event_(); !done) return fail(done.error());
    }
    return whole_.get(key);
  }

 private:
  FolderStore whole_;
  std::string key_;
  std::function<Result<>()> event_;
};

TEST(GlooGroup, IsNotMadeWhereNobodyAnswersAtTheAddressThatARankLeft) {
  const FreshFolder folder;
  const pid_t other = elsewhere([&] {
    EventfulStore store(folder.path(), "gloo/0/0", [] {
      return Result<>(fail(ErrorKind::Timeout, "meet", "gloo/0/0", "lost"));
    });
    return open(1, 2, store) ? 1 : 0;
  });
  EventfulStore store(folder.path(), "gloo/0/1", [&] {
    EXPECT_EQ(status_of(other), 0);
    return Result<>();
  });
  const auto group = open(0, 2, store, {.interface = "127.0.0.1", .timeout = seconds(2)});
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().subject, "connecting the ranks") << describe(group.error());
}

TEST(GlooGroup, RefusesWhatAnotherRankLeftAsItsAddress) {
  const FreshFolder folder;
  FolderStore store(folder.path(), seconds(20));
  ASSERT_TRUE(store.set("gloo/0/1", "no such thing"));
  auto group = open(0, 2, store);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().kind, ErrorKind::Malformed);
}

TEST(GlooGroup, SaysHowTheDataWent) {
  const FreshFolder folder;
  const pid_t other = elsewhere([&] {
    FolderStore store(folder.path(), seconds(20));
    auto group = open(1, 2, store);
    return group && (*group)->prepare(large) && (*group)->run(1) ? 0 : 1;
  });
  FolderStore store(folder.path(), seconds(20));
  auto group = open(0, 2, store);
  ASSERT_TRUE(group && (*group)->prepare(large) && (*group)->run(1));
  const DataPath data_path = (*group)->data_path();
  EXPECT_EQ(data_path.library, "libgloo");
  EXPECT_EQ(data_path.transport, "tcp");
  EXPECT_EQ(data_path.interface, "lo");
  EXPECT_EQ(data_path.family, "ipv4");
  EXPECT_EQ(data_path.local_address, "127.0.0.1");
  EXPECT_EQ(data_path.sockets_per_peer, 1);
  EXPECT_EQ(data_path.better, "");
  group->reset();
  EXPECT_EQ(status_of(other), 0);
}

TEST(GlooAlgorithm, IsRefusedWhereTheCollectiveHasNoSuchOne) {
  const FreshFolder folder;
  FolderStore store(folder.path(), seconds(20));
  auto group = open(0, 1, store, {.interface = "127.0.0.1", .algorithm = "tree"});
  ASSERT_TRUE(group) << describe(group.error());
  const auto prepared = (*group)->prepare({.bytes = 64, .ranks = 1});
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().kind, ErrorKind::Usage);
}

TEST(GlooLibrary, IsMissedInOneLine) {
  FolderStore store("/nonexistent", seconds(1));
  const auto group = gloo_backend("/nonexistent/libchokepoint-gloo.so").open({}, store, {});
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().kind, ErrorKind::NotFound);
}

TEST(GlooLibrary, ThatTheModuleNeedsIsToBeInstalled) {
  FolderStore store("/nonexistent", seconds(1));
  const auto group = gloo_backend(CHOKEPOINT_NEEDY_MODULE).open({}, store, {});
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().subject, "libgloo.so.0");
  EXPECT_NE(group.error().next_step.find("apt install libgloo0"), std::string::npos);
}

TEST(GlooLibrary, OfAnotherVersionIsNotUsed) {
  FolderStore store("/nonexistent", seconds(1));
  const auto group = gloo_backend("libm.so.6").open({}, store, {});
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().kind, ErrorKind::Unsupported);
}

}  // namespace
}  // namespace chokepoint::probe::collective
