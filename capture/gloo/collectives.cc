#include "capture/gloo/collectives.h"

#include <algorithm>
#include <utility>

#include "base/record/samples.h"

namespace chokepoint::capture::gloo {
namespace {

bool is_same_slot(const Message& a, const Message& b) {
  return a.kind == b.kind && a.tag == b.tag && a.delta == b.delta;
}

// When so many bytes of it had passed, as if they had come evenly.
std::int64_t moment_in(const Message& whole, std::uint64_t bytes) {
  const auto all = static_cast<double>(std::max<std::uint64_t>(whole.payload_bytes, 1));
  const auto span_ns = static_cast<double>(whole.last_byte_ns - whole.first_byte_ns);
  return whole.first_byte_ns +
         static_cast<std::int64_t>(span_ns * static_cast<double>(bytes) / all);
}

// A missed stretch that ended this long before a collective's first message held nothing of it.
constexpr std::int64_t kMaxHiddenGapNs = 5'000'000;

void note_first(std::int64_t& first_ns, std::int64_t time_ns) {
  first_ns = first_ns == 0 ? time_ns : first_ns;
}

void count_data(DirectionTraffic& traffic, const Message& message, bool is_deduced) {
  ++traffic.buffers;
  traffic.payload_bytes += message.payload_bytes;
  traffic.deduced_bytes += is_deduced ? message.payload_bytes : 0;
  note_first(traffic.first_data_ns, message.first_byte_ns);
  traffic.last_data_ns = std::max(traffic.last_data_ns, message.last_byte_ns);
}

void count(DirectionTraffic& traffic, const Message& message, bool is_deduced) {
  ++traffic.messages;
  if (!is_ready_message(message)) {
    count_data(traffic, message, is_deduced);
  } else if (message.opcode == Opcode::SendReady) {
    ++traffic.announced;
    note_first(traffic.send_ready_ns, message.first_byte_ns);
  } else {
    ++traffic.credits;
    note_first(traffic.receive_ready_ns, message.first_byte_ns);
  }
}

bool is_credit(const Message& message) {
  return is_ready_message(message) && message.opcode == Opcode::ReceiveReady;
}

// Whether a message of a transfer is not there yet.
bool is_missing(const Collective& transfer, const Message& message) {
  const Share& share = transfer.shares.front();
  if (!is_ready_message(message)) {
    return true;
  }
  return is_credit(message) ? (transfer.is_send ? share.received : share.sent).credits == 0
                            : (transfer.is_send ? share.sent : share.received).announced == 0;
}

// A header that was missed leaves the counts uneven for good.
bool is_settled(const DirectionTraffic& traffic, const DirectionTraffic& back) {
  return traffic.buffers >= std::max(traffic.announced, back.credits) || traffic.deduced_bytes != 0;
}

}  // namespace

void ExpectedBuffers::remove(std::size_t place) {
  std::move(waiting_.begin() + static_cast<std::ptrdiff_t>(place) + 1,
            waiting_.begin() + static_cast<std::ptrdiff_t>(size_),
            waiting_.begin() + static_cast<std::ptrdiff_t>(place));
  --size_;
}

// Few collectives run at a time: what a much earlier one still waits for was missed, or never
// comes.
void ExpectedBuffers::forget_before(const Message& message) {
  constexpr std::uint32_t kMaxAtATime = 8;
  for (std::size_t place = 0; place < size_;) {
    const Message& buffer = waiting_[place].buffer;
    const bool is_old = buffer.kind != Kind::PointToPoint && message.kind != Kind::PointToPoint &&
                        buffer.tag + kMaxAtATime < message.tag;
    if (is_old) {
      remove(place);
    } else {
      ++place;
    }
  }
}

namespace {

// Buffers of one slot, all of one size, that a stretch may have contained.
struct SlotChoice {
  explicit SlotChoice(std::uint64_t of_each) : bytes(of_each) {}

  std::uint64_t bytes;  // of each, with its header
  std::vector<std::size_t> places = {};
  std::size_t chosen = 0;
};

// Of all ways to fill the bytes the one with the fewest ready messages; the search is cut off after
// so many steps.
class StretchSearch {
 public:
  explicit StretchSearch(std::vector<SlotChoice>& slots) : slots_(slots) {}

  bool find(std::uint64_t bytes) {
    fill(0, bytes);
    for (std::size_t place = 0; place < best_.size(); ++place) {
      slots_[place].chosen = best_[place];
    }
    return !best_.empty();
  }

