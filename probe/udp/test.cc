#include "probe/udp/test.h"

#include <algorithm>

#include "probe/udp/data_socket.h"
#include "probe/udp/dialogue.h"
#include "probe/udp/exchange.h"
#include "probe/udp/rendezvous.h"

namespace chokepoint::probe::udp {
namespace {

using control::Json;
using control::Message;
using control::Type;
using net::Patience;
using std::chrono::seconds;

constexpr seconds kLongestQueue{3600};

double seconds_since(Patience::Clock::time_point start) {
  return std::chrono::duration<double>(Patience::Clock::now() - start).count();
}

// One run as its thread sees it: steps until both ends are done, or the patience is.
class Watched {
 public:
  Watched(Dialogue& dialogue, RunThreads& threads, const Watch& watch)
      : dialogue_(dialogue), threads_(threads), watch_(watch) {}

  // Whether the user interrupted it.
  Result<bool> to_the_end(Patience patience) {
    bool interrupted = false;
    while (!dialogue_.complete() || !dialogue_.peer_report()) {
      if (patience.over()) {
        return fail(ErrorKind::Timeout, "udp", "server", "it did not say what it received");
      }
      const Result<> stepped = dialogue_.step(patience);
      if (!stepped && stepped.error().kind == ErrorKind::Interrupted && !interrupted) {
        interrupted = true;
        dialogue_.stop();
        patience = Patience::of(kAnswer);
      } else if (!stepped) {
        return std::unexpected(stepped.error());
      }
      look();
    }
    return interrupted;
  }

 private:
  void look() const {
    watch_({.elapsed_s = seconds_since(start_),
            .sent = threads_.sent_so_far(),
            .received = threads_.received_so_far(),
            .peer_received = dialogue_.peer_so_far()});
  }

  Dialogue& dialogue_;
  RunThreads& threads_;
  const Watch& watch_;
  Patience::Clock::time_point start_ = Patience::Clock::now();
};

}  // namespace

Result<Test> Test::open(control::Client& client, const Parameters& parameters,
                        const net::SocketOptions& options, int interrupt,
                        const control::Waiting& waiting) {
  TRY(const Json ready,
      client.request("udp", body_of(parameters), Patience::of(kLongestQueue, interrupt), waiting));
  TRY(Flows flows,
      meet_server(client, parameters, ready, options, Patience::of(kAnswer, interrupt)));
  return Test(client, std::move(flows), interrupt);
}

std::size_t Test::usual_packet_bytes() const {
  constexpr std::size_t kEthernet = 1500;
  constexpr std::size_t kHeadersV4 = 28;
  constexpr std::size_t kHeadersV6 = 48;
  const bool v4 = client_->peer().address.family() == net::Family::Ipv4;
  const std::size_t usual = kEthernet - (v4 ? kHeadersV4 : kHeadersV6);
  const std::size_t largest = largest_payload(flows_.flows.front().fd.get()).value_or(usual);
  return std::clamp(largest, kHeadBytes, usual);
}

std::optional<ClockOffset> Test::measure_clock() const {
  const Flow& flow = flows_.flows.front();
  return measure_offset(flow.fd.get(), {.test = flows_.test, .run = 0, .stream = flow.stream},
                        Patience::of(kAnswer, interrupt_));
}

Result<> Test::begin(const RunPlan& plan, RunThreads& threads) {
  const Patience patience = Patience::of(kAnswer, interrupt_);
  threads.listen();
  const Result<> asked = client_->channel().send({Type::Begin, body_for_peer(plan)}, patience);
  if (!asked) {
    return asked;
  }
  TRY(client_->channel().expect(Type::Begin, patience));
  threads.send();
  return {};
}

Result<RunResult> Test::run(const RunPlan& plan, const Watch& watch) {
  RunThreads threads(flows_, plan);
  TRY(begin(plan, threads));
  Dialogue dialogue(client_->channel(), threads, plan);
  TRY(const bool interrupted,
      Watched(dialogue, threads, watch).to_the_end(Patience::of(plan.time + kWindUp, interrupt_)));
  return RunResult{
      .own = threads.report(), .peer = *dialogue.peer_report(), .interrupted = interrupted};
}

Result<> Test::close() {
  const Patience patience = Patience::of(kAnswer);
  const Result<> said = client_->channel().send({Type::Stop, Json::object()}, patience);
  if (!said) {
    return said;
  }
  const Result<Message> result = client_->channel().expect(Type::Result, patience);
  return result ? Result<>{} : std::unexpected(result.error());
}

}  // namespace chokepoint::probe::udp
