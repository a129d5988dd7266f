#include <algorithm>

#include "probe/quic/module/transport.h"

namespace chokepoint::probe::quic::module {
namespace {

constexpr std::uint64_t kRequestBytes = 16;
// Of Protocol::Perf: how many bytes the client wants back, in network order. All ones: bytes until
// the client ends the connection.
constexpr std::size_t kAskBytes = 8;
constexpr std::array<std::uint8_t, kAskBytes> kAskNothing{};
constexpr std::array<std::uint8_t, kAskBytes> kAskEndless{0xff, 0xff, 0xff, 0xff,
                                                          0xff, 0xff, 0xff, 0xff};

// What every stream carries. The library keeps pointers into it until it is acknowledged.
const std::array<std::uint8_t, kPieceBytes>& piece() {
  static const auto bytes = [] {
    std::array<std::uint8_t, kPieceBytes> random{};
    gnutls_rnd(GNUTLS_RND_NONCE, random.data(), random.size());
    return random;
  }();
  return bytes;
}

// Bits of a stream's number: RFC 9000, 2.1.
bool is_unidirectional(std::int64_t id) { return (id & 2) != 0; }
std::size_t number_of(std::int64_t id) { return static_cast<std::size_t>(id >> 2); }

Error cannot_open(int code) {
  return {.kind = ErrorKind::Refused,
          .operation = "quic",
          .subject = "stream",
          .reason = code == NGTCP2_ERR_STREAM_ID_BLOCKED ? "the server grants fewer streams"
                                                         : ngtcp2_strerror(code),
          .next_step = code == NGTCP2_ERR_STREAM_ID_BLOCKED ? "give fewer --streams" : ""};
}

}  // namespace

Streams::Streams(const Tuning& tuning, bool is_server)
    : protocol_(tuning.protocol),
      is_server_(is_server),
      received_(static_cast<std::size_t>(tuning.streams)),
      acknowledged_(static_cast<std::size_t>(tuning.streams)) {}

Stream& Streams::add(ngtcp2_conn* connection, const Stream& stream) {
  Stream& added = *streams_.emplace_back(std::make_unique<Stream>(stream));
  ngtcp2_conn_set_stream_user_data(connection, added.id, &added);
  return added;
}

Result<> Streams::open_unidirectional(ngtcp2_conn* connection, int count) {
  for (int i = 0; i < count; ++i) {
    Stream stream{.index = static_cast<std::size_t>(i), .left = kEndless, .counts = true};
    if (const int code = ngtcp2_conn_open_uni_stream(connection, &stream.id, nullptr); code != 0) {
      return fail(cannot_open(code));
    }
    add(connection, stream);
  }
  return {};
}

Result<> Streams::open_perf(ngtcp2_conn* connection, int count, bool uploads) {
  for (int i = 0; i < count; ++i) {
    Stream stream{.index = static_cast<std::size_t>(i),
                  .header = uploads ? kAskNothing.data() : kAskEndless.data(),
                  .header_left = kAskBytes,
                  .left = uploads ? kEndless : 0,
                  .counts = uploads};
    if (const int code = ngtcp2_conn_open_bidi_stream(connection, &stream.id, nullptr); code != 0) {
      return fail(cannot_open(code));
    }
    add(connection, stream);
  }
  return {};
}

Result<> Streams::open_request(ngtcp2_conn* connection) {
  Stream request{.left = kRequestBytes};
  if (const int code = ngtcp2_conn_open_bidi_stream(connection, &request.id, nullptr); code != 0) {
    return fail(cannot_open(code));
  }
  add(connection, request);
  return {};
}

void Streams::count_arrived(std::size_t index, std::size_t bytes) {
  counts_.received_bytes += bytes;
  if (index < received_.size()) {
    received_[index] += bytes;
  }
}

bool Streams::arrived(ngtcp2_conn* connection, std::uint32_t flags, std::int64_t id,
                      std::span<const std::uint8_t> data, Stream* stream) {
  const bool ended = (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0;
  ngtcp2_conn_extend_max_offset(connection, data.size());
  if (!ended && ngtcp2_conn_extend_max_stream_offset(connection, id, data.size()) != 0) {
    return false;
  }
  if (protocol_ == Protocol::Perf && is_server_) {
    arrived_request(connection, id, data, ended, stream);
    return true;
  }
  if (protocol_ == Protocol::Chokepoint && !is_unidirectional(id)) {
    answered_ = answered_ || !is_server_;
    if (ended && is_server_) {
      add(connection, {.id = id, .left = kRequestBytes});
    }
    return true;
  }
  count_arrived(stream == nullptr ? number_of(id) : stream->index, data.size());
  counts_.received_whole += ended ? 1 : 0;
  return true;
}

Stream& Streams::request_of(ngtcp2_conn* connection, std::int64_t id, Stream* stream) {
  return stream != nullptr
             ? *stream
             : add(connection,
                   {.id = id, .index = number_of(id), .counts = true, .may_send = false});
}

// The answer follows the end of what the client sends, as that of other servers does. A stream that
// ends within its first eight bytes is answered by its end alone.
void Streams::arrived_request(ngtcp2_conn* connection, std::int64_t id,
                              std::span<const std::uint8_t> data, bool ended, Stream* stream) {
  Stream& request = request_of(connection, id, stream);
  while (request.asked_arrived < kAskBytes && !data.empty()) {
    request.asked_bytes = request.asked_bytes << 8U | data.front();
    ++request.asked_arrived;
    data = data.subspan(1);
  }
  count_arrived(request.index, data.size());
  if (ended) {
    ++counts_.received_whole;
    request.may_send = true;
    request.left = request.asked_arrived == kAskBytes ? request.asked_bytes : 0;
  }
}

// A client that takes its request back gets no answer. Without an end of this side, too, the stream
// would stay among those that the client may have at once.
void Streams::was_reset(ngtcp2_conn* connection, std::int64_t id, Stream* stream) {
  if (protocol_ == Protocol::Perf && is_server_) {
    request_of(connection, id, stream).may_send = true;
  }
}

void Streams::acknowledged(Stream* stream, std::uint64_t bytes) {
  if (stream == nullptr || !stream->counts) {
    return;
  }
  const std::uint64_t header = stream->header == nullptr ? 0 : kAskBytes;
  const std::uint64_t before = std::max(stream->acknowledged, header);
  stream->acknowledged += bytes;
  const std::uint64_t data = std::max(stream->acknowledged, header) - before;
  counts_.acknowledged_bytes += data;
  if (stream->index < acknowledged_.size()) {
    acknowledged_[stream->index] += data;
  }
  // Some servers leave a stream open whose answer is empty.
  if (protocol_ == Protocol::Perf && stream->ended && stream->acknowledged == stream->sent) {
    count_whole(*stream);
  }
}

void Streams::count_whole(Stream& stream) {
  counts_.sent_whole += stream.is_counted_whole ? 0 : 1;
  stream.is_counted_whole = true;
}

void Streams::closed(ngtcp2_conn* connection, std::int64_t id, Stream* stream) {
  if (protocol_ == Protocol::Perf && is_server_) {
    ngtcp2_conn_extend_max_streams_bidi(connection, 1);
  }
  if (stream == nullptr) {
    return;
  }
  if (stream->counts) {
    lost_of_closed_ += ngtcp2_conn_get_stream_loss_count(connection, id);
    count_whole(*stream);
  }
  std::erase_if(streams_, [&](const auto& each) { return each.get() == stream; });
}

const StreamCounts& Streams::counts(ngtcp2_conn* connection) const {
  counts_.lost_packets = lost_of_closed_;
  for (const auto& stream : streams_) {
    counts_.lost_packets +=
        stream->counts ? ngtcp2_conn_get_stream_loss_count(connection, stream->id) : 0;
  }
  return counts_;
}

bool Streams::can_send(ngtcp2_conn* connection, const Stream& stream) const {
  if (!wants_to_send(stream)) {
    return false;
  }
  const bool is_at_end = stream.left == 0 || (stream.left == kEndless && finishing_);
  if (is_at_end && stream.header_left == 0) {
    return true;  // its end carries no data, so no window matters
  }
  const bool is_allowed = !stream.counts || counts_.sent_bytes < allowed_bytes_;
  return is_allowed && !stream.blocked && ngtcp2_conn_get_max_data_left(connection) > 0;
}

Streams::Piece Streams::next(ngtcp2_conn* connection) {
  Piece next;
  for (std::size_t i = 0; i < streams_.size() && next.stream == nullptr; ++i) {
    cursor_ = (cursor_ + 1) % streams_.size();
    if (can_send(connection, *streams_[cursor_])) {
      next.stream = streams_[cursor_].get();
    }
  }
  if (next.stream == nullptr) {
    return next;
  }
  Stream& stream = *next.stream;
  const auto add = [&next](const std::uint8_t* bytes, std::size_t count) {
    if (count > 0) {
      next.parts.at(next.part_count++) = {.base = const_cast<std::uint8_t*>(bytes), .len = count};
      next.bytes += count;
    }
  };
  const std::uint64_t left = stream.left == kEndless && finishing_ ? 0 : stream.left;
  add(stream.header, stream.header_left);
  add(piece().data(), std::min<std::uint64_t>(left, kPieceBytes));
  next.with_end = left <= kPieceBytes;
  return next;
}

void Streams::sent(const Piece& piece, std::uint64_t bytes) {
  Stream& stream = *piece.stream;
  stream.ended = piece.with_end && bytes == piece.bytes;
  stream.sent += bytes;
  const std::uint64_t header = std::min<std::uint64_t>(bytes, stream.header_left);
  stream.header += header;
  stream.header_left -= header;
  const std::uint64_t data = bytes - header;
  stream.left -= stream.left == kEndless ? 0 : data;
  counts_.sent_bytes += stream.counts ? data : 0;
}

Wait Streams::why_not(ngtcp2_conn* connection, const Stream* tried) const {
  if (tried != nullptr) {
    return ngtcp2_conn_get_cwnd_left(connection) < kMaxPayload ? Wait::Congestion : Wait::Pacing;
  }
  const auto wants = [this](const auto& stream) { return wants_to_send(*stream); };
  if (std::ranges::none_of(streams_, wants)) {
    return Wait::Idle;
  }
  return counts_.sent_bytes >= allowed_bytes_ ? Wait::Asked : Wait::FlowControl;
}

}  // namespace chokepoint::probe::quic::module