 private:
  static constexpr std::uint32_t kMaxSteps = 4'096;
  static constexpr std::uint64_t kMaxReady = 32;

  void fill(std::size_t place, std::uint64_t left) {
    if (++steps_ > kMaxSteps) {
      return;
    }
    if (place == slots_.size()) {
      if (left % kHeaderBytes == 0 && left < least_left_) {
        least_left_ = left;
        best_.clear();
        for (const SlotChoice& slot : slots_) {
          best_.push_back(slot.chosen);
        }
      }
      return;
    }
    SlotChoice& slot = slots_[place];
    for (std::uint64_t count = std::min(slot.places.size(), left / slot.bytes) + 1; count-- > 0;) {
      slot.chosen = count;
      fill(place + 1, left - count * slot.bytes);
    }
  }

  std::vector<SlotChoice>& slots_;
  std::vector<std::size_t> best_;
  std::uint64_t least_left_ = kMaxReady * kHeaderBytes + 1;
  std::uint32_t steps_ = 0;
};

}  // namespace

// A stretch may be reported long after its end.
ExpectedBuffers::Places ExpectedBuffers::possible_in(const Message& missed) const {
  Places places;
  for (std::size_t place = 0; place < size_; ++place) {
    places[place] = waiting_[place].buffer.first_byte_ns <= missed.last_byte_ns;
  }
  return places;
}

ExpectedBuffers::Places ExpectedBuffers::contained_in(const Message& missed) const {
  const Places possible = possible_in(missed);
  std::vector<SlotChoice> slots;
  for (std::size_t place = 0; place < size_; ++place) {
    if (!possible[place]) {
      continue;
    }
    const Message& buffer = waiting_[place].buffer;
    const std::uint64_t bytes = buffer.payload_bytes + kHeaderBytes;
    const auto same = std::ranges::find_if(slots, [&](const SlotChoice& slot) {
      return slot.bytes == bytes && is_same_slot(waiting_[slot.places.front()].buffer, buffer);
    });
    SlotChoice& slot = same == slots.end() ? slots.emplace_back(bytes) : *same;
    slot.places.push_back(place);
  }
  Places contained;
  if (StretchSearch(slots).find(missed.payload_bytes)) {
    for (const SlotChoice& slot : slots) {
      for (std::size_t one = 0; one < slot.chosen; ++one) {
        contained.set(slot.places[one]);
      }
    }
    return contained;
  }
  std::uint64_t left = missed.payload_bytes;
  for (std::size_t place = 0; place < size_; ++place) {
    const std::uint64_t bytes = waiting_[place].buffer.payload_bytes + kHeaderBytes;
    if (possible[place] && bytes <= left) {
      contained.set(place);
      left -= bytes;
    }
  }
  return contained;
}

template <class OnMessage>
void ExpectedBuffers::explain(Message& missed, OnMessage&& on_message) {
  const Message whole = missed;
  const Places contained = contained_in(missed);
  const std::size_t size = size_;
  std::size_t removed = 0;
  for (std::size_t place = 0; place < size; ++place) {
    if (!contained[place]) {
      continue;
    }
    Message deduced = waiting_[place - removed].buffer;
    remove(place - removed++);
    missed.first_byte_ns = std::max(missed.first_byte_ns, deduced.first_byte_ns);
    deduced.first_byte_ns = missed.first_byte_ns;
    missed.payload_bytes -= deduced.payload_bytes + kHeaderBytes;
    deduced.last_byte_ns = std::max(deduced.first_byte_ns,
                                    moment_in(whole, whole.payload_bytes - missed.payload_bytes));
    missed.first_byte_ns = deduced.last_byte_ns;
    deduced_.at(next_deduced_++ % kMaxDeduced) = deduced;
    on_message(deduced);
  }
}

void ExpectedBuffers::announce(const Message& ready) {
  const bool is_announcement = ready.opcode == Opcode::SendReady;
  for (std::size_t place = 0; place < size_; ++place) {
    Waiting& waiting = waiting_[place];
    std::int64_t& came_ns = is_announcement ? waiting.announced_ns : waiting.credited_ns;
    if (came_ns == 0 && is_same_slot(waiting.buffer, ready)) {
      came_ns = ready.first_byte_ns;
      waiting.buffer.first_byte_ns = ready.first_byte_ns;
      return;
    }
  }
  forget_before(ready);
  if (size_ == kMaxBuffers) {
    remove(0);
  }
  Waiting& waiting = waiting_[size_++];
  waiting.buffer = ready;
  waiting.buffer.opcode = Opcode::UnboundBuffer;
  waiting.buffer.payload_bytes = ready.announced_bytes;
  waiting.buffer.announced_bytes = 0;
  waiting.buffer.is_whole = false;
  waiting.announced_ns = is_announcement ? ready.first_byte_ns : 0;
  waiting.credited_ns = is_announcement ? 0 : ready.first_byte_ns;
}

std::optional<Message> ExpectedBuffers::take_deduced(const Message& slot) {
  const auto found = std::ranges::find_if(
      deduced_, [&](const Message& deduced) { return is_same_slot(deduced, slot); });
  return found == deduced_.end() ? std::nullopt : std::optional(std::exchange(*found, Message{}));
}

// What was expected at that time, of the size that comes nearest.
std::optional<Message> ExpectedBuffers::take_similar(const Message& deduced) {
  const auto difference = [&](const Waiting& waiting) {
    const std::uint64_t bytes = waiting.buffer.payload_bytes;
    return std::max(bytes, deduced.payload_bytes) - std::min(bytes, deduced.payload_bytes);
  };
  std::optional<std::size_t> nearest;
  for (std::size_t place = 0; place < size_; ++place) {
    if (waiting_[place].buffer.first_byte_ns <= deduced.last_byte_ns &&
        (!nearest || difference(waiting_[place]) < difference(waiting_[*nearest]))) {
      nearest = place;
    }
  }
  if (!nearest) {
    return std::nullopt;
  }
  const Message similar = waiting_[*nearest].buffer;
  remove(*nearest);
  return similar;
}

template <class OnMessage>
void ExpectedBuffers::arrived(const Message& buffer, OnMessage&& on_message) {
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(size_);
  const auto own = std::find_if(waiting_.begin(), end, [&](const Waiting& waiting) {
    return is_same_slot(waiting.buffer, buffer);
  });
  if (own == end) {
    const std::optional<Message> deduced = take_deduced(buffer);
    if (std::optional<Message> other = deduced ? take_similar(*deduced) : std::nullopt) {
      other->first_byte_ns = deduced->first_byte_ns;
      other->last_byte_ns = deduced->last_byte_ns;
      on_message(*other);
    }
    return;
  }
  const Waiting come = *own;
  remove(static_cast<std::size_t>(own - waiting_.begin()));
  for (std::size_t place = 0; come.is_sendable() && place < size_;) {
    const Waiting& waiting = waiting_[place];
    if (waiting.is_sendable() && waiting.announced_ns < come.announced_ns &&
        waiting.credited_ns < come.credited_ns) {
      Message unseen = waiting.buffer;
      unseen.last_byte_ns = 0;
      remove(place);
      on_message(unseen);
    } else {
      ++place;
    }
  }
}

std::uint64_t Collective::sent_bytes() const {
  std::uint64_t bytes = 0;
  for (const Share& share : shares) {
    bytes += share.sent.payload_bytes;
  }
  return bytes;
}

std::uint64_t Collective::received_bytes() const {
  std::uint64_t bytes = 0;
  for (const Share& share : shares) {
    bytes += share.received.payload_bytes;
  }
  return bytes;
}

bool is_settled(const Collective& collective) {
  return std::ranges::all_of(collective.shares, [](const Share& share) {
    return is_settled(share.sent, share.received) && is_settled(share.received, share.sent);
  });
}

record::CollectiveKind kind_in_record(Kind kind, bool is_sent) {
  switch (kind) {
    case Kind::Gather:
      return record::CollectiveKind::Gather;
    case Kind::AllGather:
      return record::CollectiveKind::AllGather;
    case Kind::Reduce:
      return record::CollectiveKind::Reduce;
    case Kind::AllReduce:
      return record::CollectiveKind::AllReduce;
    case Kind::Scatter:
      return record::CollectiveKind::Scatter;
    case Kind::Broadcast:
      return record::CollectiveKind::Broadcast;
    case Kind::Barrier:
      return record::CollectiveKind::Barrier;
    case Kind::AllToAll:
      return record::CollectiveKind::AllToAll;
    case Kind::PointToPoint:
      return is_sent ? record::CollectiveKind::Send : record::CollectiveKind::Receive;
    case Kind::Unknown:
      break;
  }
  return record::CollectiveKind::Unknown;
}

Collectives::Collectives(OnCollective on_collective, const CollectiveLimits& limits)
    : on_collective_(std::move(on_collective)), limits_(limits) {}

std::uint32_t Collectives::free_group(const packet::Address& peer) const {
  std::uint32_t group = 0;
  const auto is_taken = [&](const Connection& each) {
    return each.is_used && each.group == group && each.peer == peer;
  };
  while (std::ranges::any_of(connections_, is_taken)) {
    ++group;
  }
  return group;
}

std::uint32_t Collectives::connect(const packet::Ends& ends) {
  const std::uint32_t group = free_group(ends.destination);
  const std::uint32_t number = add_connection(ends.destination);
  if (number != kNoConnection) {
    connections_[number].group = group;
  }
  return number;
}

std::uint32_t Collectives::connect_alone(const packet::Ends& ends) {
  const std::uint32_t number = add_connection(ends.destination);
  if (number != kNoConnection) {
    connections_[number].group = number;
  }
  return number;
}

std::uint32_t Collectives::add_connection(const packet::Address& peer) {
  auto place = std::ranges::find(connections_, false, &Connection::is_used);
  if (place == connections_.end()) {
    if (connections_.size() == limits_.connections) {
      return kNoConnection;
    }
    place = connections_.insert(place, Connection{});
  }
  Connection made;
  made.peer = peer;
  made.is_used = true;
  *place = made;
  return static_cast<std::uint32_t>(place - connections_.begin());
}

void Collectives::disconnect(std::uint32_t connection) {
  if (connection < connections_.size()) {
    connections_[connection].is_used = false;
  }
}

void Collectives::take(std::uint32_t connection, bool is_sent, const Message& message) {
  if (connection >= connections_.size() || !connections_[connection].is_used) {
    return;
  }
  if (message.kind == Kind::Unknown) {
    take_missed(connection, is_sent, message);
    return;
  }
  auto& streams = connections_[connection].streams;
  streams[is_sent].latest = message;
  if (!is_ready_message(message)) {
    Stream& stream = streams[is_sent];
    stream.expected.arrived(message, [&](Message unseen) {
      if (unseen.last_byte_ns == 0) {
        unseen.last_byte_ns = std::clamp(stream.missed_by_ns, unseen.first_byte_ns,
                                         std::max(unseen.first_byte_ns, message.first_byte_ns));
      }
      add(connection, is_sent, unseen, true);
    });
  } else if (message.opcode == Opcode::SendReady) {
    streams[is_sent].expected.announce(message);
  } else {
    streams[!is_sent].expected.announce(message);
  }
  add(connection, is_sent, message, false);
}

void Collectives::take_missed(std::uint32_t connection, bool is_sent, Message missed) {
  Stream& stream = connections_[connection].streams[is_sent];
  stream.missed_by_ns = missed.last_byte_ns;
  const Message whole = missed;
  stream.expected.explain(missed,
                          [&](const Message& deduced) { add(connection, is_sent, deduced, true); });
  const bool is_ready_only =
      missed.payload_bytes < kHeaderBytes ||
      (missed.payload_bytes <= kMaxReadyBytes && missed.payload_bytes % kHeaderBytes == 0);
  if (is_ready_only || stream.latest.kind == Kind::Unknown) {
    return;
  }
  // Of what was under way when the first header was missed.
  Message rest = stream.latest;
  rest.opcode = Opcode::UnboundBuffer;
  rest.payload_bytes = missed.payload_bytes - kHeaderBytes;
  rest.first_byte_ns = whole.first_byte_ns;
  rest.last_byte_ns = moment_in(whole, missed.payload_bytes);
  add(connection, is_sent, rest, true);
}

void Collectives::add(std::uint32_t connection, bool is_sent, const Message& message,
                      bool is_deduced) {
  Collective& of = message.kind == Kind::PointToPoint
                       ? find_transfer(connection, is_sent, message)
                       : find(connections_[connection].group, message);
  note_pause(of, message);
  of.start_ns = std::min(of.start_ns, message.first_byte_ns);
  of.end_ns = std::max(of.end_ns, message.last_byte_ns);
  if (Share* share = share_of(of, connection)) {
    DirectionTraffic& traffic = is_sent ? share->sent : share->received;
    if (traffic.messages == 0) {
      const std::int64_t missed_by_ns = connections_[connection].streams[is_sent].missed_by_ns;
      traffic.hidden_by_ns = missed_by_ns + kMaxHiddenGapNs >= of.start_ns ? missed_by_ns : 0;
    }
    count(traffic, message, is_deduced);
  }
  if (of.kind == Kind::PointToPoint && !is_ready_message(message)) {
    close(static_cast<std::size_t>(&of - open_.data()));
  }
}

Collective& Collectives::find(std::uint32_t group, const Message& message) {
  const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](const Collective& each) {
    return each.number == message.tag && each.kind == message.kind && each.group == group;
  });
  return found == open_.rend() ? opened(group, message) : *found;
}

