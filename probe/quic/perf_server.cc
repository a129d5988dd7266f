#include "probe/quic/perf_server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/math/units.h"
#include "base/net/socket.h"
#include "base/sys/descriptor.h"
#include "base/sys/thread.h"
#include "probe/quic/connection.h"
#include "probe/quic/endpoint.h"
#include "probe/quic/socket.h"

namespace chokepoint::probe::quic {
namespace {

using net::Deadline;
using std::chrono::seconds;
using Turn = control::TestQueue::Turn;

// A client that neither sends nor gets data for as long has to make room for others.
constexpr seconds kIdle{15};
// What a client may send beyond --max-rate: what is in its window when it begins, and bursts.
constexpr double kRateSlack = 1.1;
constexpr std::uint64_t kWindowBytes = std::uint64_t{16} << 20;
// Of one look at a listening socket, so that another's packets are looked at, too.
constexpr int kMaxPackets = 64;
constexpr std::size_t kMaxEarlyPackets = 16;
constexpr std::int64_t kThreads = 1;
constexpr int kEndingMs = 50;

// A packet that came to a listening socket, and where it came to.
struct Arrival {
  Packet packet;
  SocketAddress from;
  net::Endpoint to;
};

// What recvmsg() and sendmsg() say of the local address of a packet, for both families.
class LocalAddress {
 public:
  explicit LocalAddress(msghdr& message) : message_(message) {
    message_.msg_control = bytes_.data();
    message_.msg_controllen = bytes_.size();
  }

  std::optional<net::Address> get() const {
    for (cmsghdr* note = CMSG_FIRSTHDR(&message_); note != nullptr;
         note = CMSG_NXTHDR(&message_, note)) {
      if (note->cmsg_level == IPPROTO_IP && note->cmsg_type == IP_PKTINFO) {
        in_pktinfo info{};
        std::memcpy(&info, CMSG_DATA(note), sizeof(info));
        return net::Address::v4(info.ipi_addr);
      }
      if (note->cmsg_level == IPPROTO_IPV6 && note->cmsg_type == IPV6_PKTINFO) {
        in6_pktinfo info{};
        std::memcpy(&info, CMSG_DATA(note), sizeof(info));
        const bool is_link_local = IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr);
        return net::Address::v6(info.ipi6_addr, is_link_local ? info.ipi6_ifindex : 0);
      }
    }
    return std::nullopt;
  }

 private:
  msghdr& message_;
  alignas(cmsghdr) std::array<char, 128> bytes_{};
};

// Packets that a client sent before it had a socket of its own: the one that opens its connection,
// and others where its ClientHello takes several. Any thread.
class EarlyPackets {
 public:
  void put(Packet packet) {
    const std::lock_guard lock(mutex_);
    if (packets_.size() < kMaxEarlyPackets) {
      packets_.emplace_back(packet.begin(), packet.end());
    }
  }
  std::vector<std::vector<std::byte>> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(packets_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<std::byte>> packets_;
};

// One client: its connection, from the packet that opens it until the client ends it. Owns its
// turn; a thread of its own.
class PerfSession {
 public:
  PerfSession(Socket socket, std::unique_ptr<Turn> turn, const Identity& identity,
              const Parameters& parameters, const PerfServerOptions& options, int stop)
      : turn_(std::move(turn)),
        peer_(socket.ends().peer_text),
        endpoint_(std::move(socket), parameters, Protocol::Perf, options.root, &identity),
        options_(options),
        stop_(stop) {}

  // The first of the packets opens the connection.
  void open_by(const Opening& opening, std::shared_ptr<EarlyPackets> packets) {
    opening_ = opening;
    early_ = std::move(packets);
  }

  void run() {
    Result<> served = fail(ErrorKind::Exhausted, "test", "", "no memory is left for it");
    try {
      served = serve();
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): `served` holds the error
    }
    const Connection* connection = endpoint_.connection();
    const StreamCounts counts = connection == nullptr ? StreamCounts() : connection->counts();
    endpoint_.disconnect();
    turn_.reset();
    options_.log(fmt::format("perf {}: {} bytes received, {} sent{}", peer_, counts.received_bytes,
                             counts.acknowledged_bytes,
                             served ? "" : "; " + describe(served.error())));
  }

