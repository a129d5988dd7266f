#include <poll.h>

#include <algorithm>

#include "base/control/fields.h"
#include "base/net/socket.h"
#include "probe/udp/exchange.h"
#include "probe/udp/flow_socket.h"
#include "probe/udp/rendezvous.h"

namespace chokepoint::probe::udp {
namespace {

using control::Json;
using control::Message;
using control::Type;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kMeeting{10};
constexpr milliseconds kLook{50};
// A client that lost so many Welcomes has no path.
constexpr int kMostWelcomes = 100;

// One flow that waits for its client.
struct Place {
  sys::Descriptor fd;
  std::uint16_t port = 0;
  Secret secret = control::random_secret();
  Secret proof = control::random_secret();
  bool met = false;
  int welcomes = 0;
};

std::uint64_t random_test() {
  const Secret bytes = control::random_secret();
  std::uint64_t test = 0;
  std::memcpy(&test, bytes.data(), sizeof(test));
  // JSON's numbers are signed on this protocol.
  return test & INT64_MAX;
}

Result<Place> open_place(const control::Session& session, std::int64_t& room_bytes) {
  Place place;
  Result<sys::Descriptor> fd = open_flow(session.local().address, {}, room_bytes);
  if (!fd) {
    return std::unexpected(fd.error());
  }
  TRY(const net::Endpoint local, net::local_endpoint(fd->get()));
  place.fd = std::move(*fd);
  place.port = local.port;
  return place;
}

class Meeting {
 public:
  Meeting(control::Session& session, const Parameters& parameters)
      : session_(session), parameters_(parameters), patience_(session.patience(kMeeting)) {}

  Result<Flows> hold() {
    Result<> done = open();
    done = done ? session_.channel().send({Type::Ready, ready()}, patience_) : done;
    done = done ? await_proofs() : done;
    done = done ? session_.channel().send({Type::Note, Json::object()}, patience_) : done;
    return done ? Result<Flows>(flows()) : std::unexpected(done.error());
  }

 private:
  Result<> open() {
    for (int flow = 0; flow < flows_of(parameters_); ++flow) {
      TRY(Place place, open_place(session_, room_bytes_));
      places_.push_back(std::move(place));
    }
    return {};
  }

  Json ready() const {
    Json flows = Json::array();
    for (const Place& place : places_) {
      flows.push_back({{"port", place.port}, {"secret", control::to_hex(place.secret)}});
    }
    return {{"test", test_}, {"flows", std::move(flows)}};
  }

  // Greets whoever knocks, until the client tells what it was greeted with.
  Result<> await_proofs() {
    while (true) {
      TRY(const std::optional<Message> said, session_.channel().poll());
      if (said) {
        return check_proofs(*said);
      }
      greet_all();
      if (const Result<> waited = wait(); !waited) {
        return waited;
      }
    }
  }

  void greet_all() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      while (const std::optional<Exchanged> hello = receive_exchange(places_[i].fd.get())) {
        greet(places_[i], static_cast<std::uint8_t>(i), *hello);
      }
    }
  }

  void greet(Place& place, std::uint8_t stream, const Exchanged& hello) const {
    const PacketHead& head = hello.head;
    if (head.kind != PacketKind::Hello || head.test != test_ || head.stream != stream ||
        hello.from.address.unmapped() != session_.peer().address.unmapped() ||
        !control::same(*secret_of(hello.packet), place.secret) ||
        ++place.welcomes > kMostWelcomes) {
      return;
    }
    if (!place.met && !bind_flow_to(place.fd.get(), hello.from)) {
      return;
    }
    place.met = true;
    PacketHead welcome = head;
    welcome.kind = PacketKind::Welcome;
    send_exchange(place.fd.get(), secret_packet(welcome, place.proof));
  }

  Result<> wait() const {
    std::vector<pollfd> watched{{session_.channel().descriptor(), POLLIN, 0},
                                {session_.surroundings().stop, POLLIN, 0}};
    for (const Place& place : places_) {
      watched.push_back({place.fd.get(), POLLIN, 0});
    }
    poll(watched.data(), watched.size(), static_cast<int>(kLook.count()));
    if (watched[1].revents != 0) {
      return fail(ErrorKind::Interrupted, "udp", session_.channel().peer(), "the server stops");
    }
    if (patience_.over()) {
      return fail(ErrorKind::Timeout, "udp", session_.channel().peer(),
                  "no UDP came from the client's address", "does a firewall let UDP pass?");
    }
    return {};
  }

  Result<> check_proofs(const Message& message) const {
    const auto proofs = message.body.find("proofs");
    if (message.type != Type::Note || proofs == message.body.end() || !proofs->is_array() ||
        proofs->size() != places_.size()) {
      return fail(ErrorKind::Malformed, "udp", session_.channel().peer(),
                  "it did not prove itself");
    }
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Json& text = (*proofs)[i];
      const auto proof =
          text.is_string() ? control::from_hex(text.get<std::string>()) : std::nullopt;
      if (!places_[i].met || !proof || !control::same(*proof, places_[i].proof)) {
        return fail(ErrorKind::Refused, "udp", session_.channel().peer(),
                    "a wrong proof of its UDP address");
      }
    }
    return {};
  }

  Flows flows() {
    Flows flows{.test = test_, .room_bytes = room_bytes_};
    for (std::size_t i = 0; i < places_.size(); ++i) {
      flows.flows.push_back({.fd = std::move(places_[i].fd),
                             .stream = static_cast<std::uint8_t>(i),
                             .sends = !is_upstream(parameters_, static_cast<int>(i))});
    }
    return flows;
  }

  control::Session& session_;
  const Parameters& parameters_;
  net::Patience patience_;
  std::uint64_t test_ = random_test();
  std::int64_t room_bytes_ = 0;
  std::vector<Place> places_;
};

}  // namespace

Result<Flows> meet_client(control::Session& session, const Parameters& parameters) {
  return Meeting(session, parameters).hold();
}

}  // namespace chokepoint::probe::udp