Collective& Collectives::find_transfer(std::uint32_t connection, bool is_sent,
                                       const Message& message) {
  const bool is_send = is_sent != is_credit(message);
  const auto found = std::ranges::find_if(open_, [&](const Collective& each) {
    return each.kind == Kind::PointToPoint && each.number == message.tag &&
           each.is_send == is_send && each.shares.front().connection == connection &&
           is_missing(each, message);
  });
  if (found != open_.end()) {
    return *found;
  }
  Collective& transfer = opened(connections_[connection].group, message);
  transfer.is_send = is_send;
  transfer.shares.push_back({.connection = connection});
  return transfer;
}

Collective& Collectives::opened(std::uint32_t group, const Message& message) {
  if (open_.size() >= limits_.open) {
    make_room();
  }
  open_.push_back({.group = group,
                   .kind = message.kind,
                   .number = message.tag,
                   .start_ns = message.first_byte_ns,
                   .end_ns = message.first_byte_ns});
  return open_.back();
}

Share* Collectives::share_of(Collective& collective, std::uint32_t connection) const {
  const auto found = std::ranges::find(collective.shares, connection, &Share::connection);
  if (found != collective.shares.end()) {
    return &*found;
  }
  if (collective.shares.size() >= limits_.shares) {
    return nullptr;
  }
  Share share;
  share.connection = connection;
  collective.shares.push_back(share);
  return &collective.shares.back();
}

