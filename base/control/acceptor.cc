#include "base/control/acceptor.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/control/message.h"
#include "base/net/socket.h"

namespace chokepoint::control {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kStopId = 0;
constexpr std::uint64_t kFirstListener = 1;
constexpr std::uint64_t kFirstClient = 1000;
constexpr std::size_t kEvents = 64;
constexpr milliseconds kTidyEvery{1000};
constexpr milliseconds kOutOfDescriptors{50};

// Nothing waits for a pending connection: what its socket does not take at once ends it.
bool send_now(int fd, const Message& message) {
  const std::string frame = encode(message);
  return send(fd, frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(frame.size());
}

std::uint64_t source_of(int fd) {
  std::uint64_t source = 0;
  if (const Result<net::Endpoint> peer = net::peer_endpoint(fd)) {
    const net::Address address = peer->address.unmapped();
    std::memcpy(&source, address.bytes().data(), sizeof(source));
  }
  return source;
}

}  // namespace

Result<Acceptor> Acceptor::open(std::vector<sys::Descriptor> listeners, AcceptorOptions options,
                                AdmissionHandler& handler) {
  sys::Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) {
    return fail(from_errno(errno, "watch listeners", "epoll"));
  }
  Acceptor acceptor(std::move(listeners), std::move(options), handler, std::move(epoll));
  acceptor.next_id_ = kFirstClient;
  for (std::size_t i = 0; i < acceptor.listeners_.size(); ++i) {
    TRY(acceptor.watch(acceptor.listeners_[i].get(), kFirstListener + i));
  }
  return acceptor;
}

Result<> Acceptor::watch(int fd, std::uint64_t id) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0) {
    return fail(from_errno(errno, "watch", "connection"));
  }
  return {};
}

Result<> Acceptor::run(int stop) {
  if (const Result<> watched = watch(stop, kStopId); !watched) {
    return watched;
  }
  std::array<epoll_event, kEvents> events{};
  while (true) {
    const int count = epoll_wait(epoll_.get(), events.data(), kEvents, wait_ms());
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = events.at(static_cast<std::size_t>(i)).data.u64;
      if (id == kStopId) {
        return {};
      }
      if (id < kFirstClient) {
        accept_from(listeners_[id - kFirstListener].get());
      } else {
        receive_from(id);
      }
    }
    remove_late();
    handler_->tidy();
  }
}

int Acceptor::wait_ms() const {
  milliseconds wait = kTidyEvery;
  if (!pending_.empty()) {
    const auto left =
        std::chrono::ceil<milliseconds>(pending_.front().deadline - net::Deadline::Clock::now());
    wait = std::clamp(left, milliseconds(0), wait);
  }
  return static_cast<int>(wait.count());
}

void Acceptor::accept_from(int listener) {
  Result<std::optional<sys::Descriptor>> fd = net::accept(listener);
  if (fd && *fd) {
    try {
      add(std::move(**fd));
    } catch (const std::bad_alloc&) {
      return;  // one connection is closed, and the server goes on
    }
    return;
  }
  if (!fd && !pending_.empty()) {
    remove(pending_.begin());
  } else if (!fd) {
    // Out of descriptors, and none here to give up: others will give theirs back.
    std::this_thread::sleep_for(kOutOfDescriptors);
  }
}

void Acceptor::add(sys::Descriptor fd) {
  const std::uint64_t source = source_of(fd.get());
  make_room(source);
  const std::uint64_t id = next_id_++;
  // What allocates memory comes first. A count of 0 that stays behind does no harm.
  std::size_t& count = of_source_[source];
  std::list<PendingConnection> one;
  one.push_back({.id = id,
                 .source = source,
                 .fd = std::move(fd),
                 .deadline = net::Deadline::Clock::now() + options_.time_limit});
  const auto place = one.begin();
  by_id_.emplace(id, place);
  ++count;
  pending_.splice(pending_.end(), one);
  if (!watch(place->fd.get(), id)) {
    remove(place);
  }
}

