#include "tests/lab/wire/tap.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/lab/wire/virtio_header.h"

namespace chokepoint::lab {
namespace {

// Since Linux 6.2; older headers do not name them, and older kernels refuse them.
constexpr unsigned kUdpSegmentation = 0x20 | 0x40;

Result<sys::Descriptor> open_file(const std::string& path, int flags) {
  sys::Descriptor opened(::open(path.c_str(), flags | O_CLOEXEC));
  if (!opened) {
    return fail(from_errno(errno, "open", path));
  }
  return opened;
}

Result<> enter(const sys::Descriptor& space, const std::string& name) {
  if (setns(space.get(), CLONE_NEWNET) != 0) {
    return fail(from_errno(errno, "enter namespace", name));
  }
  return {};
}

Result<sys::Descriptor> create_device(const std::string& name) {
  auto device = open_file("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (!device) {
    return device;
  }
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  const int header_bytes = sizeof(VirtioHeader);
  if (ioctl(device->get(), TUNSETIFF, &request) != 0 ||
      ioctl(device->get(), TUNSETVNETHDRSZ, &header_bytes) != 0) {
    return fail(from_errno(errno, "make TAP device", name));
  }
  return device;
}

}  // namespace

Result<Tap> Tap::open(const std::string& space, const std::string& interface) {
  const auto own = open_file("/proc/thread-self/ns/net", O_RDONLY);
  const auto other = open_file("/run/netns/" + space, O_RDONLY);
  if (!own || !other) {
    return fail(own ? other.error() : own.error());
  }
  if (auto entered = enter(*other, space); !entered) {
    return fail(entered.error());
  }
  auto device = create_device(interface);
  if (auto back = enter(*own, "of the wire"); !back) {
    return fail(back.error());
  }
  if (!device) {
    return fail(device.error());
  }
  return Tap(std::move(*device), interface);
}

std::optional<std::size_t> Tap::read(std::span<std::byte> into) const {
  const ssize_t got = ::read(descriptor_.get(), into.data(), into.size());
  return got > 0 ? std::optional(static_cast<std::size_t>(got)) : std::nullopt;
}

bool Tap::write(std::span<const std::byte> frame) const {
  return ::write(descriptor_.get(), frame.data(), frame.size()) ==
         static_cast<ssize_t>(frame.size());
}

Result<> Tap::allow_super_frames(bool allowed) const {
  const unsigned tcp = TUN_F_CSUM | (allowed ? TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN : 0U);
  const unsigned with_udp = tcp | (allowed ? kUdpSegmentation : 0U);
  if (ioctl(descriptor_.get(), TUNSETOFFLOAD, with_udp) != 0 &&
      ioctl(descriptor_.get(), TUNSETOFFLOAD, tcp) != 0) {
    return fail(from_errno(errno, "set offloads", name_));
  }
  return {};
}

Result<> Tap::plugged_in(bool is_plugged) const {
  const int carrier = is_plugged ? 1 : 0;
  if (ioctl(descriptor_.get(), TUNSETCARRIER, &carrier) != 0) {
    return fail(from_errno(errno, "set carrier", name_));
  }
  return {};
}

}  // namespace chokepoint::lab
