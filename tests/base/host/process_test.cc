#include "base/host/process.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

constexpr const char* kUnprivileged = R"(
/proc/self/limits <<END
Limit                     Soft Limit           Hard Limit           Units
Max core file size        0                    unlimited            bytes
Max open files            1024                 1048576              files
Max locked memory         8388608              8388608              bytes
END
/proc/self/status <<END
Name:	chokepoint
CapEff:	0000000000002000
END
/proc/self/environ <<END
HOME=/root
NCCL_SOCKET_IFNAME==eth0
GLOO_SOCKET_IFNAME=eth1
TP_SOCKET_IFNAME=eth2
MASTER_ADDR=fd00::1
MASTER_PORT=29500
MASTER_KEY=secret
END
)";

TEST(Process, ReadsLimitsCapabilitiesAndTheLibrariesEnvironment) {
  const Process process = read_process(fakes::HostTree::from_text(kUnprivileged).root());
  EXPECT_EQ(process.locked_memory_bytes->soft, 8388608);
  EXPECT_EQ(process.open_files->soft, 1024);
  EXPECT_EQ(process.core_bytes->hard, kUnlimited);
  EXPECT_EQ(has(process, Capability::NetRaw), true);
  EXPECT_EQ(has(process, Capability::NetAdmin), false);
  EXPECT_EQ(variable(process, "NCCL_SOCKET_IFNAME"), "=eth0");
  EXPECT_EQ(variable(process, "GLOO_SOCKET_IFNAME"), "eth1");
  EXPECT_EQ(variable(process, "TP_SOCKET_IFNAME"), "eth2");
  EXPECT_EQ(variable(process, "MASTER_ADDR"), "fd00::1");
  EXPECT_EQ(variable(process, "MASTER_PORT"), "29500");
  EXPECT_EQ(variable(process, "HOME"), std::nullopt) << "not ours to keep in a record";
  EXPECT_EQ(variable(process, "MASTER_KEY"), std::nullopt);
}

TEST(Process, TheKernelEndsVariablesWithANul) {
  const auto tree = fakes::HostTree::from_text("");
  tree.write("/proc/self/environ", std::string_view("A=1\0NCCL_DEBUG=INFO\0", 20));
  EXPECT_EQ(variable(read_process(tree.root()), "NCCL_DEBUG"), "INFO");
}

TEST(Process, WhatIsNotThereIsNotKnown) {
  const Process process = read_process(fakes::HostTree::from_text("").root());
  EXPECT_FALSE(process.locked_memory_bytes);
  EXPECT_EQ(has(process, Capability::NetRaw), std::nullopt);
  EXPECT_FALSE(process.environment);
}

TEST(Process, TheRunningOneIsKnown) {
  const Process process = read_process(sys::Root());
  EXPECT_TRUE(process.locked_memory_bytes);
  EXPECT_TRUE(process.capabilities);
  EXPECT_FALSE(process.is_capture_allowed);
}

}  // namespace
}  // namespace chokepoint::host