 private:
  Result<> serve() {
    endpoint_.begin(true, true);
    TRY(take_early());
    const Deadline deadline = Deadline::of(options_.limits.longest_test, stop_);
    const std::int64_t start = clock_ns();
    std::uint64_t moved_bytes = 0;
    std::int64_t moved_ns = start;
    for (Ticker ticker; !endpoint_.connection()->is_closed();) {
      TRY(endpoint_.turn(kTick, stop_));
      if (!ticker.is_due()) {
        continue;
      }
      TRY(take_early());
      const std::int64_t at = clock_ns();
      const std::uint64_t moved =
          endpoint_.connection()->received_bytes() + endpoint_.connection()->acknowledged_bytes();
      moved_ns = moved == moved_bytes ? moved_ns : at;
      moved_bytes = moved;
      if (sys::is_readable(stop_)) {
        return {};
      }
      // A client that ends without a word need not keep others out until it is missed.
      if (endpoint_.socket().is_refused()) {
        return fail(ErrorKind::Refused, "", "", "nothing has its port open any more");
      }
      if (deadline.over()) {
        return fail(ErrorKind::Timeout, "", "", "--max-time is over");
      }
      if (at - moved_ns > std::chrono::nanoseconds(kIdle).count()) {
        return fail(ErrorKind::Timeout, "", "", "no data for 15 s");
      }
      TRY(check_rate(at - start));
    }
    return {};
  }

  Result<> take_early() {
    for (const std::vector<std::byte>& packet : early_->take()) {
      TRY(endpoint_.connection() == nullptr ? endpoint_.accept(packet, opening_)
                                            : endpoint_.take_in(packet));
    }
    return {};
  }

  // This end's rate is paced; the client's can only be refused.
  Result<> check_rate(std::int64_t time_ns) const {
    const std::optional<double>& most = options_.limits.rate_bits_per_s;
    const double time_s = static_cast<double>(time_ns) / math::kNsPerSecond;
    const double bits = static_cast<double>(endpoint_.connection()->received_bytes()) * math::kBits;
    if (!most ||
        bits <= kRateSlack * *most * time_s + static_cast<double>(kWindowBytes) * math::kBits) {
      return {};
    }
    return fail(ErrorKind::Refused, "", "", "faster than --max-rate");
  }

  std::unique_ptr<Turn> turn_;
  std::string peer_;
  Endpoint endpoint_;
  Opening opening_;
  std::shared_ptr<EarlyPackets> early_;
  const PerfServerOptions& options_;
  int stop_;
};

// The listening sockets. Hands a client whose address is known to be its own to a session; belongs
// to serve_perf()'s thread.
class PerfAcceptor {
 public:
  static Result<std::unique_ptr<PerfAcceptor>> make(std::vector<sys::Descriptor> listeners,
                                                    const PerfServerOptions& options, int stop) {
    TRY(auto gate, Gate::make());
    TRY(auto identity, Identity::make());
    return std::unique_ptr<PerfAcceptor>(new PerfAcceptor(std::move(listeners), std::move(gate),
                                                          std::move(identity), options, stop));
  }
  PerfAcceptor(const PerfAcceptor&) = delete;
  PerfAcceptor& operator=(const PerfAcceptor&) = delete;
  ~PerfAcceptor() { join(); }

  Result<> run() {
    std::vector<pollfd> watched{{stop_, POLLIN, 0}};
    for (const sys::Descriptor& listener : listeners_) {
      watched.push_back({listener.get(), POLLIN, 0});
    }
    while (true) {
      if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) {
        return fail(from_errno(errno, "wait for clients", "UDP sockets"));
      }
      if (watched[0].revents != 0) {
        return {};
      }
      for (const sys::Descriptor& listener : listeners_) {
        for (int i = 0; i < kMaxPackets && take_one(listener.get()); ++i) {
        }
      }
    }
  }

 private:
  PerfAcceptor(std::vector<sys::Descriptor> listeners, std::unique_ptr<Gate> gate,
               std::unique_ptr<Identity> identity, const PerfServerOptions& options, int stop)
      : listeners_(std::move(listeners)),
        gate_(std::move(gate)),
        identity_(std::move(identity)),
        options_(options),
        stop_(stop) {}

  // False where nothing has come.
  bool take_one(int listener) {
    SocketAddress from;
    iovec part{.iov_base = incoming_.data(), .iov_len = incoming_.size()};
    msghdr message{};
    message.msg_name = &from.bytes;
    message.msg_namelen = sizeof(from.bytes);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const LocalAddress local(message);
    const ssize_t count = recvmsg(listener, &message, MSG_DONTWAIT);
    if (count < 0) {
      return false;
    }
    from.length = message.msg_namelen;
    const std::optional<net::Address> address = local.get();
    const Result<net::Endpoint> own = net::local_endpoint(listener);
    if (!address || !own || (message.msg_flags & MSG_TRUNC) != 0) {
      return true;
    }
    const Packet packet = Packet(incoming_).first(static_cast<std::size_t>(count));
    answer_to({.packet = packet, .from = from, .to = {*address, own->port}}, listener, message);
    return true;
  }

