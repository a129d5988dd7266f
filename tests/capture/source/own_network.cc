#include "tests/capture/source/own_network.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

namespace chokepoint::capture::source {
namespace {

constexpr std::size_t kNumberAt = 14;

void enter_own_network() {
  const bool entered = unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 &&
                       mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
                       mount("sysfs", "/sys", "sysfs", 0, nullptr) == 0;
  if (!entered) {
    throw std::runtime_error(std::string("own network: ") + std::strerror(errno));
  }
  ip("link add near mtu 9000 type veth peer name far mtu 9000");
  ip("link set near up");
  ip("link set far up");
}

}  // namespace

std::string lacks_for_own_network() {
  return geteuid() == 0 ? "" : "needs root for a network namespace";
}

void ip(const std::string& arguments) {
  if (std::system(("ip " + arguments).c_str()) != 0) {
    throw std::runtime_error("ip " + arguments);
  }
}

void in_own_network(const std::function<void()>& body) {
  std::thread([&] {
    enter_own_network();
    body();
  }).join();
}

FrameSender::FrameSender(const std::string& interface)
    : socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::runtime_error("cannot send into " + interface);
  }
}

void FrameSender::send(std::uint32_t first, std::uint32_t count, std::uint32_t bytes) const {
  std::vector<std::uint8_t> frame(bytes, 0xff);
  const std::uint16_t type = htons(kTestEtherType);
  std::memcpy(&frame[12], &type, sizeof(type));
  for (std::uint32_t number = first; number < first + count; ++number) {
    std::memcpy(&frame[kNumberAt], &number, sizeof(number));
    if (::send(socket_.get(), frame.data(), frame.size(), 0) < 0) {
      throw std::runtime_error(std::string("cannot send: ") + std::strerror(errno));
    }
  }
}

std::uint32_t number_of(std::span<const std::uint8_t> frame) {
  std::uint32_t number = 0;
  std::memcpy(&number, frame.subspan(kNumberAt).data(), sizeof(number));
  return number;
}

}  // namespace chokepoint::capture::source
