#include "probe/path/families.h"

#include <algorithm>
#include <cerrno>

#include "base/net/address.h"
#include "base/net/socket.h"
#include "base/net/tcp_info.h"
#include "base/sys/late.h"

namespace chokepoint::probe::path {
namespace {

Result<std::vector<net::Address>> resolve(const std::string& host, std::optional<net::Family> only,
                                          const net::Patience& patience) {
  sys::Late<Result<std::vector<net::Address>>> answer(
      [host, only] { return net::resolve(host, only); });
  std::optional<Result<std::vector<net::Address>>> found = answer.by(patience.until);
  if (!found) {
    return fail(ErrorKind::Timeout, "resolve", host, "the name server does not answer",
                "'getent hosts " + host + "' asks it");
  }
  return std::move(*found);
}

Connection meaning_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Refused:
      return Connection::Refused;
    case ErrorKind::Timeout:
      return Connection::Silent;
    case ErrorKind::Unreachable:
      return Connection::Unreachable;
    default:
      return Connection::Failed;
  }
}

// A route to it, by the address that this host would send from. Nothing is sent.
Result<net::Address> source_towards(const net::Endpoint& target, const Origin& origin) {
  const net::Endpoint local{.address =
                                origin.source.value_or(target.address.family() == net::Family::Ipv4
                                                           ? net::Address::v4({})
                                                           : net::Address::v6({}, 0))};
  const Result<sys::Descriptor> socket = net::bind_udp(local, {.interface = origin.interface});
  if (!socket) {
    return std::unexpected(socket.error());
  }
  TRY(net::connect_udp(socket->get(), target));
  TRY(const net::Endpoint source, net::local_endpoint(socket->get()));
  return source.address;
}

void connect_to(const net::Endpoint& target, const FamilyOptions& options,
                const net::Patience& patience, FamilyFacts& facts) {
  const auto before = net::Patience::Clock::now();
  const Result<sys::Descriptor> socket =
      net::connect(target, {.source = options.origin.source, .interface = options.origin.interface},
                   patience.at_most(options.connect_wait));
  const std::chrono::duration<double, std::milli> took = net::Patience::Clock::now() - before;
  facts.connection = socket ? Connection::Connected : meaning_of(socket.error());
  facts.reason = socket ? "" : socket.error().reason;
  if (!facts.answers()) {
    return;
  }
  facts.connect_ms = took.count();
  if (socket) {
    const Result<net::TcpInfo> info = net::read_tcp_info(socket->get());
    facts.connect_ms = info && info->rtt_ms ? info->rtt_ms : facts.connect_ms;
  }
}

void examine_family(std::uint16_t port, const FamilyOptions& options, const net::Patience& patience,
                    FamilyFacts& facts) {
  if (!facts.resolves()) {
    return;
  }
  const net::Endpoint target{.address = facts.addresses.front(), .port = port};
  const Result<net::Address> source = source_towards(target, options.origin);
  if (!source) {
    facts.connection = Connection::Unreachable;
    facts.reason = source.error().reason;
    return;
  }
  facts.source = *source;
  connect_to(target, options, patience, facts);
}

}  // namespace

std::string_view name_of(Connection connection) {
  switch (connection) {
    case Connection::Untried:
      return "untried";
    case Connection::Connected:
      return "connected";
    case Connection::Refused:
      return "refused";
    case Connection::Unreachable:
      return "unreachable";
    case Connection::Silent:
      return "silent";
    case Connection::Failed:
      break;
  }
  return "failed";
}

bool FamilyFacts::answers() const {
  return reached || connects() || connection == Connection::Refused;
}

Result<HostFacts> examine(const std::string& host, std::uint16_t port, const FamilyOptions& options,
                          const net::Patience& patience) {
  HostFacts facts{.name = host, .only = options.only, .port = port};
  facts.is_address = net::Address::parse(host).has_value();
  TRY(const std::vector<net::Address> addresses, resolve(host, options.only, patience));
  facts.in_order = addresses;
  for (const net::Address& address : addresses) {
    FamilyFacts& family = address.family() == net::Family::Ipv4 ? facts.ipv4 : facts.ipv6;
    family.addresses.push_back(address);
  }
  for (FamilyFacts* family : {&facts.ipv4, &facts.ipv6}) {
    examine_family(port, options, patience, *family);
  }
  return facts;
}

}  // namespace chokepoint::probe::path
