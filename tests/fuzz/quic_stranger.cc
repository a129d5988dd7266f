// What strangers send to the port of QUIC's protocol perf: before a connection, to its gate and as
// what opens one; and on a connection, as streams that are written, taken back and no longer wanted
// in any order. Nobody is let in without a token, no answer is larger than its packet, and a server
// counts and sends no more than came and was asked for.
#include <cstdlib>
#include <map>

#include "tests/probe/quic/odd_client.h"

namespace {

using namespace chokepoint::probe::quic;
using Bytes = std::span<const std::byte>;

constexpr std::size_t kMostStreams = 4;
constexpr Tuning kTuning{
    .window_bytes = 1 << 16, .streams = static_cast<int>(kMostStreams), .protocol = Protocol::Perf};
constexpr std::int64_t kNow = 1'000'000'000;

void insist(bool holds) {
  if (!holds) {
    std::abort();
  }
}

const Identity& own_identity() {
  static const std::unique_ptr<Identity> identity = module::make_identity().value();
  return *identity;
}

class Choices {
 public:
  explicit Choices(Bytes bytes) : left_(bytes) {}
  bool is_over() const { return left_.empty(); }
  unsigned next() { return std::to_integer<unsigned>(take(1).front()); }
  // As many as there are; one at least, also where nothing is left.
  Bytes take(std::size_t count) {
    static constexpr std::array<std::byte, 1> kNothing{};
    if (left_.empty()) {
      return kNothing;
    }
    const Bytes taken = left_.first(std::min(std::max<std::size_t>(count, 1), left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  Bytes rest() { return std::exchange(left_, {}); }

 private:
  Bytes left_;
};

// Some bytes are not what the client wrote.
void change(Choices& choices, std::vector<std::byte>& packet) {
  while (!choices.is_over() && !packet.empty()) {
    const std::size_t at = (choices.next() << 8U | choices.next()) % packet.size();
    packet[at] = choices.take(1).front();
  }
}

std::vector<std::byte> packet_of(Connection& connection) {
  std::vector<std::byte> packet(kMaxPayload);
  packet.resize(connection.write(packet, kNow).value().bytes);
  return packet;
}

// The gate, and what an endpoint does with a packet that opens a connection.
void arrive(Gate& gate, const std::vector<std::byte>& packet, bool may_be_let_in) {
  const Ends ends = OddClientAndServer::ends(2, 1);
  std::array<std::byte, kMaxPayload> answer{};
  const Gate::Look look = gate.look(packet, ends.peer, answer, kNow);
  insist(look.answer_bytes == 0 || look.answer_bytes < packet.size());
  insist(may_be_let_in || !look.opening);
  insist(gate.refuse(packet, answer) < std::max<std::size_t>(packet.size(), 1));
  const auto server = module::accept_connection(own_identity(), ends, kTuning, packet,
                                                look.opening ? &*look.opening : nullptr, kNow);
  if (!server) {
    return;
  }
  static_cast<void>((*server)->is_for_another(packet));
  static_cast<void>((*server)->read(packet, 0, kNow));
  static_cast<void>((*server)->close(answer, kNow));
}

void fuzz_raw(Choices& choices) {
  const std::unique_ptr<Gate> gate = module::make_gate().value();
  const bool fills_up = choices.next() % 2 == 0;
  const Bytes bytes = choices.rest();
  std::vector<std::byte> packet(bytes.begin(), bytes.end());
  packet.resize(fills_up ? std::max<std::size_t>(packet.size(), 1200) : packet.size());
  arrive(*gate, packet, false);
}

// A client's packet with some bytes changed, before or after it was told to come again.
void fuzz_changed(Choices& choices) {
  const std::unique_ptr<Gate> gate = module::make_gate().value();
  OddClient client(OddClientAndServer::ends(1, 2), kTuning);
  insist(client.open_as_client({}, kTuning, nullptr, kNow).has_value());
  std::vector<std::byte> packet = packet_of(client);
  const bool comes_again = choices.next() % 2 == 0;
  if (comes_again) {
    std::array<std::byte, kMaxPayload> retry{};
    const Gate::Look look = gate->look(packet, OddClientAndServer::ends(1, 2).local, retry, kNow);
    insist(client.read(Bytes(retry).first(look.answer_bytes), 0, kNow).has_value());
    packet = packet_of(client);
  }
  change(choices, packet);
  arrive(*gate, packet, comes_again);
}

// A connection whose client does what the bytes say.
class FuzzedMeeting {
 public:
  FuzzedMeeting() : meeting_(own_identity(), kTuning) { insist(meeting_.shake_hands()); }

  void run(Choices& choices) {
    while (!choices.is_over() && meeting_.is_well()) {
      act(choices);
    }
    for (int i = 0; i < 4 && meeting_.is_well(); ++i) {
      meeting_.carry();
    }
    const StreamCounts& counts = meeting_.server()->counts();
    insist(counts.received_bytes <= said_bytes_);
    insist(counts.acknowledged_bytes <= counts.sent_bytes);
    insist(counts.sent_bytes <= asked_bytes());
  }

 private:
  struct Request {
    std::uint64_t asks = 0;
    std::size_t digits = 0;
  };

  void act(Choices& choices) {
    const unsigned act = choices.next();
    const std::int64_t stream = stream_of(act / 8);
    switch (act % 8) {
      case 0:
        open();
        break;
      case 1:
      case 2:
        send(stream, choices.take(choices.next()), act % 8 == 2);
        break;
      case 3:
        meeting_.client().take_back(stream);
        break;
      case 4:
        meeting_.client().want_no_more(stream);
        break;
      case 5:
        meeting_.give_server(choices.take(choices.next()));
        break;
      case 6:
        meeting_.pass(std::int64_t{1'000'000} * choices.next());
        break;
      default:
        meeting_.carry();
    }
  }

  void open() {
    if (const auto stream = meeting_.client().open_stream()) {
      streams_.push_back(*stream);
    }
  }

  std::int64_t stream_of(std::size_t index) const {
    return streams_.empty() ? 0 : streams_[index % streams_.size()];
  }

  void send(std::int64_t stream, Bytes data, bool ends) {
    const std::size_t sent = meeting_.send(stream, data, ends);
    said_bytes_ += sent;
    Request& request = requests_[stream];
    for (std::size_t i = 0; i < sent && request.digits < 8; ++i, ++request.digits) {
      request.asks = request.asks << 8U | std::to_integer<std::uint64_t>(data[i]);
    }
  }

  std::uint64_t asked_bytes() const {
    std::uint64_t all = 0;
    for (const auto& [stream, request] : requests_) {
      const std::uint64_t asks = request.digits == 8 ? request.asks : 0;
      all = asks > UINT64_MAX - all ? UINT64_MAX : all + asks;
    }
    return all;
  }

  OddClientAndServer meeting_;
  std::vector<std::int64_t> streams_;
  std::map<std::int64_t, Request> requests_;
  std::uint64_t said_bytes_ = 0;
};

}  // namespace

// The first byte chooses what is fuzzed.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  Choices choices(std::as_bytes(std::span(data, size)));
  switch (choices.next() % 3) {
    case 0:
      fuzz_raw(choices);
      break;
    case 1:
      fuzz_changed(choices);
      break;
    default:
      FuzzedMeeting().run(choices);
  }
  return 0;
}
