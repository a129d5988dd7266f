#include "probe/host/checks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fakes/host_tree.h"
#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

TEST(Examine, AHostAsItShouldBeHasNothingToMend) {
  const fakes::HostTree tree = fakes::HostTree::from_fixture("healthy");
  for (const Check& check : examine(host::read_inventory(tree.root()))) {
    EXPECT_LE(check.status, Status::Info) << check.id << ' ' << check.subject << ": " << check.why;
  }
}

TEST(Examine, WhatMattersAndCannotBeReadIsUnknownNeverWrong) {
  const fakes::HostTree tree = fakes::HostTree::from_text("");
  const Checks checks = examine(host::read_inventory(tree.root()));
  EXPECT_FALSE(checks.empty());
  EXPECT_EQ(worst(checks), Status::Unknown);
}

TEST(Examine, EveryFindingHasAReasonAndASubject) {
  for (const char* fixture :
       {"wan-small-buffers", "dual-stack-loopback-name", "gpu-gen2-load", "roce-link-local-gid"}) {
    const fakes::HostTree tree = fakes::HostTree::from_fixture(fixture);
    for (const Check& check : examine(host::read_inventory(tree.root()))) {
      EXPECT_FALSE(check.subject.empty()) << check.id;
      EXPECT_FALSE(check.why.empty()) << check.id;
      EXPECT_TRUE(check.status < Status::Warning || !check.next_step.empty()) << check.id;
    }
  }
}

Check checked(std::string_view host) {
  Checks checks;
  check_kernel(host::read_kernel(fakes::HostTree::from_text(host).root()), checks);
  return checks.at(0);
}

TEST(KernelChecks, ARecentKernelPasses) {
  EXPECT_EQ(checked("/proc/sys/kernel/osrelease = 5.14.0-427.40.1.el9_4.x86_64\n").status,
            Status::Pass);
}

TEST(KernelChecks, AnOldKernelIsAWarningWithANextStep) {
  const Check check = checked("/proc/sys/kernel/osrelease = 3.10.0-1160.el7.x86_64\n");
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_FALSE(check.next_step.empty());
}

TEST(KernelChecks, NoReleaseIsUnknown) { EXPECT_EQ(checked("").status, Status::Unknown); }

Checks checks_of(const host::Memory& memory) {
  Checks checks;
  check_memory(memory, checks);
  return checks;
}

TEST(MemoryFree, IsAWarningWhereLittleIsLeft) {
  host::Memory memory;
  memory.total_bytes = 100 * kGibibyte;
  memory.available_bytes = 4 * kGibibyte;
  EXPECT_EQ(checks_of(memory).at(0).status, Status::Warning);
  memory.available_bytes = 6 * kGibibyte;
  EXPECT_EQ(checks_of(memory).at(0).status, Status::Pass);
}

TEST(MemoryFree, IsUnknownWhereNotRead) {
  EXPECT_EQ(checks_of(host::Memory()).at(0).status, Status::Unknown);
}

TEST(MemoryHugePages, AreAWarningWhereMuchIsSetAsideForNobody) {
  host::Memory memory;
  memory.total_bytes = 100 * kGibibyte;
  memory.available_bytes = 50 * kGibibyte;
  memory.huge_page_bytes = kGibibyte;
  memory.free_huge_pages = 30;
  EXPECT_EQ(checks_of(memory).back().id, "memory.huge-pages");
  EXPECT_EQ(checks_of(memory).back().status, Status::Warning);
  memory.free_huge_pages = 10;
  EXPECT_EQ(checks_of(memory).size(), 1);
}

Checks checks_of(const host::Timekeeping& time) {
  Checks checks;
  check_time(time, checks);
  EXPECT_EQ(checks.at(0).id, "time.sync");
  EXPECT_EQ(checks.at(1).id, "time.source");
  return checks;
}

host::Timekeeping kept(std::optional<bool> synchronised) {
  host::Timekeeping time;
  time.synchronised = synchronised;
  time.largest_error_us = 1500;
  time.services = {"chronyd"};
  time.source = "tsc";
  return time;
}

TEST(Time, ASynchronisedClockPasses) {
  const Checks checks = checks_of(kept(true));
  EXPECT_EQ(worst(checks), Status::Pass);
  EXPECT_EQ(checks[0].found, "synchronised within 1.50 ms by chronyd");
}

TEST(Time, AClockThatNobodyKeepsIsAWarning) {
  host::Timekeeping time = kept(false);
  EXPECT_EQ(checks_of(time)[0].status, Status::Warning);
  EXPECT_EQ(checks_of(time)[0].next_step, "chronyc tracking || timedatectl timesync-status");
  time.services.clear();
  EXPECT_EQ(checks_of(time)[0].next_step, "apt-get install chrony || dnf install chrony");
}

