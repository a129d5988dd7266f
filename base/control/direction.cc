#include "base/control/direction.h"

namespace chokepoint::control {

std::string_view name_of(Direction direction) {
  switch (direction) {
    case Direction::Send:
      return "send";
    case Direction::Receive:
      return "receive";
    case Direction::Both:
      return "both";
  }
  return "";
}

Result<Direction> direction_named(std::string_view name) {
  for (const Direction each : {Direction::Send, Direction::Receive, Direction::Both}) {
    if (name == name_of(each)) {
      return each;
    }
  }
  return fail(ErrorKind::Malformed, "read message", "'direction'", "wanted send, receive or both");
}

}  // namespace chokepoint::control