void Collectives::make_room() {
  const auto oldest = std::ranges::min_element(open_, {}, &Collective::end_ns);
  ++evicted_;
  close(static_cast<std::size_t>(oldest - open_.begin()));
}

void Collectives::close(std::size_t place) {
  const Collective over = std::move(open_[place]);
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(place));
  on_collective_(over);
}

void Collectives::note_pause(const Collective& collective, const Message& message) {
  constexpr std::int64_t kMinPauseNs = 10'000'000;
  const std::int64_t pause_ns = message.first_byte_ns - collective.end_ns;
  if (pause_ns > std::max(kMinPauseNs, longest_pause_ns_) && is_settled(collective)) {
    longest_pause_ns_ = pause_ns;
  }
}

std::ptrdiff_t Collectives::begun_since(const Collective& collective) const {
  return std::ranges::count_if(open_, [&](const Collective& other) {
    return other.group == collective.group && other.start_ns > collective.end_ns;
  });
}

std::int64_t Collectives::quiet_before_end_ns(const Collective& collective) const {
  constexpr std::int64_t kQuietPauses = 4;
  constexpr std::ptrdiff_t kMinBehind = 3;  // than PyTorch has under way at once
  constexpr std::int64_t kMinQuietNs = 20'000'000;
  if (!is_settled(collective)) {
    return limits_.abandoned_ns;
  }
  const std::ptrdiff_t later = begun_since(collective);
  const std::int64_t least_ns = std::min(limits_.min_quiet_ns, limits_.quiet_ns);
  if (later >= kMinBehind) {
    return std::min(kMinQuietNs, least_ns);
  }
  return later > 0 ? std::clamp(kQuietPauses * longest_pause_ns_, least_ns, limits_.quiet_ns)
                   : limits_.quiet_ns;
}

void Collectives::report_waiting(std::int64_t now_ns, const OnCollective& on_collective) {
  for (Collective& each : open_) {
    if (now_ns - each.end_ns >= limits_.waiting_ns && each.reported_ns != each.end_ns &&
        !is_settled(each)) {
      each.reported_ns = each.end_ns;
      on_collective(each);
    }
  }
}

void Collectives::settle(std::int64_t now_ns, bool all) {
  for (std::size_t place = 0; place < open_.size();) {
    const Collective& each = open_[place];
    if (all || now_ns - each.end_ns >= quiet_before_end_ns(each)) {
      close(place);
    } else {
      ++place;
    }
  }
}

}  // namespace chokepoint::capture::gloo