void Acceptor::make_room(std::uint64_t source) {
  const auto own = of_source_.find(source);
  const bool is_one_too_many = own != of_source_.end() && own->second >= options_.max_of_one_source;
  if (!is_one_too_many && pending_.size() < options_.max_pending) {
    return;
  }
  const auto from =
      is_one_too_many
          ? own
          : std::ranges::max_element(of_source_, {}, [](const auto& each) { return each.second; });
  if (from->second > 1) {
    remove(any_of(from->first, from->second));
  } else {
    const auto last = static_cast<std::ptrdiff_t>(pending_.size()) - 1;
    remove(std::next(pending_.begin(),
                     std::uniform_int_distribution<std::ptrdiff_t>(0, last)(random_)));
  }
}

Acceptor::Place Acceptor::any_of(std::uint64_t source, std::size_t count) {
  auto left = std::uniform_int_distribution<std::size_t>(1, count)(random_);
  return std::ranges::find_if(pending_, [&](const PendingConnection& each) {
    return each.source == source && --left == 0;
  });
}

void Acceptor::remove(Place place) {
  if (place->fd) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, place->fd.get(), nullptr);
  }
  const auto source = of_source_.find(place->source);
  if (--source->second == 0) {
    of_source_.erase(source);
  }
  by_id_.erase(place->id);
  pending_.erase(place);
}

void Acceptor::remove_late() {
  const auto now = net::Deadline::Clock::now();
  while (!pending_.empty() && pending_.front().deadline <= now) {
    remove(pending_.begin());
  }
}

void Acceptor::receive_from(std::uint64_t id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) {
    return;
  }
  // A lack of memory, or an error of ours, ends this client's connection alone.
  const auto decision = [&] {
    try {
      return read(*found->second);
    } catch (const std::exception&) {
      return Decision::Close;
    }
  }();
  if (decision == Decision::Close) {
    remove(found->second);
  }
}

Acceptor::Decision Acceptor::read(PendingConnection& client) {
  const std::span<std::byte> into = client.reader.wanted();
  const ssize_t got = recv(client.fd.get(), into.data(), into.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return Decision::Wait;
  }
  if (got <= 0) {
    return Decision::Close;
  }
  if (client.handshake && !client.reader.is_sealed()) {
    if (const Result<> agreed = client.handshake->agree(); !agreed) {
      send_now(client.fd.get(), refused(agreed.error()));
      return Decision::Close;
    }
    client.reader.seal(Seal(client.handshake->keys().to_server));
  }
  const Result<std::optional<Message>> message = client.reader.took(static_cast<std::size_t>(got));
  if (!message) {
    send_now(client.fd.get(), refused(message.error()));
    return Decision::Close;
  }
  return *message ? answer(client, **message) : Decision::Wait;
}

Acceptor::Decision Acceptor::answer(PendingConnection& client, const Message& message) {
  // After a handshake it came sealed.
  if (message.type == Type::Attach) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, client.fd.get(), nullptr);
    if (const Result<Attachment> attachment = read_attach(message)) {
      handler_->attach(*attachment, std::move(client.fd));
    }
    return Decision::Close;
  }
  return client.handshake ? admit(client, message) : greet(client, message);
}

Acceptor::Decision Acceptor::greet(PendingConnection& client, const Message& hello) {
  client.handshake.emplace(options_.own, handler_->keys());
  const Result<Message> welcome = client.handshake->welcome(hello);
  const bool sent = send_now(client.fd.get(), welcome ? *welcome : refused(welcome.error()));
  return welcome && sent ? Decision::Wait : Decision::Close;
}

Acceptor::Decision Acceptor::admit(PendingConnection& client, const Message& proof) {
  const Result<> checked = ServerHandshake::check(proof);
  if (!checked) {
    send_now(client.fd.get(), refused(checked.error()));
    return Decision::Close;
  }
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, client.fd.get(), nullptr);
  if (const Result<> entered = handler_->enter(client.fd, *client.handshake); !entered) {
    send_now(client.fd.get(), refused(entered.error()));
  }
  return Decision::Close;
}

}  // namespace chokepoint::control
