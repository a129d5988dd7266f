// Crew, until a conversation has begun: names, addresses, connections, and calling again.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/control/channel.h"
#include "base/control/client.h"
#include "base/net/socket.h"
#include "preflight/agents/crew.h"

namespace chokepoint::preflight {
namespace {

Presence presence_of(const Error& error) {
  return error.kind == ErrorKind::Refused ? Presence::NoAgent : Presence::Unreachable;
}

Ending unresolved(const Result<std::vector<net::Address>>& addresses, const std::string& name) {
  return {.presence = Presence::Unresolved,
          .error = addresses ? Error{.kind = ErrorKind::NotFound,
                                     .operation = "resolve",
                                     .subject = name,
                                     .reason = "the name has no address"}
                             : addresses.error()};
}

bool may_come_up(const Error& error) {
  return error.kind == ErrorKind::Refused || error.kind == ErrorKind::Unreachable ||
         error.kind == ErrorKind::Timeout;
}

}  // namespace

void Crew::call_all() {
  called_ = true;
  give_up_calling_ = Clock::now() + options_.appear;
  for (HostIndex host = 0; host < links_.size(); ++host) {
    resolve(host);
  }
  call_next();
}

void Crew::resolve(HostIndex host) {
  Link& link = links_[host];
  const std::string& name = options_.hosts[host].host;
  const Result<net::Address> address = net::Address::parse(name);
  if (address && (!options_.family || address->family() == *options_.family)) {
    link.addresses = {*address};
    link.state = State::Queued;
    queue_.push_back(host);
    return;
  }
  link.state = State::Resolving;
  link.deadline = Clock::now() + options_.resolving;
  lookups_.ask(host, name);
}

void Crew::resolved() {
  for (Lookups::Answer& answer : lookups_.take()) {
    Link& link = links_[answer.host];
    if (link.state != State::Resolving) {
      continue;
    }
    if (!answer.addresses || answer.addresses->empty()) {
      end(answer.host, unresolved(answer.addresses, options_.hosts[answer.host].host));
      continue;
    }
    link.addresses = std::move(*answer.addresses);
    link.deadline = Clock::time_point::max();
    link.state = State::Queued;
    queue_.push_back(answer.host);
  }
}

void Crew::call_next() {
  while (opening_ < options_.most_opening && !queue_.empty()) {
    const HostIndex host = queue_.front();
    queue_.pop_front();
    open(host);
  }
}

void Crew::open(HostIndex host) {
  Link& link = links_[host];
  if (!std::exchange(link.is_opening, true)) {
    ++opening_;
  }
  Result<sys::Descriptor> fd = net::start_connect(endpoint(host), options_.socket);
  const Result<> watched = fd ? net::end_on_silence(fd->get(), control::kSilence) : Result<>{};
  if (!fd || !watched) {
    open_failed(host, fd ? watched.error() : fd.error());
    return;
  }
  link.state = State::Opening;
  link.fd = std::move(*fd);
  link.deadline = Clock::now() + options_.connecting;
  watch(host, EPOLLOUT, EPOLL_CTL_ADD);
}

void Crew::open_failed(HostIndex host, Error error) {
  Link& link = links_[host];
  link.fd.reset();
  if (!link.trouble) {
    link.trouble = std::make_unique<Error>(control::with_advice(std::move(error), endpoint(host)));
  }
  no_longer_opening(link);
  if (++link.tried < link.addresses.size()) {
    link.state = State::Queued;
    link.deadline = Clock::time_point::max();
    queue_.push_back(host);
    return;
  }
  const Clock::time_point again = Clock::now() + options_.call_again;
  if (may_come_up(*link.trouble) && again < give_up_calling_) {
    link.tried = 0;
    link.trouble.reset();
    link.state = State::Waiting;
    link.deadline = again;
    return;
  }
  end(host, {.presence = presence_of(*link.trouble), .error = *link.trouble});
}

void Crew::opened(HostIndex host) {
  Link& link = links_[host];
  if (const int code = net::pending_error(link.fd.get()); code != 0) {
    open_failed(host, from_errno(code, "connect", ""));
    return;
  }
  const net::Endpoint peer = endpoint(host);
  link.state = State::Talking;
  link.deadline = Clock::now() + options_.handshake;
  link.talk = std::make_unique<Talk>(options_, host, peer.address.text(),
                                     peer.address.text() + " port " + std::to_string(peer.port));
  link.trouble.reset();
  watch(host, EPOLLIN, EPOLL_CTL_MOD);
  say(host, link.talk->hello());
}

void Crew::watch(HostIndex host, std::uint32_t events, int operation) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = host;
  // Fails only where memory does; then its deadline ends it.
  std::ignore = epoll_ctl(epoll_.get(), operation, links_[host].fd.get(), &event);
}

}  // namespace chokepoint::preflight
