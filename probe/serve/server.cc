#include "probe/serve/server.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/net/socket.h"
#include "probe/serve/conversation.h"

namespace chokepoint::probe::serve {
namespace {

constexpr std::chrono::seconds kAdmission{5};

}  // namespace

Server::Server(ServerOptions options, control::Surroundings surroundings,
               const control::Services& services, Log log)
    : options_(std::move(options)),
      surroundings_(std::move(surroundings)),
      services_(services),
      log_(std::move(log)),
      turnstile_(options_.exclusive) {}

Server::~Server() { join_all(); }

Result<> Server::run(std::vector<sys::Descriptor> listeners) {
  Result<control::Door> door =
      control::Door::open(std::move(listeners), {.own = options_.own, .key = options_.key}, *this);
  const Result<> ran = door ? door->run(surroundings_.stop) : std::unexpected(door.error());
  join_all();
  return ran;
}

Result<> Server::enter(sys::Descriptor& fd, control::ServerHandshake& handshake) {
  tidy();
  if (guests_.size() >= options_.most_clients) {
    return fail(ErrorKind::Busy, "enter", "",
                fmt::format("the server has its {} clients", options_.most_clients),
                "try again later, or start it with a larger --max-clients");
  }
  TRY(const net::Endpoint peer, net::peer_endpoint(fd.get()));
  const std::string id = control::random_id();
  const control::Message admitted =
      handshake.admit(id, peer.address.unmapped().text(), surroundings_.limits);
  TRY(std::unique_ptr<control::Session> session,
      control::Session::make(std::move(fd), id, handshake, surroundings_));
  Guest& guest = guests_.emplace_back();
  guest.session = std::move(session);
  guest.thread = std::thread([this, &guest, admitted] {
    if (guest.session->channel().send(admitted, guest.session->patience(kAdmission))) {
      converse(*guest.session, services_, turnstile_, log_);
    }
    guest.done = true;
  });
  return {};
}

void Server::attach(const control::Attachment& attachment, sys::Descriptor fd) {
  const auto guest = std::ranges::find_if(
      guests_, [&](const Guest& each) { return each.session->id() == attachment.session; });
  if (guest != guests_.end() && control::proves(attachment, guest->session->secret())) {
    guest->session->arrived(attachment.index, std::move(fd));
  }
}

void Server::tidy() {
  guests_.remove_if([](Guest& guest) {
    if (!guest.done) {
      return false;
    }
    guest.thread.join();
    return true;
  });
}

void Server::join_all() {
  for (Guest& guest : guests_) {
    guest.thread.join();
  }
  guests_.clear();
}

}  // namespace chokepoint::probe::serve
