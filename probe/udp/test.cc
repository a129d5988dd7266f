#include "probe/udp/test.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/control/channel.h"
#include "base/json/codec.h"
#include "probe/udp/data_socket.h"
#include "probe/udp/exchange.h"

namespace chokepoint {
namespace probe::udp {
namespace {

// A Stop: how much this end sent, flow by flow, and whether the other shall stop, too.
struct Sent {
  std::uint16_t run = 0;
  std::vector<std::uint64_t> sent = {};
  bool now = false;
};

}  // namespace
}  // namespace probe::udp

template <>
struct Fields<probe::udp::Sent> {
  using S = probe::udp::Sent;
  static constexpr std::tuple kList{field("run", &S::run).or_default(), field("sent", &S::sent),
                                    field("now", &S::now).or_default()};
};

template <>
struct Fields<probe::udp::LiveCounts> {
  using C = probe::udp::LiveCounts;
  static constexpr std::tuple kList{field("packets", &C::packets).at_most(kMaxCount),
                                    field("bytes", &C::bytes).at_most(kMaxCount),
                                    field("missing", &C::missing).at_most(kMaxCount)};
};

}  // namespace chokepoint

namespace chokepoint::probe::udp {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using net::Deadline;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// How long either end waits for the other's next message.
constexpr seconds kAnswer{10};
// Beyond the run's own time: for the last packets and the messages about them.
constexpr seconds kWindUp{15};

constexpr std::chrono::milliseconds kStep{10};

// What the two ends say to each other during a run; the same code at both ends. Drives the run's
// threads from the thread that has the channel. Borrows both.
class Dialogue {
 public:
  Dialogue(control::Channel& channel, RunThreads& threads, const RunPlan& plan)
      : channel_(channel), threads_(threads), plan_(plan) {}

  // Listens to the peer for up to kStep, and sends it what there is to report. Fails with
  // Interrupted once the deadline's descriptor is readable; the run goes on until it is stopped.
  Result<> step(const net::Deadline& deadline) {
    const Result<> waited = net::wait_for(channel_.descriptor(), POLLIN, deadline.at_most(kStep),
                                          "udp", channel_.peer());
    if (!waited && waited.error().kind != ErrorKind::Timeout) {
      return waited;
    }
    while (true) {
      TRY(const std::optional<Message> message, channel_.poll());
      if (!message) {
        return report_sent(deadline);
      }
      TRY(receive(*message));
    }
  }

  // Both ends shall stop sending.
  void stop() {
    stopping_ = true;
    threads_.stop_sending();
  }

  // All flows of this end have ended, and both ends know how much was sent.
  bool complete() const { return reported_ && peer_reported_ && threads_.received_all(); }

  // The server's last Report, and its final report.
  const LiveCounts& peer_so_far() const { return peer_so_far_; }
  const std::optional<SideReport>& peer_report() const { return peer_report_; }

 private:
  Result<> report_sent(const net::Deadline& deadline) {
    if (reported_ || !threads_.sent_all()) {
      return {};
    }
    reported_ = true;
    const Sent sent{.run = plan_.run, .sent = threads_.sent(), .now = stopping_};
    return channel_.send({Type::Stop, json::to_json(sent)}, deadline);
  }

  Result<> receive(const Message& message) {
    switch (message.type) {
      case Type::Stop:
        return receive_stop(message);
      case Type::Report:
      case Type::Note:
        return receive_report(message);
      case Type::Failed:
        return fail(control::error_in(message.body, channel_.peer()));
      default:
        return fail(ErrorKind::Malformed, "udp", channel_.peer(),
                    std::string(control::name_of(message.type)) + " came in the middle of a run");
    }
  }

  Result<> receive_stop(const Message& message) {
    TRY(const Sent stop, json::from_json<Sent>(message.body, "udp stop"));
    if (peer_reported_ || !threads_.expect(stop.sent)) {
      return fail(ErrorKind::Malformed, "udp", channel_.peer(),
                  "it reported other flows than requested");
    }
    peer_reported_ = true;
    if (stop.now) {
      threads_.stop_sending();
    }
    return {};
  }

