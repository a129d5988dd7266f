// Which interfaces a run captures, and from when to when, on a network of the test's own. What is
// captured is asked of the kernel: it lists its packet sockets. Skipped without root.
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "capture/packet/address_text.h"
#include "capture/run/packets.h"
#include "tests/base/record/record_folder.h"
#include "tests/capture/observer/frames.h"
#include "tests/capture/source/own_network.h"
#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::run {
namespace {

using fakes::kSecond;
using source::in_own_network;
using source::ip;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::int64_t kStart = 100 * kSecond;
constexpr std::int64_t kSettled = 10 * kSecond;
constexpr std::uint16_t kPort = 4791;  // passes the filter for any job
constexpr std::uint64_t kFrameBytes = 50;

packet::Address address(const std::string& text) {
  return packet::as_in_packets(*net::Address::parse(text));
}

socket::Peer peer(const std::string& interface, const std::string& text = "10.0.0.2") {
  return {.address = address(text), .interface = interface};
}

// The interfaces that this thread's network has a packet socket on, each once.
std::set<std::string> captured() {
  std::ifstream sockets("/proc/thread-self/net/packet");
  std::set<std::string> names;
  std::string line;
  std::getline(sockets, line);
  while (std::getline(sockets, line)) {
    std::istringstream words(line);
    std::string word;
    unsigned index = 0;
    words >> word >> word >> word >> word >> index;
    std::array<char, IF_NAMESIZE> name{};
    names.insert(if_indextoname(index, name.data()) == nullptr ? "gone" : name.data());
  }
  return names;
}

// "near" and "far" are the ends of one wire; this adds another.
void add_wire(const std::string& name, const std::string& other) {
  ip("link add " + name + " type veth peer name " + other);
  ip("link set " + name + " up");
  ip("link set " + other + " up");
}

void send(const std::string& into, const observer::Datagram& datagram, int count) {
  const std::vector<std::uint8_t> bytes = observer::bytes_of(datagram);
  const sys::Descriptor fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = static_cast<int>(if_nametoindex(into.c_str()));
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(sendto(fd.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to),
                     sizeof(to)),
              std::ssize(bytes));
  }
}

// Of this thread alone, and of the programs that it starts.
void give_up_privileges() {
  ASSERT_EQ(prctl(PR_CAPBSET_DROP, CAP_NET_RAW, 0, 0, 0), 0);
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> none{};
  ASSERT_EQ(syscall(SYS_capset, &head, none.data()), 0);
}

class LivePackets : public record::RecordFolder {
 protected:
  void SetUp() override {
    if (const std::string lacks = source::lacks_for_own_network(); !lacks.empty()) {
      GTEST_SKIP() << lacks;
    }
    writer_ = open_writer();
    registry_ = std::make_unique<socket::FlowRegistry>(*writer_);
  }

  std::unique_ptr<Packets> packets(std::vector<std::string> interfaces = {},
                                   const sys::Root& root = sys::Root()) {
    return std::make_unique<Packets>(
        PacketOptions{
            .interfaces = std::move(interfaces), .root = root, .tap_program = CHOKEPOINT_CAPTURE},
        *registry_, *writer_, tap::TapListeners{});
  }
  // The job is 10.0.0.1, and this its connection with 10.0.0.`to`.
  void job_talks_to(std::uint8_t to, const std::string& interface = "near") {
    registry_->seen_by_sockets({.source = address("10.0.0.1"),
                                .destination = address("10.0.0." + std::to_string(to)),
                                .source_port = 7,
                                .destination_port = kPort,
                                .protocol = 17},
                               0, to, {.process = 5, .interface = interface, .is_job = true}, 1);
  }
  static void job_sends(std::uint8_t to, int count, const std::string& into = "near") {
    send(into, {.from = 1, .to = to, .from_port = 7, .to_port = kPort}, count);
  }
  static std::uint64_t sent(const Packets& packets) {
    std::uint64_t bytes = 0;
    for (const InterfaceVolume& volume : packets.volumes()) {
      bytes += volume.counts.sent_bytes;
    }
    return bytes;
  }

  std::unique_ptr<record::Writer> writer_;
  std::unique_ptr<socket::FlowRegistry> registry_;
};

TEST_F(LivePackets, CaptureWhatIsUpAndHasAnAddressThatPeersCanReach) {
  in_own_network([&] {
    add_wire("shut", "other");
    ip("link set lo up");
    ip("addr add 10.0.0.1/24 dev near");
    ip("addr add 169.254.3.4/16 dev far");
    ip("addr add 10.0.7.1/24 dev shut");
    ip("link set shut down");
    const auto all = packets();
    ASSERT_TRUE(all->open());
    EXPECT_THAT(captured(), ElementsAre("near"));
    EXPECT_TRUE(all->has_listened());
    EXPECT_THAT(all->remarks(), IsEmpty());
  });
}

