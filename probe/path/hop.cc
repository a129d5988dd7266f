#include "probe/path/hop.h"

#include "base/math/statistics.h"

namespace chokepoint::probe::path {

std::string_view name_of(Protocol protocol) { return protocol == Protocol::Udp ? "udp" : "tcp"; }

std::string_view mark_of(Unreachable reason) {
  switch (reason) {
    case Unreachable::Network:
      return "!N";
    case Unreachable::Host:
      return "!H";
    case Unreachable::Protocol:
      return "!P";
    case Unreachable::Port:
      return "!p";
    case Unreachable::TooBig:
      return "!F";
    case Unreachable::Prohibited:
      return "!X";
    case Unreachable::Other:
      break;
  }
  return "!?";
}

std::string_view words_of(Unreachable reason) {
  switch (reason) {
    case Unreachable::Network:
      return "network unreachable";
    case Unreachable::Host:
      return "host unreachable";
    case Unreachable::Protocol:
      return "protocol unreachable";
    case Unreachable::Port:
      return "port unreachable";
    case Unreachable::TooBig:
      return "packet too big";
    case Unreachable::Prohibited:
      return "prohibited by a filter";
    case Unreachable::Other:
      break;
  }
  return "unreachable for a reason of its own";
}

std::optional<net::Address> Hop::address() const {
  return addresses.empty() ? std::nullopt : std::optional(addresses.front());
}

std::optional<double> Hop::median_rtt_ms() const { return math::median(rtt_ms); }

std::optional<double> Hop::loss_percent() const {
  if (sent == 0) {
    return std::nullopt;
  }
  return 100.0 * (sent - answered) / sent;
}

std::optional<int> Trace::length() const {
  return reached ? std::optional(static_cast<int>(hops.size())) : std::nullopt;
}

}  // namespace chokepoint::probe::path
