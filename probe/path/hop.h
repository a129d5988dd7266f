// What a trace finds: one Hop a TTL, in the order of the path. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/net/address.h"

namespace chokepoint::probe::path {

enum class Protocol { Udp, Tcp };

std::string_view name_of(Protocol protocol);  // "udp", "tcp"

// Why a router or the target refused to pass a probe on.
enum class Unreachable { Network, Host, Protocol, Port, TooBig, Prohibited, Other };

std::string_view mark_of(Unreachable reason);   // "!H", as traceroute writes it
std::string_view words_of(Unreachable reason);  // "host unreachable"

struct Hop {
  int ttl = 0;
  // Who answered, the most frequent first; none where the hop is silent, several where the probes
  // of a trace that is not flow-stable were spread over parallel paths.
  std::vector<net::Address> addresses = {};
  std::vector<double> rtt_ms = {};
  int sent = 0;
  int answered = 0;
  std::optional<Unreachable> unreachable = {};

  std::optional<net::Address> address() const;
  std::optional<double> median_rtt_ms() const;
  // Nothing where nothing was sent.
  std::optional<double> loss_percent() const;
};

struct Trace {
  Protocol protocol = Protocol::Udp;
  net::Endpoint source = {};
  net::Endpoint target = {};
  // From TTL 1 without gaps to the target or to the last hop that answered.
  std::vector<Hop> hops = {};
  bool reached = false;
  int probed_to = 0;     // the highest TTL that was tried
  bool complete = true;  // false: time ran out before every probe was sent

  // Routers and the target; nothing where the target did not answer.
  std::optional<int> length() const;
};

}  // namespace chokepoint::probe::path
