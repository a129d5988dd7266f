// A network of a test's own: a namespace that ends with the test, with two ends of a wire (near,
// far) in it, and a /sys that shows them. Needs root; tests are skipped without.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/sys/descriptor.h"

namespace chokepoint::capture::source {

// The type of the frames that tests send, so that what hosts say by themselves is not counted.
inline constexpr std::uint16_t kTestEtherType = 0x88b5;
inline constexpr const char* kTestFilter = "ether proto 0x88b5";

// Why the test cannot have one; empty where it can.
std::string lacks_for_own_network();

// Runs the body on a thread inside the namespace.
void in_own_network(const std::function<void()>& body);

// `ip ARGUMENTS`, for what a test puts up beside the wire.
void ip(const std::string& arguments);

// Sends numbered frames into one end of the wire.
class FrameSender {
 public:
  explicit FrameSender(const std::string& interface);

  void send(std::uint32_t first, std::uint32_t count, std::uint32_t bytes = 60) const;

 private:
  sys::Descriptor socket_;
};

// The number that FrameSender put into a frame.
std::uint32_t number_of(std::span<const std::uint8_t> frame);

}  // namespace chokepoint::capture::source