TEST(Time, ACopyTellsOnlyWhoRan) {
  EXPECT_EQ(checks_of(kept(std::nullopt))[0].status, Status::Info);
  EXPECT_EQ(checks_of(host::Timekeeping())[0].status, Status::Unknown);
}

TEST(Time, ASlowClockIsAWarning) {
  host::Timekeeping time = kept(true);
  for (const char* slow : {"hpet", "acpi_pm", "jiffies"}) {
    time.source = slow;
    EXPECT_EQ(checks_of(time)[1].status, Status::Warning) << slow;
  }
  for (const char* fast : {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"}) {
    time.source = fast;
    EXPECT_EQ(checks_of(time)[1].status, Status::Pass) << fast;
  }
  time.source.reset();
  EXPECT_EQ(checks_of(time)[1].status, Status::Unknown);
}

Checks checks_of(const host::Libraries& libraries, std::optional<bool> peer_memory,
                 DevicesPresent present) {
  Checks checks;
  check_libraries(libraries, peer_memory, present, checks);
  return checks;
}

TEST(Libraries, WhatIsFoundIsTold) {
  host::Libraries libraries;
  libraries.nccl = host::FoundLibrary{"2.21.5", "/usr/lib/libnccl.so.2"};
  const Checks checks = checks_of(libraries, {}, {});
  ASSERT_EQ(checks.size(), 4);
  EXPECT_EQ(checks[0].id, "lib.nccl");
  EXPECT_EQ(checks[0].found, "2.21.5 (/usr/lib/libnccl.so.2)");
  EXPECT_EQ(checks[0].status, Status::Pass);
  EXPECT_EQ(checks[1].id, "lib.cuda");
  EXPECT_EQ(checks[1].status, Status::Info);
  EXPECT_EQ(checks[3].id, "build.features");
  EXPECT_EQ(checks[3].status, Status::Info);
}

TEST(Libraries, PeerMemoryMattersWithGpuAndRdma) {
  const auto peer = [](std::optional<bool> loaded) {
    return checks_of({}, loaded, {.gpus = true, .rdma = true}).at(3);
  };
  EXPECT_EQ(peer(true).id, "lib.peer-memory");
  EXPECT_EQ(peer(true).status, Status::Pass);
  EXPECT_EQ(peer(false).status, Status::Info);
  EXPECT_EQ(peer(std::nullopt).status, Status::Unknown);
  EXPECT_EQ(checks_of({}, true, {.gpus = true, .rdma = false}).size(), 4);
}

using host::Capability;

host::Process with(std::initializer_list<Capability> capabilities) {
  host::Process process;
  process.capabilities = 0;
  process.allow_capture = "sudo setcap cap_net_raw+ep /opt/lib/chokepoint-capture";
  for (const Capability one : capabilities) {
    *process.capabilities |= 1ULL << static_cast<unsigned>(one);
  }
  return process;
}

Checks checks_of(const host::Process& process) {
  Checks checks;
  check_privileges(process, checks);
  return checks;
}

TEST(Privileges, WithoutAnyThereIsSomethingToDoForEach) {
  const Checks checks = checks_of(with({}));
  ASSERT_EQ(checks.size(), 2);
  EXPECT_EQ(checks[0].id, "privilege.capture");
  EXPECT_EQ(checks[0].status, Status::Info);
  EXPECT_EQ(checks[0].next_step, "sudo setcap cap_net_raw+ep /opt/lib/chokepoint-capture");
  EXPECT_EQ(checks[1].id, "privilege.sockets");
  EXPECT_EQ(checks[1].status, Status::Info);
}

TEST(Privileges, EachPassesWithItsOwn) {
  EXPECT_EQ(checks_of(with({Capability::NetRaw}))[0].status, Status::Pass);
  EXPECT_EQ(checks_of(with({Capability::NetAdmin}))[1].status, Status::Info);
  EXPECT_EQ(checks_of(with({Capability::NetAdmin, Capability::SysPtrace}))[1].status, Status::Pass);
}

TEST(Privileges, ToCaptureTheHelperMayHaveThem) {
  host::Process process = with({});
  process.is_capture_allowed = true;
  EXPECT_EQ(checks_of(process)[0].status, Status::Pass);
}

TEST(Privileges, NotReadIsUnknown) {
  const Checks checks = checks_of(host::Process());
  ASSERT_EQ(checks.size(), 1);
  EXPECT_EQ(checks[0].status, Status::Unknown);
}

TEST(OpenFiles, FewAreInfo) {
  host::Process process = with({});
  process.open_files = host::Limit{1024, 4096};
  EXPECT_EQ(checks_of(process).back().id, "limit.open-files");
  EXPECT_EQ(checks_of(process).back().status, Status::Info);
  process.open_files = host::Limit{host::kUnlimited, host::kUnlimited};
  EXPECT_EQ(checks_of(process).back().status, Status::Pass);
}

}  // namespace

}  // namespace chokepoint::probe
