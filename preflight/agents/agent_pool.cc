#include "preflight/agents/agent_pool.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

#include "base/control/channel.h"
#include "base/control/client.h"
#include "base/net/deadline.h"
#include "base/net/socket.h"
#include "base/sys/descriptor.h"

namespace chokepoint::preflight {
namespace {

using Stage = AgentProtocol::Stage;

constexpr std::uint64_t kLookups = UINT64_MAX;
// One that never stops sending has its turn, and then the others have theirs.
constexpr int kReadsInTurn = 16;
constexpr std::chrono::milliseconds kCheckInterval{100};
constexpr std::chrono::milliseconds kHeldUp{500};

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

Result<std::unique_ptr<AgentPool>> AgentPool::make(AgentPoolOptions options) {
  // Else hosts that are well would be those that do not answer.
  TRY(sys::want_descriptors(options.hosts.size()));
  options.socket.mss = control::kSegmentBytes;
  TRY(NameLookups lookups, NameLookups::make(options.resolve, options.family));
  sys::Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kLookups;
  if (!epoll || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, lookups.descriptor(), &event) < 0) {
    return fail(from_errno(errno, "call the agents", "epoll"));
  }
  return std::unique_ptr<AgentPool>(
      new AgentPool(std::move(options), std::move(lookups), std::move(epoll)));
}

AgentPool::AgentPool(AgentPoolOptions options, NameLookups lookups, sys::Descriptor epoll)
    : options_(std::move(options)),
      lookups_(std::move(lookups)),
      epoll_(std::move(epoll)),
      links_(options_.hosts.size()) {}

// Agents accept a connection that just ends, so the destructor does not wait until Stop is sent.
AgentPool::~AgentPool() {
  for (const Link& link : links_) {
    if (link.protocol && link.outgoing.empty()) {
      const std::string goodbye = link.protocol->goodbye();
      std::ignore =
          ::send(link.fd.get(), goodbye.data(), goodbye.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }
}

Result<std::optional<Event>> AgentPool::next(const net::Deadline& deadline) {
  if (!called_) {
    call_all();
  }
  while (true) {
    if (!events_.empty()) {
      std::optional<Event> first = std::move(events_.front());
      events_.pop_front();
      return first;
    }
    if (batch_at_ < batch_size_) {
      handle(batch_.at(batch_at_++));
    } else if (const Result<bool> waited = wait(deadline); !waited) {
      return std::unexpected(waited.error());
    } else if (!*waited && events_.empty() && deadline.over()) {
      return std::nullopt;
    }
  }
}

int AgentPool::interrupt_of(const net::Deadline& deadline) const {
  return deadline.interrupt >= 0 ? deadline.interrupt : options_.interrupt;
}

// Whether anything came of it.
Result<bool> AgentPool::wait(const net::Deadline& deadline) {
  const Result<> ready = net::wait_for(
      epoll_.get(), POLLIN,
      {.until = std::min(deadline.until, next_look_), .interrupt = interrupt_of(deadline)},
      "preflight", "");
  if (!ready && ready.error().kind != ErrorKind::Timeout) {
    return std::unexpected(ready.error());
  }
  const Clock::time_point now = Clock::now();
  if (now >= next_look_) {
    // After this process was delayed or stopped, messages that came meanwhile are read first, so
    // that no agent misses a deadline by that.
    if (now < next_look_ + kHeldUp) {
      look_at_deadlines(now);
    }
    next_look_ = now + kCheckInterval;
  }
  const int count = ready ? epoll_wait(epoll_.get(), batch_.data(), kBatch, 0) : 0;
  batch_size_ = static_cast<std::size_t>(std::max(count, 0));
  batch_at_ = 0;
  return batch_size_ > 0;
}

void AgentPool::handle(const epoll_event& event) {
  if (event.data.u64 == kLookups) {
    resolved();
  } else {
    handle(static_cast<HostIndex>(event.data.u64), event.events);
  }
  call_next();
}

void AgentPool::handle(HostIndex host, std::uint32_t events) {
  switch (links_[host].state) {
    case State::Opening:
      opened(host);
      break;
    case State::InConversation:
      if ((events & EPOLLOUT) != 0U) {
        flush(host);
      }
      if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0U) {
        receive(host);
      }
      break;
    default:
      break;
  }
}

void AgentPool::ask(HostIndex host, TaskNumber number, const Task& task) {
  Link& link = links_.at(host);
  if (link.state != State::InConversation) {
    return;
  }
  if (link.protocol->stage() != AgentProtocol::Stage::Idle) {
    events_.emplace_back(Answered{.host = host,
                                  .task = number,
                                  .document = fail(ErrorKind::Busy, "ask", link.protocol->peer(),
                                                   "its agent is at another task, or not ready")});
    return;
  }
  link.deadline = Clock::now() + options_.longest(task) + options_.beyond_task;
  send(host, link.protocol->begin(number, task));
}

void AgentPool::give_up(HostIndex host, TaskNumber number) {
  std::erase_if(events_, [&](const Event& event) {
    const auto* answer = std::get_if<Answered>(&event);
    return answer != nullptr && answer->host == host && answer->task == number;
  });
  Link& link = links_.at(host);
  if (link.state != State::InConversation || link.protocol->task() != number) {
    return;
  }
  link.deadline = Clock::time_point::max();
  send(host, link.protocol->give_up(number));
}

void AgentPool::look_at_deadlines(Clock::time_point now) {
  for (HostIndex host = 0; host < links_.size(); ++host) {
    const Link& link = links_[host];
    if (link.deadline <= now || link.answer_by <= now) {
      too_late(host, now);
    }
  }
  call_next();
}

void AgentPool::too_late(HostIndex host, Clock::time_point now) {
  Link& link = links_[host];
  switch (link.state) {
    case State::Resolving:
      end(host, {.presence = Presence::Unresolved,
                 .error = {.kind = ErrorKind::Timeout,
                           .operation = "resolve",
                           .subject = options_.hosts[host].host,
                           .reason = "no name server answered in time",
                           .next_step = "give an address, or fix /etc/resolv.conf"}});
      break;
    case State::Opening:
      open_failed(host, {.kind = ErrorKind::Timeout,
                         .operation = "connect",
                         .subject = "",
                         .reason = "no answer in time"});
      break;
    case State::Waiting:
      link.deadline = Clock::time_point::max();
      link.state = State::Queued;
      queue_.push_back(host);
      break;
    case State::InConversation:
      if (link.answer_by > now && link.protocol->task()) {
        task_is_late(host, now);
      } else {
        end(host, link.protocol->silent());
      }
      break;
    default:
      break;
  }
}

void AgentPool::task_is_late(HostIndex host, Clock::time_point now) {
  Link& link = links_[host];
  const TaskNumber number = *link.protocol->task();
  events_.emplace_back(
      Answered{.host = host,
               .task = number,
               .document = fail(ErrorKind::Timeout, "wait", link.protocol->peer(),
                                "its agent did not answer in the time that the test may take")});
  link.deadline = Clock::time_point::max();
  link.answer_by = now + options_.giving_up;
  send(host, link.protocol->give_up(number));
}

void AgentPool::no_longer_opening(Link& link) {
  if (std::exchange(link.is_opening, false)) {
    --opening_;
  }
}

void AgentPool::end(HostIndex host, Ending ending) {
  Link& link = links_[host];
  no_longer_opening(link);
  link = Link{};
  link.state = State::Gone;
  events_.emplace_back(
      AgentLeft{.host = host, .presence = ending.presence, .error = std::move(ending.error)});
}

net::Endpoint AgentPool::endpoint(HostIndex host) const {
  const Link& link = links_[host];
  return {.address = link.addresses.at(link.tried), .port = options_.hosts[host].port};
}

void AgentPool::call_all() {
  called_ = true;
  give_up_calling_ = Clock::now() + options_.appear;
  for (HostIndex host = 0; host < links_.size(); ++host) {
    resolve(host);
  }
  call_next();
}

void AgentPool::resolve(HostIndex host) {
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

void AgentPool::resolved() {
  for (NameLookups::Answer& answer : lookups_.take()) {
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

void AgentPool::call_next() {
  while (opening_ < options_.most_opening && !queue_.empty()) {
    const HostIndex host = queue_.front();
    queue_.pop_front();
    open(host);
  }
}

void AgentPool::open(HostIndex host) {
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

void AgentPool::open_failed(HostIndex host, Error error) {
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

void AgentPool::opened(HostIndex host) {
  Link& link = links_[host];
  if (const int code = net::pending_error(link.fd.get()); code != 0) {
    open_failed(host, from_errno(code, "connect", ""));
    return;
  }
  const net::Endpoint peer = endpoint(host);
  link.state = State::InConversation;
  link.deadline = Clock::now() + options_.handshake;
  link.protocol =
      std::make_unique<AgentProtocol>(options_, host, peer.address.text(),
                                      peer.address.text() + " port " + std::to_string(peer.port));
  link.trouble.reset();
  watch(host, EPOLLIN, EPOLL_CTL_MOD);
  send(host, link.protocol->hello());
}

void AgentPool::watch(HostIndex host, std::uint32_t events, int operation) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = host;
  // Fails only where memory does; then its deadline ends it.
  std::ignore = epoll_ctl(epoll_.get(), operation, links_[host].fd.get(), &event);
}

void AgentPool::receive(HostIndex host) {
  for (int reads = 0; reads < kReadsInTurn && events_.empty(); ++reads) {
    Link& link = links_[host];
    const std::span<std::byte> into = link.protocol->wanted();
    const ssize_t got = recv(link.fd.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (got < 0) {
      end(host, link.protocol->failed(from_errno(errno, "receive", link.protocol->peer())));
      return;
    }
    if (got == 0) {
      end(host, link.protocol->closed());
      return;
    }
    if (!take(host, static_cast<std::size_t>(got))) {
      return;
    }
  }
}

// Whether the connection goes on.
bool AgentPool::take(HostIndex host, std::size_t count) {
  Link& link = links_[host];
  const Stage before = link.protocol->stage();
  std::expected<AgentProtocol::Step, Ending> step = link.protocol->took(count);
  if (!step) {
    end(host, std::move(step.error()));
    return false;
  }
  const Stage after = link.protocol->stage();
  link.answer_by = step->is_whole ? Clock::time_point::max() : link.answer_by;
  if (before != after && after == Stage::Requesting) {
    link.deadline = Clock::now() + options_.getting_ready;
    no_longer_opening(link);
  } else if (before != after && after == Stage::Idle) {
    link.deadline = Clock::time_point::max();
  }
  if (step->event) {
    events_.push_back(std::move(*step->event));
  }
  if (!step->answer.empty()) {
    send(host, std::move(step->answer));
  }
  return links_[host].state == State::InConversation;
}

void AgentPool::send(HostIndex host, std::string bytes) {
  Link& link = links_[host];
  link.outgoing = link.outgoing.empty() ? std::move(bytes) : link.outgoing + bytes;
  flush(host);
}

void AgentPool::flush(HostIndex host) {
  Link& link = links_[host];
  while (!link.outgoing.empty()) {
    const ssize_t sent = ::send(link.fd.get(), link.outgoing.data(), link.outgoing.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    // Any other error shows when the connection is read, after the messages that were sent before.
    if (sent < 0) {
      break;
    }
    link.outgoing.erase(0, static_cast<std::size_t>(sent));
  }
  if (link.outgoing.empty()) {
    link.outgoing = {};
  }
  const bool waits = !link.outgoing.empty();
  if (waits != link.waits_to_send) {
    link.waits_to_send = waits;
    watch(host, waits ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
  }
}

}  // namespace chokepoint::preflight
