#include "capture/run/nccl.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "base/record/names.h"
#include "tests/base/record/record_folder.h"
#include "tests/capture/nccl/ring_writer.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::capture::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kPath = "/opt/lib/libnccl-profiler-chokepoint.so";

class RunNccl : public record::RecordFolder {
 protected:
  std::unique_ptr<Nccl> nccl(Options options = {},
                             const std::optional<std::filesystem::path>& plugin = kPath) {
    options.runtime_folder = folder_.path();
    return std::make_unique<Nccl>(
        options, plugin, tree_.root(), clock_, *writer_,
        Nccl::Listeners{[this](const record::Collective& row) {
                          ++bins_;
                          ranks_.push_back(row.rank.value_or(-1));
                        },
                        [](std::uint64_t, std::span<const record::Collective>) {},
                        [](std::optional<std::int64_t>, std::uint64_t, std::int64_t) {}});
  }

  std::unique_ptr<record::Writer> writer_ = open_writer();
  std::atomic<int> bins_ = 0;
  std::vector<std::int64_t> ranks_;
  fakes::HostTree tree_ = fakes::HostTree::from_text("/proc/uptime = 1 1\n");
};

TEST_F(RunNccl, GivesTheJobThePluginAndAFolder) {
  const auto variables = nccl()->environment();
  EXPECT_THAT(variables, ElementsAre(Pair(kPluginVariable, kPath),
                                     Pair(nccl::kFolderVariable, HasSubstr("chokepoint-nccl-"))));
}

TEST_F(RunNccl, HandsOnTheProfilerThatTheJobHadSet) {
  const auto variables = nccl({.nccl_profiler = "inspector"})->environment();
  EXPECT_THAT(variables, testing::Contains(Pair(nccl::kNextVariable, "inspector")));
}

TEST_F(RunNccl, NeverHandsThePluginOnToItself) {
  for (const std::string& own : {std::string("/elsewhere/") + kPlugin, std::string("chokepoint")}) {
    EXPECT_EQ(nccl({.nccl_profiler = own})->environment().size(), 2U) << own;
  }
}

TEST_F(RunNccl, SaysWhyItSeesNothing) {
  EXPECT_THAT(nccl({}, std::nullopt)->remarks(), ElementsAre(HasSubstr(kPlugin)));
  EXPECT_THAT(nccl({.starts_job = false})->remarks(), ElementsAre(HasSubstr("started already")));
  EXPECT_THAT(nccl({}, std::nullopt)->environment(), IsEmpty());
  EXPECT_THAT(nccl({.starts_job = false})->environment(), IsEmpty());
}

TEST_F(RunNccl, IsSilentWhereNobodyWantsIt) {
  EXPECT_THAT(nccl({.nccl = false})->remarks(), IsEmpty());
  EXPECT_THAT(nccl({.nccl = false})->environment(), IsEmpty());
}

TEST_F(RunNccl, KeepsWhatThePluginLeftAndTellsOfWhatWasLost) {
  const auto watched = nccl();
  const std::filesystem::path folder = watched->environment()[1].second;
  nccl::RingWriter rings(folder / "1.nccl");
  watched->begin([] {
    return std::make_shared<const job::JobProcesses>(
        job::JobProcesses{{.pid = 4711, .rank = {.rank = 6}, .own_pid = 4711}});
  });
  rings.push(0, nccl::Kind::Collective, 1, {{nccl::word::kId, 1}, {nccl::word::kFunction, 1}});
  rings.push(0, nccl::Kind::Proxy, 1, {{nccl::word::kId, 9}});
  rings.file().header.unkept = 3;
  watched->end();
  writer_->close();
  EXPECT_EQ(bins_, 1);
  record::Reader reader = open_reader();
  std::vector<record::Collective> rows;
  ASSERT_TRUE(reader.each<record::Collective>([&](const auto& row) { rows.push_back(row); }));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].rank.value(), 6);
  EXPECT_EQ(rows[0].source, record::CollectiveSource::Nccl);
  const auto events = *reader.all<record::Event>();
  ASSERT_EQ(events.size(), 2U);
  for (const record::Event& event : events) {
    EXPECT_EQ(event.kind, record::kDropped);
    EXPECT_EQ(event.subject, "nccl");
  }
  EXPECT_THAT(events[0].detail, HasSubstr("\"rows\":3"));
  EXPECT_THAT(events[0].detail, HasSubstr("no room in the plugin"));
}

class RunNcclOwner : public RunNccl {
 protected:
  // Two processes that both call themselves 7, each in a PID namespace of its own. The first word
  // of each text of /proc/PID/maps may be the file's inode.
  std::vector<std::int64_t> ranks(const std::string& maps_of_first,
                                  const std::string& maps_of_second) {
    const auto watched = nccl();
    const std::filesystem::path file =
        std::filesystem::path(watched->environment()[1].second) / "7.nccl";
    nccl::RingWriter rings(file, 7);
    struct stat status{};
    stat(file.c_str(), &status);
    const auto put = [&](int pid, const std::string& maps) {
      if (!maps.empty()) {
        tree_.write("/proc/" + std::to_string(pid) + "/maps",
                    fmt::format(fmt::runtime(maps), fmt::arg("inode", status.st_ino)));
      }
    };
    put(1007, maps_of_first);
    put(2007, maps_of_second);
    watched->begin([] {
      return std::make_shared<const job::JobProcesses>(
          job::JobProcesses{{.pid = 1007, .rank = {.rank = 1}, .own_pid = 7},
                            {.pid = 2007, .rank = {.rank = 2}, .own_pid = 7},
                            {.pid = 7, .rank = {.rank = 3}, .own_pid = 7000}});
    });
    rings.push(0, nccl::Kind::Collective, 1, {{nccl::word::kId, 1}, {nccl::word::kFunction, 1}});
    watched->end();
    return ranks_;
  }

