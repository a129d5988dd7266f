#include "capture/job/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "capture/job/attached.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::capture::job {
namespace {

using Pids = std::vector<pid_t>;
using fakes::HostTree;

TEST(StatLine, ANameMayHoldWhatTheLineIsMadeOf) {
  const auto stat = parse_stat(
      "42 (a) R (b) S 7 9 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 8192 100 184 1 2 777 3 4 "
      "0 0 0 0 0 0 0 17 0 0 0 0 0 0 1 2 3 21 22 31 32 256\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) R (b");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->group, 9);
  EXPECT_EQ(stat->start_ticks, 12345U);
  EXPECT_EQ(stat->stack, 777U);
  EXPECT_EQ(stat->arguments, 21U);
  EXPECT_EQ(stat->environment_end, 32U);
  EXPECT_EQ(stat->wait_status, 256);
}

TEST(StatLine, OlderKernelsEndTheLineSooner) {
  const auto stat = parse_stat("1 (init) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->start_ticks, 5U);
  EXPECT_EQ(stat->environment, 0U);
}

TEST(StatLine, WhatTheKernelWouldNotWriteIsRefused) {
  for (const char* line : {"", "1", "1 (init", "1 (init) ", ") 1 (", "1 (init) S 0 1"}) {
    EXPECT_FALSE(parse_stat(line)) << line;
  }
}

TEST(StatLine, OfThisProcess) {
  const auto stat = read_stat(sys::Root(), getpid());
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, getppid());
  EXPECT_EQ(stat->group, getpgrp());
  EXPECT_FALSE(stat->has_ended());
  EXPECT_NE(stat->environment, 0U);
}

HostTree version_2() {
  return HostTree::from_text(
      "/sys/fs/cgroup/cgroup.controllers = cpu\n"
      "/sys/fs/cgroup/cgroup.procs = 1\n"
      "/sys/fs/cgroup/system.slice/docker-ab.scope/cgroup.procs = 12\\n11\\n0\n"
      "/sys/fs/cgroup/system.slice/docker-ab.scope/worker/cgroup.procs = 13\\n12\n"
      "/sys/fs/cgroup/system.slice/docker-ab.scope/worker/deep/cgroup.procs = 14\n");
}

TEST(Cgroup, IsNamedAsProcNamesItOrByItsFolder) {
  const HostTree host = version_2();
  for (const char* name :
       {"0::/system.slice/docker-ab.scope", "/system.slice/docker-ab.scope",
        "system.slice/docker-ab.scope/", "/sys/fs/cgroup/system.slice/docker-ab.scope"}) {
    EXPECT_EQ(find_cgroup(host.root(), name), "/sys/fs/cgroup/system.slice/docker-ab.scope")
        << name;
  }
  EXPECT_EQ(find_cgroup(host.root(), "/"), "/sys/fs/cgroup");
  EXPECT_EQ(find_cgroup(host.root(), "/system.slice/other"), std::nullopt);
}

TEST(Cgroup, HasThoseBelowItToo) {
  const HostTree host = version_2();
  EXPECT_EQ(pids_of_cgroup(host.root(), "/sys/fs/cgroup/system.slice/docker-ab.scope"),
            (Pids{11, 12, 13, 14}));
  EXPECT_EQ(pids_of_cgroup(host.root(), "/sys/fs/cgroup/gone"), std::nullopt);
}