  Result<> receive_report(const Message& message) {
    if (message.type == Type::Note) {
      TRY(peer_report_, side_report_in(message.body));
      return {};
    }
    TRY(peer_so_far_, json::from_json<LiveCounts>(message.body, "udp report"));
    return {};
  }

  control::Channel& channel_;
  RunThreads& threads_;
  const RunPlan& plan_;
  bool stopping_ = false;
  bool reported_ = false;       // how much this end sent
  bool peer_reported_ = false;  // how much the other end sent
  LiveCounts peer_so_far_ = {};
  std::optional<SideReport> peer_report_ = {};
};

constexpr seconds kMaxQueueTime{3600};

double seconds_since(Deadline::Clock::time_point start) {
  return std::chrono::duration<double>(Deadline::Clock::now() - start).count();
}

// A run at the client: steps until both ends are done or time is up.
class ClientRun {
 public:
  ClientRun(Dialogue& dialogue, RunThreads& threads, const Watch& watch)
      : dialogue_(dialogue), threads_(threads), watch_(watch) {}

  // True where the user interrupted it.
  Result<bool> to_the_end(Deadline deadline) {
    bool interrupted = false;
    while (!dialogue_.complete() || !dialogue_.peer_report()) {
      if (deadline.over()) {
        return fail(ErrorKind::Timeout, "udp", "server", "it did not say what it received");
      }
      const Result<> stepped = dialogue_.step(deadline);
      if (!stepped && stepped.error().kind == ErrorKind::Interrupted && !interrupted) {
        interrupted = true;
        dialogue_.stop();
        deadline = Deadline::of(kAnswer);
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
  Deadline::Clock::time_point start_ = Deadline::Clock::now();
};

constexpr seconds kBetweenRuns{30};
// A search needs many runs before the one that counts: how many times the requested time they may
// take in total.
constexpr int kMaxTimes = 4;

class ServerTest {
 public:
  ServerTest(Session& session, const Parameters& parameters, Flows flows)
      : session_(session), parameters_(parameters), flows_(std::move(flows)) {}

  Result<Json> until_stopped() {
    while (true) {
      TRY(const Message message, next_message());
      if (message.type == Type::Stop) {
        return Json::object();
      }
      TRY(begin(message));
    }
  }

 private:
  // Answers pings meanwhile.
  Result<Message> next_message() {
    const net::Deadline deadline = session_.deadline(kBetweenRuns);
    std::array<pollfd, 3> watched{pollfd{session_.channel().descriptor(), POLLIN, 0},
                                  pollfd{flows_.flows.front().fd.get(), POLLIN, 0},
                                  pollfd{session_.context().stop, POLLIN, 0}};
    while (!deadline.over()) {
      poll(watched.data(), watched.size(), 100);
      if (watched[2].revents != 0) {
        return fail(ErrorKind::Interrupted, "udp", session_.channel().peer(), "the server stops");
      }
      if (watched[1].revents != 0) {
        answer_pings(flows_.flows.front().fd.get(), flows_.test);
      }
      TRY(std::optional<Message> message, session_.channel().poll());
      if (message) {
        return std::move(*message);
      }
    }
    return fail(ErrorKind::Timeout, "udp", session_.channel().peer(),
                "it asked for no run in time");
  }

  Result<> begin(const Message& message) {
    if (message.type != Type::Begin) {
      return fail(ErrorKind::Malformed, "udp", session_.channel().peer(),
                  std::string(control::name_of(message.type)) + " came where a run was expected");
    }
    TRY(const RunPlan plan, run_plan_in(message.body));
    TRY(check(plan, parameters_, session_.limits()));
    if (spent_ + plan.time > kMaxTimes * parameters_.time + kBetweenRuns) {
      return fail(ErrorKind::Usage, "udp run", "time", "all of it is used up");
    }
    spent_ += plan.time;
    return run(plan);
  }

  Result<> run(const RunPlan& plan) {
    RunThreads threads(flows_, plan);
    TRY(threads.listen());
    TRY(session_.channel().send({Type::Begin, {{"run", plan.run}}}, session_.deadline(kAnswer)));
    TRY(threads.send());
    Dialogue dialogue(session_.channel(), threads, plan);
    TRY(to_the_end(dialogue, threads, plan));
    return session_.channel().send({Type::Note, body_of(threads.report())},
                                   session_.deadline(kAnswer));
  }

  Result<> to_the_end(Dialogue& dialogue, RunThreads& threads, const RunPlan& plan) {
    const net::Deadline deadline = session_.deadline(plan.time + kWindUp);
    auto report_at = net::Deadline::Clock::now() + plan.interval;
    while (!dialogue.complete()) {
      if (deadline.over()) {
        return fail(ErrorKind::Timeout, "udp", session_.channel().peer(),
                    "it did not say that it was done");
      }
      TRY(dialogue.step(deadline));
      if (net::Deadline::Clock::now() >= report_at) {
        report_at += plan.interval;
        TRY(session_.channel().send({Type::Report, json::to_json(threads.received_so_far())},
                                    deadline));
      }
    }
    return {};
  }

  Session& session_;
  const Parameters& parameters_;
  Flows flows_;
  nanoseconds spent_{0};
};

}  // namespace

Result<Test> Test::open(control::Client& client, const Parameters& parameters,
                        const net::SocketOptions& options, int interrupt,
                        const control::Waiting& waiting) {
  TRY(const Json ready,
      client.request("udp", body_of(parameters), Deadline::of(kMaxQueueTime, interrupt), waiting));
  TRY(Flows flows,
      meet_server(client, parameters, ready, options, Deadline::of(kAnswer, interrupt)));
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
                        Deadline::of(kAnswer, interrupt_));
}

Result<> Test::begin(const RunPlan& plan, RunThreads& threads) {
  const Deadline deadline = Deadline::of(kAnswer, interrupt_);
  TRY(threads.listen());
  TRY(client_->channel().send({Type::Begin, body_for_peer(plan)}, deadline));
  TRY(client_->channel().expect(Type::Begin, deadline));
  return threads.send();
}

Result<RunResult> Test::run(const RunPlan& plan, const Watch& watch) {
  RunThreads threads(flows_, plan);
  TRY(begin(plan, threads));
  Dialogue dialogue(client_->channel(), threads, plan);
  TRY(const bool interrupted, ClientRun(dialogue, threads, watch)
                                  .to_the_end(Deadline::of(plan.time + kWindUp, interrupt_)));
  return RunResult{
      .own = threads.report(), .peer = *dialogue.peer_report(), .interrupted = interrupted};
}

Result<> Test::close() {
  const Deadline deadline = Deadline::of(kAnswer);
  TRY(client_->channel().send({Type::Stop, Json::object()}, deadline));
  TRY(client_->channel().expect(Type::Result, deadline));
  return {};
}

// An Inbox, and a socket's buffers as far as the system usually lets them grow.
constexpr std::int64_t kMemoryOfFlow = std::int64_t{2} << 20;

Result<control::Demand> UdpService::check(const Json& parameters,
                                          const control::Limits& limits) const {
  TRY(const Parameters asked, parameters_in(parameters));
  TRY(udp::check(asked, limits));
  const int flows = flows_of(asked);
  return control::Demand(control::Weight::Heavy, flows, flows * kMemoryOfFlow);
}

Result<Json> UdpService::serve(Session& session, const Json& body) {
  TRY(const Parameters parameters, parameters_in(body));
  TRY(Flows flows, meet_client(session, parameters));
  return ServerTest(session, parameters, std::move(flows)).until_stopped();
}

}  // namespace chokepoint::probe::udp
