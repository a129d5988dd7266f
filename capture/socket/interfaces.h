// Which interface a connection leaves by, as far as its addresses tell. A value.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/sys/error.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::socket {

class Interfaces {
 public:
  void add(int index, std::string name) { names_[index] = std::move(name); }
  void add(const packet::Address& address, int index) { by_address_[address] = index; }

  // `bound_to`: the index of the interface that the socket is bound to, or 0. A connection between
  // two of this host's own addresses never leaves it. Empty: not known.
  std::string of(const packet::Ends& ends, std::uint32_t bound_to) const;
  // Whether it is one of this host's, in this network namespace.
  bool is_own(const packet::Address& address) const;

 private:
  std::string name_of(int index) const;

  std::map<int, std::string> names_;
  std::map<packet::Address, int> by_address_;
};

// Of the network namespace that the calling thread is in.
Result<Interfaces> read_interfaces();

}  // namespace chokepoint::capture::socket