TEST(Cgroup, OfVersion1IsFoundUnderItsController) {
  const HostTree host = HostTree::from_text(
      "/sys/fs/cgroup/memory/docker/ab/cgroup.procs = 21\n"
      "/sys/fs/cgroup/cpu,cpuacct/docker/cd/cgroup.procs = 22\n"
      "/sys/fs/cgroup/systemd/docker/ef/cgroup.procs = 23\n"
      "/sys/fs/cgroup/unified/docker/gh/cgroup.procs = 24\n");
  const sys::Root root = host.root();
  EXPECT_EQ(find_cgroup(root, "4:memory:/docker/ab"), "/sys/fs/cgroup/memory/docker/ab");
  EXPECT_EQ(find_cgroup(root, "/docker/ab"), "/sys/fs/cgroup/memory/docker/ab");
  EXPECT_EQ(find_cgroup(root, "memory/docker/ab"), "/sys/fs/cgroup/memory/docker/ab");
  EXPECT_EQ(find_cgroup(root, "3:cpu,cpuacct:/docker/cd"), "/sys/fs/cgroup/cpu,cpuacct/docker/cd");
  EXPECT_EQ(find_cgroup(root, "1:name=systemd:/docker/ef"), "/sys/fs/cgroup/systemd/docker/ef");
  EXPECT_EQ(find_cgroup(root, "0::/docker/gh"), "/sys/fs/cgroup/unified/docker/gh");
  EXPECT_EQ(find_cgroup(root, "4:memory:/docker/cd"), std::nullopt);
}

TEST(AttachedCgroup, IsOverOnceItIsEmptyOrGone) {
  const HostTree host = version_2();
  const sys::Root root = host.root();
  const auto attached = Attached::attach({.cgroup = "/system.slice/docker-ab.scope"}, root);
  ASSERT_TRUE(attached);
  EXPECT_FALSE((*attached)->is_over());
  const std::string folder = "/sys/fs/cgroup/system.slice/docker-ab.scope/";
  host.write(folder + "cgroup.procs", "");
  host.write(folder + "worker/cgroup.procs", "");
  EXPECT_FALSE((*attached)->is_over()) << "14 is still there";
  host.write(folder + "worker/deep/cgroup.procs", "");
  EXPECT_TRUE((*attached)->is_over());
  EXPECT_FALSE(Attached::attach({.cgroup = "/system.slice/docker-ab.scope"}, root)) << "empty";
  host.remove("/sys/fs/cgroup/system.slice/docker-ab.scope");
  EXPECT_TRUE((*attached)->is_over());
  EXPECT_FALSE(Attached::attach({.cgroup = "/system.slice/docker-ab.scope"}, root)) << "gone";
}

TEST(JobProcess, HasThePidThatItHasItself) {
  const auto tree = fakes::HostTree::from_text("/proc/uptime = 1 1\n");
  tree.write("/proc/4711/status", "Name:\tpython3\nPid:\t4711\nNSpid:\t4711\t12\t7\nNSpgid:\t1\n");
  tree.write("/proc/4712/status", "Name:\tpython3\nPid:\t4712\nNSpid:\t4712\n");
  tree.write("/proc/4713/status", "Name:\tNSpid: 3\nPid:\t4713\n");
  EXPECT_EQ(own_pid_of(tree.root(), 4711), 7);
  EXPECT_EQ(own_pid_of(tree.root(), 4712), 4712);
  EXPECT_EQ(own_pid_of(tree.root(), 4713), 0);
  EXPECT_EQ(own_pid_of(tree.root(), 1), 0);
}

TEST(JobProcess, MapsAFileByItsInodeAndName) {
  const auto tree = fakes::HostTree::from_text("/proc/uptime = 1 1\n");
  tree.write("/proc/7/maps",
             "7f0000000000-7f0000001000 r-xp 00000000 fe:00 1234   /lib/libc.so.6\n"
             "7f0000002000-7f0000003000 rw-s 00000000 00:2f 99     /dev/shm/x/7.nccl\n");
  EXPECT_EQ(maps_file(tree.root(), 7, 99, ".nccl"), true);
  EXPECT_EQ(maps_file(tree.root(), 7, 1234, ".nccl"), false);
  EXPECT_EQ(maps_file(tree.root(), 7, 9, ".nccl"), false);
  EXPECT_EQ(maps_file(tree.root(), 8, 99, ".nccl"), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::capture::job
