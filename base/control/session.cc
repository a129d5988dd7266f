#include "base/control/session.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/math/units.h"
#include "base/net/socket.h"

namespace chokepoint::control {

Result<std::unique_ptr<Session>> Session::make(sys::Descriptor fd, std::string id,
                                               const ServerHandshake& handshake,
                                               const ServerContext& context) {
  const Result<net::Endpoint> peer = net::peer_endpoint(fd.get());
  const Result<net::Endpoint> local = net::local_endpoint(fd.get());
  if (!peer || !local) {
    return std::unexpected(peer ? local.error() : peer.error());
  }
  TRY(net::end_on_silence(fd.get(), kSilence));
  sys::Descriptor arrival(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!arrival) {
    return fail(from_errno(errno, "open session", peer->text()));
  }
  Channel channel(std::move(fd), peer->address.text(), kMostFromClient);
  // The door has read the client's first sealed frame, its Proof.
  channel.seal(Seal(handshake.keys().to_client), Seal(handshake.keys().to_server, 1));
  std::unique_ptr<Session> session(
      new Session(std::move(channel), std::move(id), handshake, context, std::move(arrival)));
  session->peer_ = *peer;
  session->local_ = *local;
  return session;
}

void Session::expect_streams(int count) {
  const std::lock_guard lock(mutex_);
  expected_ = count;
  arrived_.clear();
  taken_.clear();
}

void Session::begin_test() {
  const std::lock_guard lock(mutex_);
  ++test_;
  expected_ = 0;
  arrived_.clear();
  taken_.clear();
}

bool Session::arrived(std::uint64_t test, int index, sys::Descriptor fd) {
  const std::lock_guard lock(mutex_);
  if (test != test_ || index < 0 || index >= expected_) {
    return false;
  }
  const auto number = static_cast<std::size_t>(index);
  if (number < taken_.size() && taken_[number]) {
    return false;
  }
  taken_.resize(std::max(taken_.size(), number + 1));
  taken_[number] = true;
  arrived_.emplace(index, std::move(fd));
  const std::uint64_t one = 1;
  return write(arrival_.get(), &one, sizeof(one)) == sizeof(one);
}

bool Session::complete() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  std::ignore = read(arrival_.get(), &count, sizeof(count));
  return static_cast<int>(arrived_.size()) == expected_;
}

// Readable once a data connection has arrived, or the client has closed its control connection.
Result<sys::Descriptor> Session::arrival_or_end() const {
  sys::Descriptor both(epoll_create1(EPOLL_CLOEXEC));
  epoll_event arrived{.events = EPOLLIN, .data = {}};
  epoll_event closed{.events = EPOLLRDHUP, .data = {}};
  if (!both || epoll_ctl(both.get(), EPOLL_CTL_ADD, arrival_.get(), &arrived) != 0 ||
      epoll_ctl(both.get(), EPOLL_CTL_ADD, channel_.descriptor(), &closed) != 0) {
    return fail(from_errno(errno, "wait for streams", channel_.peer()));
  }
  return both;
}

bool Session::has_hung_up() const {
  pollfd control{channel_.descriptor(), POLLRDHUP, 0};
  return ::poll(&control, 1, 0) > 0 && control.revents != 0;
}

Result<std::vector<sys::Descriptor>> Session::streams(const net::Deadline& deadline) {
  TRY(const sys::Descriptor news, arrival_or_end());
  while (!complete()) {
    TRY(net::wait_for(news.get(), POLLIN, deadline, "wait for streams", channel_.peer()));
    if (has_hung_up()) {
      return fail(ErrorKind::Refused, "wait for streams", channel_.peer(),
                  "it closed the connection");
    }
  }
  const std::lock_guard lock(mutex_);
  std::vector<sys::Descriptor> streams;
  streams.reserve(arrived_.size());
  for (auto& [index, fd] : arrived_) {
    streams.push_back(std::move(fd));
  }
  arrived_.clear();
  expected_ = 0;
  return streams;
}

std::vector<std::pair<int, sys::Descriptor>> Session::new_streams() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  std::ignore = read(arrival_.get(), &count, sizeof(count));
  std::vector<std::pair<int, sys::Descriptor>> streams;
  for (auto& [index, fd] : std::exchange(arrived_, {})) {
    streams.emplace_back(index, std::move(fd));
  }
  return streams;
}

namespace {

bool fills_path(const TestQueue::Test& test) {
  return test.demand.weight == Weight::Heavy || test.demand.weight == Weight::Alone;
}

bool shares(const TestQueue::Test& test) {
  return test.share && test.demand.weight != Weight::Alone;
}

Result<> no_room() {
  return fail(ErrorKind::Exhausted, "wait", "",
              "the tests that are running leave too few threads or too little memory for this one",
              "try again when they are done");
}

}  // namespace

