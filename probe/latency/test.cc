#include "probe/latency/test.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/control/deadlines.h"
#include "base/control/test_driver.h"
#include "base/json/codec.h"
#include "base/net/socket.h"
#include "base/sys/clock.h"
#include "probe/udp/exchange.h"
#include "probe/udp/packet.h"

template <>
struct chokepoint::Fields<chokepoint::probe::latency::Parameters> {
  using P = probe::latency::Parameters;
  static constexpr FieldList kList{
      field("time_ns", &P::time, "after which the server gives up").between(1, 86'400e9),
      field("udp", &P::udp, "ping over UDP, too")};
};

namespace chokepoint::probe::latency {

control::Json body_of(const Parameters& parameters) { return json::to_json(parameters); }

Result<Parameters> parameters_in(const control::Json& body) {
  return json::from_json<Parameters>(body, "latency request");
}

namespace {

using control::Client;
using control::Json;
using control::kAnswer;
using control::Session;
using control::Type;
using net::Deadline;
using std::chrono::seconds;
using udp::ExchangePacket;
using udp::kExchangeBytes;
using udp::PacketHead;
using udp::PacketKind;

constexpr std::string_view kKind = "latency";

constexpr seconds kMeeting{3};

// The server waits for a proof that UDP passes; a message without one ends the wait.
Result<> give_up_udp(Client& client, int interrupt) {
  const Deadline deadline = Deadline::of(kAnswer, interrupt);
  TRY(client.channel().send({Type::Note}, deadline));
  TRY(client.channel().receive(deadline));
  return {};
}

// A ping whose answer takes longer counts as lost.
constexpr std::int64_t kStragglersNs = 2'000'000'000;
constexpr std::uint8_t kCounts = 1;  // in the pings' stream field

class PhaseRun {
 public:
  PhaseRun(const ProbeSockets& sockets, std::chrono::nanoseconds gap, std::uint16_t number,
           std::vector<std::byte>& pending)
      : sockets_(sockets), gap_ns_(gap.count()), number_(number), pending_(pending) {}

  Result<std::unique_ptr<Phase>> run(std::chrono::nanoseconds time, int interrupt,
                                     const Counting& counting) {
    const std::int64_t end = clock_.monotonic_ns() + time.count();
    std::int64_t next = clock_.monotonic_ns();
    while (!phase_->interrupted && clock_.monotonic_ns() < end) {
      if (clock_.monotonic_ns() >= next) {
        const Pinging pinging = counting();
        if (pinging == Pinging::End) {
          break;
        }
        ask(pinging == Pinging::Count);
        next = std::max(next + gap_ns_, clock_.monotonic_ns());
      }
      TRY(listen(std::min(next, end), interrupt));
    }
    return await_stragglers();
  }

 private:
  Result<std::unique_ptr<Phase>> await_stragglers() {
    const std::int64_t last = clock_.monotonic_ns() + kStragglersNs;
    while (!phase_->interrupted && outstanding() && clock_.monotonic_ns() < last) {
      TRY(listen(last, -1));
    }
    return std::move(phase_);
  }

  bool outstanding() const {
    return phase_->tcp.answered() < phase_->tcp.sent || phase_->udp.answered() < phase_->udp.sent;
  }

  ExchangePacket ping(bool counts) {
    return udp::ping_packet({.kind = PacketKind::Ping,
                             .stream = counts ? kCounts : std::uint8_t{0},
                             .run = number_,
                             .test = sockets_.test,
                             .sequence = sequence_++,
                             .sent_ns = clock_.monotonic_ns()});
  }

