#include "probe/udp/test.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/control/deadlines.h"
#include "base/control/test_driver.h"
#include "base/json/codec.h"
#include "base/net/headers.h"
#include "base/sys/descriptor.h"
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
  static constexpr FieldList kList{field("run", &S::run).or_default(), field("sent", &S::sent),
                                   field("now", &S::now).or_default()};
};

template <>
struct Fields<probe::udp::LiveCounts> {
  using C = probe::udp::LiveCounts;
  static constexpr FieldList kList{field("packets", &C::packets).at_most(kMaxCount),
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

constexpr std::string_view kKind = "udp";

constexpr std::chrono::milliseconds kStep{10};

// One end of a run; the same at both but for what each reports to its user or its peer meanwhile.
// Done once all flows of this end have ended, and both ends know how much was sent.
class RunEnd : public control::TestEnd {
 public:
  RunEnd(control::Channel& channel, RunThreads& threads, const RunPlan& plan)
      : TestEnd(channel, kKind), threads_(threads), plan_(plan) {}

  Result<bool> turn(const Deadline& deadline) final { return wait_for_message(deadline, kStep); }

  Result<> receive(const Message& message) override {
    if (message.type != Type::Stop) {
      return fail_out_of_turn(message);
    }
    TRY(const Sent stop, json::from_json<Sent>(message.body, "udp stop"));
    if (peer_reported_ || !threads_.expect(stop.sent)) {
      return fail(ErrorKind::Malformed, kKind, channel().peer(),
                  "it reported other flows than requested");
    }
    peer_reported_ = true;
    if (stop.now) {
      threads_.stop_sending();
    }
    return {};
  }

  Result<> look(Deadline& deadline) override {
    if (reported_ || !threads_.sent_all()) {
      return {};
    }
    reported_ = true;
    const Sent sent{.run = plan_.run, .sent = threads_.sent(), .now = stopping_};
    return channel().send({Type::Stop, json::to_json(sent)}, deadline);
  }

  bool is_done() const override { return reported_ && peer_reported_ && threads_.received_all(); }

 protected:
  // Both ends shall stop sending.
  void stop() {
    stopping_ = true;
    threads_.stop_sending();
  }

  RunThreads& threads_;
  const RunPlan& plan_;

 private:
  bool stopping_ = false;
  bool reported_ = false;       // how much this end sent
  bool peer_reported_ = false;  // how much the other end sent
};

double seconds_since(Deadline::Clock::time_point start) {
  return std::chrono::duration<double>(Deadline::Clock::now() - start).count();
}

// Done once the server has also reported what it received.
class ClientRun final : public RunEnd {
 public:
  ClientRun(control::Channel& channel, RunThreads& threads, const RunPlan& plan, const Watch& watch)
      : RunEnd(channel, threads, plan), watch_(watch) {}

  Result<> receive(const Message& message) override {
    switch (message.type) {
      case Type::Report: {
        TRY(peer_so_far_, json::from_json<LiveCounts>(message.body, "udp report"));
        return {};
      }
      case Type::Note: {
        TRY(peer_report_, side_report_in(message.body));
        return {};
      }
      default:
        return RunEnd::receive(message);
    }
  }

  Result<> look(Deadline& deadline) override {
    if (sys::is_readable(deadline.interrupt)) {
      interrupted_ = true;
      stop();
      deadline = Deadline::of(control::kAnswer);
    }
    watch_({.elapsed_s = seconds_since(start_),
            .sent = threads_.sent_so_far(),
            .received = threads_.received_so_far(),
            .peer_received = peer_so_far_});
    return RunEnd::look(deadline);
  }

  bool is_done() const override { return peer_report_ && RunEnd::is_done(); }

  bool is_interrupted() const { return interrupted_; }
  const SideReport& peer_report() const { return *peer_report_; }

 private:
  const Watch& watch_;
  Deadline::Clock::time_point start_ = Deadline::Clock::now();
  bool interrupted_ = false;
  LiveCounts peer_so_far_ = {};
  std::optional<SideReport> peer_report_ = {};
};

class ServerRun final : public RunEnd {
 public:
  ServerRun(Session& session, RunThreads& threads, const RunPlan& plan)
      : RunEnd(session.channel(), threads, plan), session_(session) {}

  Result<> look(Deadline& deadline) override {
    if (sys::is_readable(deadline.interrupt)) {
      return fail(ErrorKind::Interrupted, kKind, channel().peer(), "the server stops");
    }
    if (Deadline::Clock::now() >= report_at_) {
      report_at_ += plan_.interval;
      TRY(session_.send(Type::Report, json::to_json(threads_.received_so_far())));
    }
    return RunEnd::look(deadline);
  }

 private:
  Session& session_;
  Deadline::Clock::time_point report_at_ = Deadline::Clock::now() + plan_.interval;
};

constexpr seconds kBetweenRuns{30};
// A search needs many runs before the one that counts: how many times the requested time they may
// take in total.
constexpr int kMaxTimes = 4;

// The server's end between the runs: answers pings, and drives a run for each Begin.
class ServerTest final : public control::TestEnd {
 public:
  ServerTest(Session& session, const Parameters& parameters, Flows flows)
      : TestEnd(session.channel(), kKind),
        session_(session),
        parameters_(parameters),
        flows_(std::move(flows)) {}

  Result<bool> turn(const Deadline& deadline) override {
    std::array<pollfd, 3> watched{pollfd{channel().descriptor(), POLLIN, 0},
                                  pollfd{flows_.flows.front().fd.get(), POLLIN, 0},
                                  pollfd{deadline.interrupt, POLLIN, 0}};
    poll(watched.data(), watched.size(), 100);
    if (watched[1].revents != 0) {
      answer_pings(flows_.flows.front().fd.get(), flows_.test);
    }
    return true;
  }

  Result<> receive(const Message& message) override {
    is_stopped_ = message.type == Type::Stop;
    if (!is_stopped_) {
      TRY(begin(message));
      has_run_ = true;
    }
    return {};
  }

  // The client has as long after each run.
  Result<> look(Deadline& deadline) override {
    if (!is_stopped_ && sys::is_readable(deadline.interrupt)) {
      return fail(ErrorKind::Interrupted, kKind, channel().peer(), "the server stops");
    }
    if (std::exchange(has_run_, false)) {
      deadline = session_.deadline(kBetweenRuns);
    }
    return {};
  }

  bool is_done() const override { return is_stopped_; }

 private:
  Result<> begin(const Message& message) {
    if (message.type != Type::Begin) {
      return fail(ErrorKind::Malformed, kKind, channel().peer(),
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
    TRY(session_.send(Type::Begin, {{"run", plan.run}}));
    TRY(threads.send());
    ServerRun end(session_, threads, plan);
    TRY(drive(end, session_.deadline(plan.time + control::kWindUp)));
    return session_.send(Type::Note, body_of(threads.report()));
  }

  Session& session_;
  const Parameters& parameters_;
  Flows flows_;
  nanoseconds spent_{0};
  bool has_run_ = false;
  bool is_stopped_ = false;
};

// An Inbox, and a socket's buffers as far as the system usually lets them grow.
constexpr std::int64_t kMemoryOfFlow = std::int64_t{2} << 20;

class UdpService final : public control::TestService<Parameters, parameters_in> {
 public:
  std::string_view kind() const override { return kKind; }

 private:
  Result<control::Demand> demand(const Parameters& parameters,
                                 const control::Limits& limits) const override {
    TRY(udp::check(parameters, limits));
    const int flows = flows_of(parameters);
    return control::Demand(control::Weight::Heavy, flows, flows * kMemoryOfFlow);
  }

  Result<Json> run(Session& session, const Parameters& parameters) override {
    TRY(Flows flows, meet_client(session, parameters));
    ServerTest test(session, parameters, std::move(flows));
    TRY(drive(test, session.deadline(kBetweenRuns)));
    return Json::object();
  }
};

}  // namespace

Result<Test> Test::open(control::Client& client, const Parameters& parameters,
                        const net::SocketOptions& options, int interrupt,
                        const control::Waiting& waiting) {
  TRY(const Json ready, request_test(client, kKind, body_of(parameters), interrupt, waiting));
  TRY(Flows flows,
      meet_server(client, parameters, ready, options, Deadline::of(control::kAnswer, interrupt)));
  return Test(client, std::move(flows), interrupt);
}

std::size_t Test::usual_packet_bytes() const {
  const auto usual = static_cast<std::size_t>(
      net::kEthernetMtu - net::udp_overhead_bytes(client_->peer().address.family()));
  const std::size_t largest = largest_payload(flows_.flows.front().fd.get()).value_or(usual);
  return std::clamp(largest, kHeadBytes, usual);
}

std::optional<ClockOffset> Test::measure_clock() const {
  const Flow& flow = flows_.flows.front();
  return measure_offset(flow.fd.get(), {.test = flows_.test, .run = 0, .stream = flow.stream},
                        Deadline::of(control::kAnswer, interrupt_));
}

Result<> Test::begin(const RunPlan& plan, RunThreads& threads) {
  const Deadline deadline = Deadline::of(control::kAnswer, interrupt_);
  TRY(threads.listen());
  TRY(client_->channel().send({Type::Begin, body_for_peer(plan)}, deadline));
  TRY(client_->channel().expect(Type::Begin, deadline));
  return threads.send();
}

Result<RunResult> Test::run(const RunPlan& plan, const Watch& watch) {
  RunThreads threads(flows_, plan);
  TRY(begin(plan, threads));
  ClientRun end(client_->channel(), threads, plan, watch);
  TRY(drive(end, Deadline::of(plan.time + control::kWindUp, interrupt_)));
  return RunResult{
      .own = threads.report(), .peer = end.peer_report(), .interrupted = end.is_interrupted()};
}

Result<> Test::close() {
  TRY(stop_test(*client_));
  return {};
}

std::unique_ptr<control::Service> udp_service() { return std::make_unique<UdpService>(); }

}  // namespace chokepoint::probe::udp
