#include "capture/socket/ownership.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::capture::socket {
namespace {

job::JobProcess process(pid_t pid, std::uint64_t start_ticks, std::optional<int> rank = {}) {
  return {.pid = pid, .start_ticks = start_ticks, .rank = {.rank = rank}};
}

TEST(Holders, ASocketIsTheRanksOrElseTheOldests) {
  const fakes::HostTree host = fakes::HostTree::from_text(
      "/proc/1/fd/0 -> /dev/null\n"
      "/proc/1/fd/3 -> socket:[50]\n"
      "/proc/1/fd/4 -> socket:[51]\n"
      "/proc/2/fd/3 -> socket:[50]\n"
      "/proc/2/fd/4 -> socket:[51]\n"
      "/proc/2/fd/5 -> pipe:[52]\n"
      "/proc/3/fd/3 -> socket:[50]\n"
      "/proc/3/fd/4 -> socket:[53\n"
      "/proc/3/fd/5 -> socket:[99999999999999]\n");
  Holders holders(host.root());
  holders.read({process(1, 20), process(2, 10), process(3, 30, 0), process(4, 5)});
  EXPECT_EQ(holders.holder_of(50)->pid, 3);
  EXPECT_EQ(holders.holder_of(51)->pid, 2);
  for (const std::uint32_t inode : {0U, 52U, 53U}) {
    EXPECT_EQ(holders.holder_of(inode), nullptr) << inode;
  }
  EXPECT_EQ(holders.hidden(), 0) << "a process that is gone hides nothing";
  holders.read({process(1, 20)});
  EXPECT_EQ(holders.holder_of(50)->pid, 1);
}

}  // namespace
}  // namespace chokepoint::capture::socket
