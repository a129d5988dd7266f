#include "probe/path/both_ends.h"

#include <poll.h>

#include "base/control/fields.h"
#include "base/control/message.h"
#include "base/net/socket.h"
#include "probe/path/introduction.h"

namespace chokepoint::probe::path {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using net::Patience;
using std::chrono::seconds;

constexpr seconds kGreetingTakes{2};
constexpr seconds kAfterInterrupt{3};
constexpr std::size_t kLongestToken = 64;

struct Invitation {
  std::uint16_t udp_port = 0;
  std::string token;
};

Result<Invitation> ask(Client& client, const Parameters& parameters, int interrupt) {
  const Result<Json> ready = client.request("path", body_of(parameters),
                                            Patience::of(kAnswer, interrupt), [](const auto&) {});
  if (!ready) {
    return std::unexpected(ready.error());
  }
  control::Fields in(*ready, "ready");
  return in.finish(
      Invitation{.udp_port = static_cast<std::uint16_t>(in.integer("udp_port", 1, 65535)),
                 .token = in.text("token", kLongestToken)});
}

Result<UdpProber> open_flow(Client& client, const Invitation& invitation,
                            const SurveyOptions& options, const sys::Clock& clock) {
  TRY(const net::Endpoint own, net::local_endpoint(client.channel().descriptor()));
  Result<sys::Descriptor> socket =
      introduce(own.address, {.address = client.peer().address, .port = invitation.udp_port},
                invitation.token, Patience::of(kGreetingTakes, options.origin.interrupt));
  if (!socket) {
    return std::unexpected(socket.error());
  }
  return UdpProber::adopt(std::move(*socket), options.origin.interrupt, clock);
}

Result<> begin(Client& client, bool udp) {
  const Patience patience = Patience::of(kAnswer);
  if (const Result<> sent = client.channel().send({Type::Begin, {{"udp", udp}}}, patience); !sent) {
    return sent;
  }
  const Result<Message> ready = client.channel().expect(Type::Begin, patience);
  return ready ? Result<>{} : std::unexpected(ready.error());
}

Result<Survey> understand(const Message& message, const std::string& peer) {
  if (message.type == Type::Report) {
    return survey_in(message.body);
  }
  if (message.type == Type::Failed || message.type == Type::Refused) {
    return fail(control::error_in(message.body, peer));
  }
  return fail(ErrorKind::Malformed, "read message", peer, "a report was expected");
}

// Where UDP does not pass: connection attempts to the server's own port get there.
Result<Survey> survey_by_tcp(const Client& client, SurveyOptions options, const sys::Clock& clock,
                             std::int64_t until_ns) {
  options.protocol = Protocol::Tcp;
  options.port = client.peer().port;
  options.search_mtu = false;
  return survey(client.peer().address, options, clock, until_ns);
}

// Echoes the server's probes meanwhile, where there is a flow.
Result<Survey> wait_for_report(Client& client, UdpProber* flow, int interrupt,
                               const Patience& patience) {
  while (!patience.over()) {
    TRY(const std::optional<Message> message, client.channel().poll());
    if (message) {
      return understand(*message, client.channel().peer());
    }
    if (flow != nullptr) {
      TRY(flow->collect(kLookForWord));
      continue;
    }
    const Patience slice = Patience::of(kLookForWord, interrupt);
    const Result<> waited = net::wait_for(client.channel().descriptor(), POLLIN, slice, "wait for",
                                          client.channel().peer());
    if (!waited && waited.error().kind != ErrorKind::Timeout) {
      return std::unexpected(waited.error());
    }
  }
  return fail(ErrorKind::Timeout, "wait for", client.channel().peer(),
              "it did not tell in time what it found");
}

// The user lost patience: the server is asked for what it has by now.
Result<Survey> cut_short(Client& client) {
  const Patience patience = Patience::of(kAfterInterrupt);
  if (const Result<> sent = client.channel().send({Type::Stop}, patience); !sent) {
    return std::unexpected(sent.error());
  }
  const Result<Message> report = client.channel().receive(patience);
  return report ? understand(*report, client.channel().peer()) : std::unexpected(report.error());
}

void take(Result<Survey> reverse, BothEnds& into) {
  if (reverse) {
    into.reverse = std::move(*reverse);
  } else {
    into.trouble = reverse.error();
  }
}

// The server's end is asked to stop either way; that it does is waited for, so that the connection
// is left as it was found.
void stop(Client& client) {
  if (client.channel().send({Type::Stop}, Patience::of(kAnswer))) {
    std::ignore = client.channel().expect(Type::Result, Patience::of(kAnswer));
  }
}

}  // namespace

Result<BothEnds> survey_both(Client& client, const Parameters& parameters, const SurveyOptions& own,
                             const sys::Clock& clock, std::int64_t until_ns) {
  const int interrupt = own.origin.interrupt;
  TRY(const Invitation invitation, ask(client, parameters, interrupt));
  Result<UdpProber> flow = open_flow(client, invitation, own, clock);
  BothEnds found{.udp_passes = flow.has_value()};
  TRY(begin(client, found.udp_passes));
  TRY(Survey forward,
      flow ? survey(*flow, own, clock, until_ns) : survey_by_tcp(client, own, clock, until_ns));
  found.forward = std::move(forward);
  const std::int64_t left_ns = std::max<std::int64_t>(until_ns - clock.monotonic_ns(), 0);
  const Patience patience = Patience::of(std::chrono::nanoseconds(left_ns) + kAnswer);
  Result<Survey> reverse = wait_for_report(client, flow ? &*flow : nullptr, interrupt, patience);
  if (!reverse && reverse.error().kind == ErrorKind::Interrupted) {
    reverse = cut_short(client);
  } else {
    stop(client);
  }
  take(std::move(reverse), found);
  return found;
}

}  // namespace chokepoint::probe::path