TEST_F(LivePackets, AreOfAtMostEightInterfacesPhysicalOnesFirst) {
  // Interfaces of a host that is made up: opening them fails, and says which they were.
  std::string text;
  std::string addresses;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "made" + std::to_string(i);
    const std::string folder = "/sys/class/net/" + name;
    text += folder + "/ifindex = " + std::to_string(700 + i) + "\n" + folder + "/flags = 0x1003\n";
    text += i == 9 ? folder + "/speed = 100000\n" : "";
    addresses +=
        "20010db80000000000000000000000" + std::to_string(10 + i) + " 04 40 00 80 " + name + "\n";
  }
  const fakes::HostTree host =
      fakes::HostTree::from_text(text + "/proc/net/if_inet6 <<END\n" + addresses + "END\n");
  in_own_network([&] {
    const auto all = packets({}, host.root());
    ASSERT_TRUE(all->open());
    EXPECT_FALSE(all->has_listened());
    EXPECT_THAT(all->remarks(),
                ElementsAre(HasSubstr("made0"), HasSubstr("made1"), HasSubstr("made2"),
                            HasSubstr("made3"), HasSubstr("made4"), HasSubstr("made5"),
                            HasSubstr("made6"), HasSubstr("made9")));
  });
}

TEST_F(LivePackets, OfAnInterfaceThatCannotBeCapturedAreMissingAndTheOthersGoOn) {
  const fakes::HostTree host = fakes::HostTree::from_text(
      "/sys/class/net/ghost/ifindex = 700\n"
      "/sys/class/net/ghost/flags = 0x1003\n"
      "/sys/class/net/near/ifindex = 701\n"
      "/sys/class/net/near/flags = 0x1003\n"
      "/proc/net/if_inet6 <<END\n"
      "20010db8000000000000000000000001 02bc 40 00 80 ghost\n"
      "20010db8000000000000000000000002 02bd 40 00 80 near\n"
      "END\n");
  in_own_network([&] {
    const auto all = packets({}, host.root());
    ASSERT_TRUE(all->open());
    EXPECT_THAT(all->remarks(), ElementsAre(HasSubstr("ghost")));
    EXPECT_THAT(captured(), ElementsAre("near"));
  });
}

TEST_F(LivePackets, OfAnInterfaceThatTheUserNamedWronglyAreAnError) {
  in_own_network([&] {
    const auto wrong = packets({"near", "eth7"});
    const Result<> opened = wrong->open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, ErrorKind::NotFound);
    EXPECT_THAT(describe(opened.error()), HasSubstr("eth7"));
  });
}

TEST_F(LivePackets, WithoutPrivilegesAreMissingAndThatIsSaidOnce) {
  in_own_network([&] {
    ip("addr add 10.0.0.1/24 dev near");
    ip("addr add 10.0.1.1/24 dev far");
    give_up_privileges();
    const auto all = packets();
    ASSERT_TRUE(all->open());
    EXPECT_THAT(all->remarks(), ElementsAre(StartsWith("no packets: ")));
    EXPECT_FALSE(all->has_listened());
    const Result<> named = packets({"near"})->open();
    ASSERT_FALSE(named);
    EXPECT_EQ(named.error().kind, ErrorKind::Permission);
  });
}

TEST_F(LivePackets, FollowThePeersToInterfacesOfTheirs) {
  in_own_network([&] {
    ip("link set lo up");
    const auto all = packets();
    ASSERT_TRUE(all->open());
    all->begin();
    EXPECT_THAT(captured(), IsEmpty());
    all->follow({peer("lo"), peer("")}, kStart);
    EXPECT_THAT(captured(), IsEmpty());
    all->follow({peer("near")}, kStart);
    EXPECT_THAT(captured(), ElementsAre("near"));
    EXPECT_THAT(all->remarks(), IsEmpty());
    all->end();
    EXPECT_THAT(captured(), IsEmpty());
  });
}

TEST_F(LivePackets, StayWhereTheUserWantsThem) {
  in_own_network([&] {
    const auto all = packets({"near"});
    ASSERT_TRUE(all->open());
    all->begin();
    all->follow({peer("far")}, kStart);
    EXPECT_THAT(captured(), ElementsAre("near"));
    // Also once it is known that no peer is there.
    all->follow({peer("far")}, kStart + kSettled);
    EXPECT_THAT(captured(), ElementsAre("near"));
  });
}

