#include "probe/latency/service.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/net/socket.h"
#include "probe/latency/parameters.h"
#include "probe/udp/exchange.h"
#include "probe/udp/rendezvous.h"

namespace chokepoint::probe::latency {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kWindUp{10};
constexpr milliseconds kLookForWord{200};
// Of many pings that wait; more than a client can have under way.
constexpr std::size_t kMostAtOnce = std::size_t{16} * 1024;

// False once the client has closed the connection. What does not fit back into it at once is
// dropped: nobody measures with a client that does not read.
bool send_back(int fd) {
  std::array<std::byte, kMostAtOnce> buffer{};
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
      : session_(session), patience_(session.patience(parameters.time + kWindUp)) {}

  Result<> open(bool udp) {
    session_.expect_streams(1);
    if (udp) {
      Result<udp::Flows> flows = udp::meet_client(session_, udp::Parameters{});
      if (!flows) {
        return std::unexpected(flows.error());
      }
      flows_ = std::move(*flows);
    } else if (const Result<> sent = session_.channel().send({Type::Ready}, patience_); !sent) {
      return sent;
    }
    TRY(std::vector<sys::Descriptor> streams, session_.streams(session_.patience(kAnswer)));
    tcp_ = std::move(streams.front());
    // An answer that waits for the acknowledgement of the last one takes two round trips.
    return net::apply({.no_delay = true}, tcp_.get(), session_.peer().address.family());
  }

  Result<Json> until_stopped() {
    while (!patience_.over()) {
      wait();
      if (stopped_) {
        return fail(ErrorKind::Interrupted, "latency", session_.channel().peer(),
                    "the server stops");
      }
      TRY(const std::optional<Message> said, session_.channel().poll());
      if (said) {
        return end(*said);
      }
    }
    return fail(ErrorKind::Timeout, "latency", session_.channel().peer(),
                "it did not say that it was done");
  }

 private:
  void wait() {
    std::array<pollfd, 4> watched{pollfd{session_.channel().descriptor(), POLLIN, 0},
                                  pollfd{session_.surroundings().stop, POLLIN, 0},
                                  pollfd{tcp_.get(), POLLIN, 0},
                                  pollfd{flows_ ? flows_->flows.front().fd.get() : -1, POLLIN, 0}};
    poll(watched.data(), watched.size(), static_cast<int>(kLookForWord.count()));
    stopped_ = watched[1].revents != 0;
    if (watched[2].revents != 0 && !send_back(tcp_.get())) {
      tcp_.reset();
    }
    if (watched[3].revents != 0) {
      udp::answer_pings(flows_->flows.front().fd.get(), flows_->test);
    }
  }

  Result<Json> end(const Message& message) const {
    if (message.type != Type::Stop) {
      return fail(ErrorKind::Malformed, "latency", session_.channel().peer(),
                  std::string(control::name_of(message.type)) + " came in the middle of a test");
    }
    return Json::object();
  }

  Session& session_;
  net::Patience patience_;
  sys::Descriptor tcp_;
  std::optional<udp::Flows> flows_;
  bool stopped_ = false;
};

}  // namespace

Result<control::Weight> LatencyService::check(const Json& parameters,
                                              const control::Limits& limits) const {
  const Result<Parameters> asked = parameters_in(parameters);
  const Result<> fits =
      asked ? control::check_time(limits, asked->time) : std::unexpected(asked.error());
  return fits ? Result<control::Weight>(control::Weight::Light) : std::unexpected(fits.error());
}

Result<Json> LatencyService::serve(Session& session, const Json& body) {
  TRY(const Parameters parameters, parameters_in(body));
  Mirror mirror(session, parameters);
  const Result<> opened = mirror.open(parameters.udp);
  return opened ? mirror.until_stopped() : std::unexpected(opened.error());
}

}  // namespace chokepoint::probe::latency
