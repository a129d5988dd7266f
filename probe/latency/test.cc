#include "probe/latency/test.h"

#include "probe/udp/rendezvous.h"

namespace chokepoint::probe::latency {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using net::Patience;
using std::chrono::seconds;

constexpr seconds kLongestQueue{3600};
constexpr seconds kMeeting{3};

Result<Json> ask(Client& client, const Parameters& parameters, int interrupt,
                 const control::Waiting& waiting) {
  return client.request("latency", body_of(parameters), Patience::of(kLongestQueue, interrupt),
                        waiting);
}

// A word that is no proof ends the server's wait for one.
Result<> give_up_udp(Client& client, int interrupt) {
  const Patience patience = Patience::of(kAnswer, interrupt);
  const Result<> said = client.channel().send({Type::Note}, patience);
  if (!said) {
    return said;
  }
  const Result<Message> failed = client.channel().receive(patience);
  return failed ? Result<>{} : std::unexpected(failed.error());
}

}  // namespace

Result<Test> Test::open(Client& client, const Parameters& parameters,
                        const net::SocketOptions& options, int interrupt,
                        const control::Waiting& waiting) {
  Parameters asked = parameters;
  Result<Json> ready = ask(client, asked, interrupt, waiting);
  std::optional<udp::Flows> flows;
  std::optional<Error> problem;
  if (ready && asked.udp) {
    Result<udp::Flows> met = udp::meet_server(client, udp::Parameters{}, *ready, options,
                                              Patience::of(kMeeting, interrupt));
    if (met) {
      flows = std::move(*met);
    } else if (met.error().kind != ErrorKind::Timeout) {
      return std::unexpected(met.error());
    } else if (const Result<> left = give_up_udp(client, interrupt); !left) {
      return std::unexpected(left.error());
    } else {
      problem = met.error();
      asked.udp = false;
      ready = ask(client, asked, interrupt, waiting);
    }
  }
  if (!ready) {
    return std::unexpected(ready.error());
  }
  net::SocketOptions prompt = options;
  prompt.no_delay = true;
  TRY(sys::Descriptor tcp, client.attach(0, prompt, Patience::of(kAnswer, interrupt)));
  return Test(client, std::move(tcp), std::move(flows), std::move(problem));
}

Result<> Test::close() {
  const Patience patience = Patience::of(kAnswer);
  const Result<> said = client_->channel().send({Type::Stop}, patience);
  if (!said) {
    return said;
  }
  const Result<Message> result = client_->channel().expect(Type::Result, patience);
  return result ? Result<>{} : std::unexpected(result.error());
}

}  // namespace chokepoint::probe::latency