  void ask(bool counts) {
    const ExchangePacket over_tcp = ping(counts);
    const ssize_t sent =
        send(sockets_.tcp, over_tcp.data(), over_tcp.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    phase_->tcp.sent += counts && sent == kExchangeBytes ? 1 : 0;
    if (sockets_.udp >= 0) {
      udp::send_exchange(sockets_.udp, ping(counts));
      phase_->udp.sent += counts ? 1 : 0;
    }
  }

  Result<> listen(std::int64_t until_ns, int interrupt) {
    const std::int64_t wait = std::max<std::int64_t>(until_ns - clock_.monotonic_ns(), 0);
    const timespec timeout{.tv_sec = wait / 1'000'000'000, .tv_nsec = wait % 1'000'000'000};
    std::array<pollfd, 3> watched{pollfd{sockets_.tcp, POLLIN, 0}, pollfd{sockets_.udp, POLLIN, 0},
                                  pollfd{interrupt, POLLIN, 0}};
    ppoll(watched.data(), watched.size(), &timeout, nullptr);
    phase_->interrupted |= watched[2].revents != 0;
    if (watched[1].revents != 0) {
      receive_udp();
    }
    return watched[0].revents != 0 ? receive_tcp() : Result<>{};
  }

  void receive_udp() {
    while (const auto answer = udp::receive_exchange(sockets_.udp)) {
      if (answer->head.kind == PacketKind::Pong) {
        note(phase_->udp, answer->head);
      }
    }
  }

  Result<> receive_tcp() {
    std::array<std::byte, 64 * kExchangeBytes> buffer{};
    const ssize_t got = recv(sockets_.tcp, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      return fail(from_errno(got == 0 ? ECONNRESET : errno, "ping", "TCP connection"));
    }
    pending_.insert(pending_.end(), buffer.begin(), buffer.begin() + std::max<ssize_t>(got, 0));
    std::size_t used = 0;
    for (; pending_.size() - used >= kExchangeBytes; used += kExchangeBytes) {
      if (const auto head = udp::read_head(std::span(pending_).subspan(used, kExchangeBytes))) {
        note(phase_->tcp, *head);
      }
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(used));
    return {};
  }

  void note(RoundTrips& trips, const PacketHead& head) const {
    const std::int64_t took = udp::difference(clock_.monotonic_ns(), head.sent_ns);
    if (head.test == sockets_.test && head.run == number_ && head.stream == kCounts && took >= 0) {
      trips.histogram.add(static_cast<std::uint64_t>(took));
    }
  }

  const ProbeSockets& sockets_;
  std::int64_t gap_ns_;
  std::uint16_t number_;
  std::vector<std::byte>& pending_;
  sys::SystemClock clock_;
  std::uint64_t sequence_ = 0;
  std::unique_ptr<Phase> phase_ = std::make_unique<Phase>();
};

// More than the pings that a client can have in flight.
constexpr std::size_t kMaxEchoBytes = std::size_t{16} * 1024;

// False once the client has closed the connection, or does not read what is sent back: nobody
// measures with such a client.
bool send_back(int fd) {
  std::array<std::byte, kMaxEchoBytes> buffer{};
  const ssize_t got = recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) {
    const ssize_t sent =
        send(fd, buffer.data(), static_cast<std::size_t>(got), MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent == got;
  }
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

class Mirror {
 public:
  Mirror(Session& session, const Parameters& parameters)
      : session_(session), deadline_(session.deadline(parameters.time + control::kAnswer)) {}

  Result<> open(bool udp) {
    session_.expect_streams(1);
    if (udp) {
      TRY(flows_, udp::meet_client(session_, udp::Parameters{}));
    } else {
      TRY(session_.send(Type::Ready));
    }
    TRY(std::vector<sys::Descriptor> streams, session_.streams(session_.deadline(kAnswer)));
    tcp_ = std::move(streams.front());
    // With Nagle's algorithm an answer could wait for the acknowledgement of the one before it.
    return net::apply({.no_delay = true}, tcp_.get(), session_.peer().address.family());
  }

  Result<> run() {
    return until_stopped(session_, kKind, deadline_, [this] { return answer(); });
  }

 private:
  Result<> answer() {
    std::array<pollfd, 4> watched{pollfd{session_.channel().descriptor(), POLLIN, 0},
                                  pollfd{session_.context().stop, POLLIN, 0},
                                  pollfd{tcp_.get(), POLLIN, 0},
                                  pollfd{flows_ ? flows_->flows.front().fd.get() : -1, POLLIN, 0}};
    poll(watched.data(), watched.size(), static_cast<int>(control::kStopInterval.count()));
    if (watched[2].revents != 0 && !send_back(tcp_.get())) {
      tcp_.reset();
    }
    if (watched[3].revents != 0) {
      udp::answer_pings(flows_->flows.front().fd.get(), flows_->test);
    }
    return {};
  }

  Session& session_;
  net::Deadline deadline_;
  sys::Descriptor tcp_;
  std::optional<udp::Flows> flows_;
};

// A light test (control::Weight): it costs so little that it runs beside the load whose effect it
// measures.
class LatencyService final : public control::TestService<Parameters, parameters_in> {
 public:
  std::string_view kind() const override { return kKind; }

 private:
  Result<control::Demand> demand(const Parameters& parameters,
                                 const control::Limits& limits) const override {
    TRY(control::check_time(limits, parameters.time));
    return control::Weight::Light;
  }

  Result<Json> run(Session& session, const Parameters& parameters) override {
    Mirror mirror(session, parameters);
    TRY(mirror.open(parameters.udp));
    TRY(mirror.run());
    return Json::object();
  }
};

}  // namespace

Result<Test> Test::open(Client& client, const Parameters& parameters,
                        const net::SocketOptions& options, int interrupt,
                        const control::Waiting& waiting) {
  Parameters asked = parameters;
  TRY(const Json ready, request_test(client, kKind, body_of(asked), interrupt, waiting));
  std::optional<udp::Flows> flows;
  std::optional<Error> problem;
  if (asked.udp) {
    Result<udp::Flows> met = udp::meet_server(client, udp::Parameters{}, ready, options,
                                              Deadline::of(kMeeting, interrupt));
    if (met) {
      flows = std::move(*met);
    } else if (met.error().kind != ErrorKind::Timeout) {
      return std::unexpected(met.error());
    } else {
      TRY(give_up_udp(client, interrupt));
      problem = met.error();
      asked.udp = false;
      TRY(request_test(client, kKind, body_of(asked), interrupt, waiting));
    }
  }
  net::SocketOptions prompt = options;
  prompt.no_delay = true;
  TRY(sys::Descriptor tcp, client.attach(0, prompt, Deadline::of(kAnswer, interrupt)));
  return Test(client, std::move(tcp), std::move(flows), std::move(problem));
}

Result<> Test::close() {
  TRY(stop_test(*client_));
  return {};
}

Result<std::unique_ptr<Phase>> Prober::run(std::uint16_t number, std::chrono::nanoseconds time,
                                           int interrupt, const Counting& counting) {
  return PhaseRun(sockets_, gap_, number, pending_).run(time, interrupt, counting);
}

std::unique_ptr<control::Service> latency_service() { return std::make_unique<LatencyService>(); }

}  // namespace chokepoint::probe::latency
