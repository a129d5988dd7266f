// A TAP device inside a network namespace: what the namespace's kernel sends can be read here, what
// is written here it receives. Each frame begins with a virtio header, which carries checksums
// still to be filled in, and super-frames where these are allowed, unchanged from one device to the
// other. Owns the device, which goes with it. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::lab {

// The longest frame with its header: 64 KiB of IP, Ethernet with a VLAN tag, virtio.
inline constexpr std::size_t kLongestFrame = 65'536 + 32;

class Tap {
 public:
  // `space` is a namespace as `ip netns` names it. The calling thread is in it for a moment.
  static Result<Tap> open(const std::string& space, const std::string& interface);

  int descriptor() const { return descriptor_.get(); }
  // Nothing where no frame waits.
  std::optional<std::size_t> read(std::span<std::byte> into) const;
  // False where the namespace's kernel did not take it: the device is down.
  bool write(std::span<const std::byte> frame) const;

  Result<> allow_super_frames(bool allowed) const;
  Result<> plugged_in(bool is_plugged) const;

 private:
  Tap(sys::Descriptor descriptor, std::string name)
      : descriptor_(std::move(descriptor)), name_(std::move(name)) {}

  sys::Descriptor descriptor_;
  std::string name_;
};

}  // namespace chokepoint::lab