  static constexpr const char* kMaps =
      "7f0000000000-7f0000001000 rw-s 00000000 00:2f {inode}   /dev/shm/x/7.nccl\n";
  static constexpr const char* kOther = "7f0000000000-7f0000001000 rw-s 00000000 00:2f 1 /x\n";
};

TEST_F(RunNcclOwner, TheProcessThatHasMappedTheFileWritesIt) {
  EXPECT_THAT(ranks(kOther, kMaps), ElementsAre(2));
}

TEST_F(RunNcclOwner, WhereOneCannotBeSeenItIsThatOne) {
  EXPECT_THAT(ranks("", kOther), ElementsAre(1));
}

TEST_F(RunNcclOwner, WhereNeitherCanBeSeenItIsNotKnown) {
  EXPECT_THAT(ranks("", ""), ElementsAre(-1));
}

// A removed file's inode may be the next one's, of another process.
TEST_F(RunNcclOwner, AWriterThatHasEndedIsLookedForAgain) {
  const auto watched = nccl();
  const std::filesystem::path file =
      std::filesystem::path(watched->environment()[1].second) / "7.nccl";
  nccl::RingWriter rings(file, 7);
  struct stat status{};
  stat(file.c_str(), &status);
  tree_.write("/proc/2007/maps",
              fmt::format(fmt::runtime(kMaps), fmt::arg("inode", status.st_ino)));
  std::atomic<bool> has_ended = false;
  std::atomic<int> looks = 0;
  watched->begin([&] {
    ++looks;
    return std::make_shared<const job::JobProcesses>(
        has_ended ? job::JobProcesses{{.pid = 2007, .rank = {.rank = 2}, .own_pid = 7}}
                  : job::JobProcesses{{.pid = 1007, .rank = {.rank = 1}, .own_pid = 7}});
  });
  const auto await_samples = [&](int more) {
    for (const int until = looks + more; looks < until;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  await_samples(2);
  has_ended = true;
  clock_.advance(2'000'000'000);
  await_samples(2);
  rings.push(0, nccl::Kind::Collective, 1, {{nccl::word::kId, 1}, {nccl::word::kFunction, 1}});
  watched->end();
  EXPECT_THAT(ranks_, ElementsAre(2));
}

class RunNcclChoice : public RunNccl {
 protected:
  // What `run` says of a process whose plugin made this choice.
  std::unique_ptr<Nccl> after(const nccl::Choice& choice) {
    auto watched = nccl();
    nccl::RingWriter rings(std::filesystem::path(watched->environment()[1].second) / "1.nccl");
    rings.file().header.events = choice.word();
    watched->begin([] { return std::make_shared<const job::JobProcesses>(); });
    while (watched->requested_events().empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    watched->end();
    return watched;
  }
};

TEST_F(RunNcclChoice, SaysWhatNcclIsAskedForAndWhy) {
  const auto watched = after({.nccl_version = 22809,
                              .reason = nccl::Choice::Reason::Cheap,
                              .proxies = true,
                              .steps = true,
                              .kernels = true});
  EXPECT_THAT(watched->requested_events(),
              ElementsAre("2.28.9: collectives, their parts on the network; for "
                          "a share of the time what these wait for, kernels"));
  EXPECT_THAT(watched->remarks(), IsEmpty());
  writer_->close();
  const auto facts = *open_reader().all<record::Fact>();
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].category, "nccl");
  EXPECT_EQ(facts[0].subject, "2.28.9");
  EXPECT_THAT(facts[0].value, HasSubstr("kernel events cost little with this version"));
}

TEST_F(RunNcclChoice, SaysWhyKernelsAreNotSeen) {
  const auto watched = after({.nccl_version = 23102,
                              .reason = nccl::Choice::Reason::Costly,
                              .proxies = true,
                              .steps = true});
  EXPECT_THAT(watched->remarks(),
              ElementsAre(testing::AllOf(HasSubstr("2.31.2"), HasSubstr("CHOKEPOINT_NCCL_EVENTS"),
                                         HasSubstr("a tenth"))));
}

TEST_F(RunNcclChoice, WhoAskedForLessKnowsIt) {
  const auto watched = after({.reason = nccl::Choice::Reason::Requested, .proxies = true});
  EXPECT_THAT(watched->requested_events(), ElementsAre("of an unknown version: collectives, "
                                                       "their parts on the network"));
  EXPECT_THAT(watched->remarks(), IsEmpty());
}

TEST_F(RunNccl, LosesNothingWhereMoreComesAtOnceThanTheWritersQueueHolds) {
  constexpr std::size_t kRings = 7;
  constexpr std::size_t kEach = 4'000;
  const auto watched = nccl();
  {
    nccl::RingWriter rings(std::filesystem::path(watched->environment()[1].second) / "1.nccl");
    for (std::size_t ring = 0; ring < kRings; ++ring) {
      for (std::size_t each = 1; each <= kEach; ++each) {
        rings.push(ring, nccl::Kind::Collective, 1,
                   {{nccl::word::kId, ring * kEach + each}, {nccl::word::kFunction, 1}});
      }
    }
  }
  watched->begin([] { return std::make_shared<const job::JobProcesses>(); });
  watched->end();
  EXPECT_EQ(writer_->close().dropped, 0U);
  EXPECT_EQ(bins_, static_cast<int>(kRings * kEach));
}

}  // namespace
}  // namespace chokepoint::capture::run