TestQueue::Turn::Turn(TestQueue& test_queue, Test test) : test_queue_(test_queue) {
  const std::lock_guard lock(test_queue_.mutex_);
  ticket_ = test_queue_.next_ticket_++;
  test_queue_.entries_.push_back({.ticket = ticket_, .test = std::move(test)});
}

TestQueue::Turn::~Turn() {
  const std::lock_guard lock(test_queue_.mutex_);
  test_queue_.entries_.remove_if([&](const Entry& entry) { return entry.ticket == ticket_; });
}

Result<> TestQueue::Turn::take() {
  const std::lock_guard lock(test_queue_.mutex_);
  const auto mine = std::ranges::find(test_queue_.entries_, ticket_, &Entry::ticket);
  const Entry* ahead = test_queue_.obstacle(*mine);
  if (ahead == nullptr && !test_queue_.has_room_for(*mine)) {
    return no_room();
  }
  if (ahead == nullptr) {
    mine->running = true;
    return {};
  }
  return fail(ErrorKind::Busy, "wait", "",
              fmt::format("another test {}: {}", ahead->running ? "is running" : "is ahead",
                          ahead->test.who),
              "try again when it is done");
}

Result<> TestQueue::Turn::grow(std::int64_t threads, std::int64_t bytes) {
  TRY(test_queue_.check({Weight::Light, threads, bytes}));
  const std::lock_guard lock(test_queue_.mutex_);
  const auto mine = std::ranges::find(test_queue_.entries_, ticket_, &Entry::ticket);
  const Demand before =
      std::exchange(mine->test.demand, Demand(mine->test.demand.weight, threads, bytes));
  if (test_queue_.has_room_for(*mine)) {
    return {};
  }
  mine->test.demand = before;
  return no_room();
}

Result<> TestQueue::check(const Demand& demand) const {
  const auto too_much = [](const std::string& asked, const std::string& granted) {
    return fail(ErrorKind::Exhausted, "test", "",
                fmt::format("it would take {}, and this server grants {} to all tests together",
                            asked, granted),
                "ask for less: fewer streams or queue pairs, a smaller --window or --depth");
  };
  if (demand.threads > capacity_.threads) {
    return too_much(fmt::format("{} threads", demand.threads), std::to_string(capacity_.threads));
  }
  if (demand.bytes > capacity_.bytes) {
    return too_much(
        fmt::format("{} of memory", math::format_bytes(static_cast<double>(demand.bytes))),
        math::format_bytes(static_cast<double>(capacity_.bytes)));
  }
  return {};
}

// Who came earlier and waits for room alone is counted, too: else small tests would pass it
// forever.
bool TestQueue::has_room_for(const Entry& entry) const {
  std::int64_t threads = entry.test.demand.threads;
  std::int64_t bytes = entry.test.demand.bytes;
  if (threads == 0 && bytes == 0) {
    return true;
  }
  for (const Entry& other : entries_) {
    const bool waits_for_room = other.ticket < entry.ticket && obstacle(other) == nullptr;
    if (other.ticket != entry.ticket && (other.running || waits_for_room)) {
      threads += other.test.demand.threads;
      bytes += other.test.demand.bytes;
    }
  }
  return threads <= capacity_.threads && bytes <= capacity_.bytes;
}

const TestQueue::Entry* TestQueue::obstacle(const Entry& entry) const {
  const auto in_the_way = [&](const Entry& other) {
    const bool earlier = other.running || other.ticket < entry.ticket;
    if (other.ticket == entry.ticket || !earlier) {
      return false;
    }
    if (exclusive_ && other.test.owner != entry.test.owner) {
      return true;
    }
    return fills_path(entry.test) && fills_path(other.test) &&
           !(shares(entry.test) && shares(other.test));
  };
  const auto found = std::ranges::find_if(entries_, in_the_way);
  return found == entries_.end() ? nullptr : &*found;
}

Result<> until_stopped(Session& session, std::string_view kind, const net::Deadline& deadline,
                       const std::function<Result<>()>& work) {
  const std::string& peer = session.channel().peer();
  while (!deadline.over()) {
    TRY(work());
    if (sys::is_readable(session.context().stop)) {
      return fail(ErrorKind::Interrupted, kind, peer, "the server stops");
    }
    TRY(const std::optional<Message> message, session.channel().poll());
    if (message && message->type != Type::Stop) {
      return fail(ErrorKind::Malformed, kind, peer,
                  std::string(name_of(message->type)) + " came in the middle of a test");
    }
    if (message) {
      return {};
    }
  }
  return fail(ErrorKind::Timeout, kind, peer, "it did not say that it was done");
}

}  // namespace chokepoint::control