  // `message` still has the client's address, and the local one that it wrote to.
  void answer_to(const Arrival& arrival, int listener, msghdr& message) {
    const Gate::Look look = gate_->look(arrival.packet, arrival.from, outgoing_, clock_ns());
    std::size_t bytes = look.answer_bytes;
    if (look.opening && look.opening->retry_id == served_) {
      early_->put(arrival.packet);
    } else if (look.opening && !admit(arrival, *look.opening)) {
      bytes = gate_->refuse(arrival.packet, outgoing_);
    }
    if (bytes > 0) {
      iovec part{.iov_base = outgoing_.data(), .iov_len = bytes};
      message.msg_iov = &part;
      message.msg_flags = 0;
      static_cast<void>(sendmsg(listener, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
    }
  }

  bool admit(const Arrival& arrival, const Opening& opening) {
    const Result<net::Endpoint> from = net::Endpoint::from_socket(arrival.from.bytes);
    if (!from || is_busy(from->address)) {
      return false;
    }
    join();
    const Result<> admitted = start(arrival, *from, opening);
    if (!admitted) {
      options_.log("perf " + from->text() + ": " + describe(admitted.error()));
    }
    return admitted.has_value();
  }

  // A client's next connection may come before its last one's end has been seen.
  bool is_busy(const net::Address& client) const {
    for (int i = 0; busy_ && client == client_ && i < kEndingMs; ++i) {
      poll(nullptr, 0, 1);
    }
    return busy_;
  }

  Result<> start(const Arrival& arrival, const net::Endpoint& from, const Opening& opening) {
    const Parameters parameters{
        .streams = static_cast<int>(options_.limits.streams),
        .window_bytes = std::min<std::uint64_t>(
            kWindowBytes, static_cast<std::uint64_t>(options_.limits.buffer_bytes)),
        .pace_bits_per_s = options_.limits.rate_bits_per_s};
    const std::string who = "perf by " + from.address.unmapped().text();
    auto turn = std::make_unique<Turn>(
        options_.test_queue, control::TestQueue::Test{.demand = {control::Weight::Heavy, kThreads,
                                                                 memory_of(parameters)},
                                                      .who = who,
                                                      .owner = who});
    TRY(turn->take());
    TRY(sys::Descriptor fd, net::bind_udp(arrival.to, {.reuse_address = true}));
    TRY(net::connect_udp(fd.get(), from));
    TRY(Socket socket, Socket::adopt(std::move(fd), true));
    auto session = std::make_unique<PerfSession>(std::move(socket), std::move(turn), *identity_,
                                                 parameters, options_, stop_);
    auto early = std::make_shared<EarlyPackets>();
    early->put(arrival.packet);
    session->open_by(opening, early);
    busy_ = true;
    Result<std::thread> thread =
        sys::start_thread("perf", [this, running = std::move(session)]() mutable {
          running->run();
          running.reset();
          busy_ = false;
        });
    if (!thread) {
      busy_ = false;
      return std::unexpected(thread.error());
    }
    session_ = *std::move(thread);
    early_ = std::move(early);
    served_ = opening.retry_id;
    client_ = from.address;
    return {};
  }

  void join() {
    if (session_.joinable()) {
      session_.join();
    }
  }

  std::vector<sys::Descriptor> listeners_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Identity> identity_;
  const PerfServerOptions& options_;
  int stop_;
  std::array<std::byte, 2048> incoming_{};
  std::array<std::byte, kMaxPayload> outgoing_{};
  // Of the latest client: its opening's retry_id, its address, and its packets that arrive here.
  std::string served_;
  net::Address client_;
  std::shared_ptr<EarlyPackets> early_;
  std::atomic<bool> busy_ = false;
  std::thread session_;
};

}  // namespace

// SO_REUSEADDR for the sockets of sessions, which share the port. Set before bind() it would let
// two servers share it, too.
Result<sys::Descriptor> listen_perf(const net::Endpoint& local) {
  TRY(sys::Descriptor fd, net::bind_udp(local, {}));
  const bool is_v6 = local.address.family() == net::Family::Ipv6;
  const int on = 1;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      setsockopt(fd.get(), is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_RECVPKTINFO : IP_PKTINFO,
                 &on, sizeof(on)) != 0) {
    return fail(from_errno(errno, "open UDP port", local.text()));
  }
  return fd;
}

Result<> serve_perf(std::vector<sys::Descriptor> listeners, const PerfServerOptions& options,
                    int stop) {
  TRY(const auto acceptor, PerfAcceptor::make(std::move(listeners), options, stop));
  return acceptor->run();
}

}  // namespace chokepoint::probe::quic