TEST_F(LivePackets, OfAnInterfaceThatIsNotThereAreTriedAgainEachSecond) {
  in_own_network([&] {
    const auto all = packets();
    ASSERT_TRUE(all->open());
    all->begin();
    const std::vector<socket::Peer> peers{peer("late")};
    all->follow(peers, kStart);
    EXPECT_THAT(all->remarks(),
                ElementsAre(testing::AllOf(StartsWith("no packets: "), HasSubstr("late"))));
    add_wire("late", "later");
    all->follow(peers, kStart + kSecond - 1);
    EXPECT_THAT(captured(), IsEmpty());
    all->follow(peers, kStart + kSecond);
    EXPECT_THAT(captured(), ElementsAre("late"));
  });
}

TEST_F(LivePackets, OfAnInterfaceThatGoesAwayStayCountedAndGoOnWhenItIsBack) {
  in_own_network([&] {
    job_talks_to(2);
    const auto all = packets({"near"});
    ASSERT_TRUE(all->open());
    all->begin();
    all->follow({peer("near")}, kStart);
    job_sends(2, 20);
    ip("link delete near");
    // The kernel says so after it; a moment may pass.
    std::int64_t now = kStart;
    for (int i = 0; i < 500 && !captured().empty(); ++i) {
      usleep(10'000);
      all->follow({peer("near")}, ++now);
    }
    ASSERT_THAT(captured(), IsEmpty());
    EXPECT_EQ(sent(*all), 20 * kFrameBytes);
    add_wire("near", "far");
    all->follow({peer("near")}, now + 2 * kSecond);
    EXPECT_THAT(captured(), ElementsAre("near"));
    job_sends(2, 30);
    all->end();
    EXPECT_EQ(sent(*all), 50 * kFrameBytes);
  });
}

TEST_F(LivePackets, AreNoLongerOfInterfacesThatTheJobDoesNotUse) {
  in_own_network([&] {
    add_wire("used", "usher");
    add_wire("idle", "idler");
    for (const std::string name : {"near", "used", "idle"}) {
      ip("addr add 10.0." + std::to_string(name.size()) + "." + std::to_string(name[0]) +
         "/24 dev " + name);
    }
    job_talks_to(3, "used");
    const auto all = packets();
    ASSERT_TRUE(all->open());
    all->begin();
    EXPECT_THAT(captured(), ElementsAre("idle", "near", "used"));
    // A peer is by "near"; "used" has carried the job's packets by the time it is looked at.
    all->follow({peer("near")}, kStart);
    job_sends(3, 20, "used");
    for (int i = 0; i < 500 && sent(*all) == 0; ++i) {
      usleep(10'000);
      job_sends(3, 1, "used");
    }
    all->follow({peer("near")}, kStart + kSettled - 1);
    EXPECT_THAT(captured(), ElementsAre("idle", "near", "used"));
    all->follow({peer("near")}, kStart + kSettled);
    EXPECT_THAT(captured(), ElementsAre("near", "used"));
  });
}

TEST_F(LivePackets, AreOfThePeersAloneUntilAnotherOneComes) {
  in_own_network([&] {
    job_talks_to(2);
    job_talks_to(3);
    const auto all = packets({"near"});
    ASSERT_TRUE(all->open());
    all->begin();
    all->follow({peer("near")}, kStart);
    job_sends(3, 1);  // all that may be the job's
    all->follow({peer("near")}, kStart + kSettled);
    job_sends(2, 10);
    job_sends(3, 100);  // not one of the peers
    all->follow({peer("near"), peer("near", "10.0.0.9")}, kStart + kSettled);
    job_sends(3, 1'000);
    all->end();
    EXPECT_EQ(sent(*all), 1'011 * kFrameBytes);
  });
}

TEST_F(LivePackets, AreCountedOnceWhereABridgeAndItsPortSeeThem) {
  in_own_network([&] {
    ip("link add br0 type bridge");
    ip("link set br0 up");
    ip("link set near master br0");
    job_talks_to(2, "br0");
    const auto all = packets({"br0", "near"});
    ASSERT_TRUE(all->open());
    all->begin();
    job_sends(2, 20, "near");
    job_sends(2, 20, "br0");
    all->end();
    ASSERT_EQ(all->volumes().size(), 1U);
    EXPECT_EQ(all->volumes()[0].interface, "br0");
    EXPECT_EQ(sent(*all), 20 * kFrameBytes);
  });
}

}  // namespace
}  // namespace chokepoint::capture::run
