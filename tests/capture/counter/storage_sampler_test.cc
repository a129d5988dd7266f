#include <fmt/format.h>

#include "tests/capture/counter/watching.h"

namespace chokepoint::capture::counter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class StorageSamplerTest : public Watching {
 protected:
  StorageSamplerTest() { processes_.push_back({.pid = 100, .start_ticks = 7}); }

  void disk(std::string_view name, int sectors_read, int sectors_written, int busy_ms) {
    disks_ += fmt::format(" 259 0 {} 9 9 {} 9 8 8 {} 8 0 {} 9 9 9 9 9\n", name, sectors_read,
                          sectors_written, busy_ms);
    tree_.write("/proc/diskstats", disks_);
  }
  void look() {
    sample(sampler_);
    disks_.clear();
  }
  void moved(pid_t pid, int read, int written) const {
    tree_.write(fmt::format("/proc/{}/io", pid),
                fmt::format("rchar: 5\nwchar: 6\nsyscr: 7\nsyscw: 8\nread_bytes: {}\n"
                            "write_bytes: {}\ncancelled_write_bytes: 0\n",
                            read, written));
  }
  void mounted(int read, int requests, int sent) const {
    tree_.write("/proc/100/mountinfo", "31 30 0:44 / /my\\040data rw - nfs4 server:/export rw\n");
    tree_.write("/proc/100/mountstats",
                fmt::format("device proc mounted on /proc with fstype proc\n"
                            "device server:/export mounted on /my\\040data with fstype nfs4 "
                            "statvers=1.1\n"
                            "\topts:\trw,vers=4.2\n"
                            "\tbytes:\t1 2 3 4 {} 600 7 8 \n"
                            "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
                            "\txprt:\ttcp 0 1 1 0 0 20 20 0 20 0 2 0 0\n"
                            "\tper-op statistics\n"
                            "\t        NULL: 1 1 0 44 24 0 5 0 0\n"
                            "\t        READ: {} {} 0 100 200 3 70 80 0\n"
                            "device tmpfs mounted on /tmp with fstype tmpfs\n",
                            read, requests, sent));
  }

  std::string disks_;
  std::unique_ptr<Sampler> sampler_ = storage_sampler(tree_.root());
};

TEST_F(StorageSamplerTest, ADisksBytesAndItsTimeAtWork) {
  tree_.write("/sys/block/nvme0n1/size", "1");
  disk("nvme0n1", 100, 10, 5);
  disk("nvme0n1p1", 100, 10, 5);
  look();
  disk("nvme0n1", 300, 11, 25);
  disk("nvme0n1p1", 300, 11, 25);
  look();
  close();
  EXPECT_THAT(counters_.values("disk.read_bytes", "nvme0n1"), ElementsAre(51'200, 153'600));
  EXPECT_THAT(counters_.values("disk.written_bytes", "nvme0n1"), ElementsAre(5'120, 5'632));
  EXPECT_THAT(counters_.values("disk.busy_ns", "nvme0n1"), ElementsAre(5e6, 25e6));
  EXPECT_THAT(counters_.of("disk.read_bytes", "nvme0n1p1"), IsEmpty()) << "a partition";
}

TEST_F(StorageSamplerTest, AnIdleDiskLeavesNothing) {
  tree_.write("/sys/block/sda/size", "1");
  for (int tick = 0; tick < 3; ++tick) {
    disk("sda", 100, 10, 5);
    look();
  }
  close();
  EXPECT_THAT(series_, IsEmpty());
}

TEST_F(StorageSamplerTest, OfNfsWhatCameFromTheServerAndHowItsRequestsFared) {
  mounted(1'000, 10, 10);
  look();
  mounted(5'000, 30, 33);
  look();
  close();
  EXPECT_THAT(counters_.values("nfs.read_bytes", "/my data"), ElementsAre(1'000, 5'000));
  EXPECT_THAT(counters_.values("nfs.requests", "/my data"), ElementsAre(11, 31));
  EXPECT_THAT(counters_.values("nfs.resent_requests", "/my data"), ElementsAre(0, 3));
  EXPECT_THAT(counters_.of("nfs.written_bytes", "/my data"), IsEmpty()) << "nothing changed";
  EXPECT_THAT(counters_.of("nfs.round_trips_ns", "/my data"), IsEmpty());
}

TEST_F(StorageSamplerTest, PagesThatWereReadAgainByEitherNameOfTheirCounter) {
  for (const int pages : {10, 30}) {
    tree_.write("/proc/vmstat", fmt::format("nr_free_pages 9\nworkingset_refault_anon 7\n"
                                            "workingset_refault_file {}\n",
                                            pages));
    look();
  }
  tree_.write("/proc/vmstat", "workingset_refault 40\n");
  look();
  close();
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  EXPECT_THAT(counters_.values("memory.refault_bytes", ""),
              ElementsAre(10 * page, 30 * page, 40 * page));
}

// A loader that ends takes its count with it; another one begins anew under its number.
TEST_F(StorageSamplerTest, OfTheJobWhatAllItsProcessesEverMoved) {
  moved(100, 1'000, 1);
  look();
  processes_.push_back({.pid = 101, .start_ticks = 8});
  moved(100, 1'500, 1);
  moved(101, 200, 0);
  look();
  processes_.back().start_ticks = 9;
  moved(101, 50, 0);
  look();
  processes_.pop_back();
  look();
  close();
  EXPECT_THAT(counters_.values("job.read_bytes", ""), ElementsAre(1'000, 1'700, 1'750, 1'750));
}

TEST_F(StorageSamplerTest, TablesOfAnyKindAreBorne) {
  tree_.write("/sys/block/sda/size", "1");
  for (const char* text :
       {"", "\n", "8 0 sda", "8 0 sda x x x x x x x x x x", "8 0", "  8 0  \n\n"}) {
    tree_.write("/proc/diskstats", text);
    tree_.write("/proc/vmstat", text);
    tree_.write("/proc/100/io", text);
    tree_.write("/proc/100/mountinfo", "31 30 0:44 / /data rw - nfs4 server:/export rw\n");
    tree_.write(
        "/proc/100/mountstats",
        std::string("device a mounted on b with fstype nfs\nbytes:\nper-op\nREAD:\n") + text);
    sample(sampler_, 11 * kSecond);
  }
  close();
}

}  // namespace
}  // namespace chokepoint::capture::counter
