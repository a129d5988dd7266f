// The result of a TCP connection attempt, as documents name it.
#pragma once

#include <array>
#include <string_view>

#include "base/json/fields.h"

namespace chokepoint {

namespace documents {

enum class Connection {
  Untried,      // no address, or no route to it
  Connected,    // a program listens there
  Refused,      // the host answers, no program listens
  Unreachable,  // by a router's answer, or this host's routes
  Silent,       // no answer in time
  Failed,       // for a local reason
};

}  // namespace documents

template <>
struct EnumNames<documents::Connection> {
  using enum documents::Connection;
  static constexpr std::string_view kWhat = "what became of a connection";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::Connection>>({{Untried, "untried"},
                                                      {Connected, "connected"},
                                                      {Refused, "refused"},
                                                      {Unreachable, "unreachable"},
                                                      {Silent, "silent"},
                                                      {Failed, "failed"}});
};

}  // namespace chokepoint
