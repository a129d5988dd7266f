#include "tests/capture/gloo/capture_reading.h"

#include <stdexcept>

#include "capture/packet/decoder.h"
#include "capture/source/file_source.h"

namespace chokepoint::capture::gloo {

namespace {

// Where packets stand in their streams, from their sequence numbers.
class StreamOffsets {
 public:
  StreamPiece piece_of(const packet::Packet& packet) {
    StreamPiece piece;
    piece.ends = packet.ends;
    piece.time_ns = packet.time_ns;
    piece.bytes = packet.payload_bytes;
    piece.captured.assign(packet.payload, packet.payload + packet.captured_payload_bytes);
    piece.offset = offset_of(packet);
    return piece;
  }

 private:
  using Name = std::tuple<std::uint64_t, std::uint16_t, std::uint16_t>;

  std::uint64_t offset_of(const packet::Packet& packet) {
    const Name name(packet.ends.source.words[1], packet.ends.source_port,
                    packet.ends.destination_port);
    if (packet.tcp.has(packet::kSyn)) {
      first_[name] = packet.tcp.sequence + 1;
      return 0;
    }
    return packet.tcp.sequence - first_.try_emplace(name, packet.tcp.sequence).first->second;
  }

  std::map<Name, std::uint32_t> first_;
};

}  // namespace

std::vector<StreamPiece> read_pieces(const std::string& fixture) {
  auto source = source::open_file(std::string(CHOKEPOINT_FIXTURES "/captures/") + fixture);
  if (!source) {
    throw std::runtime_error(describe(source.error()));
  }
  std::vector<StreamPiece> pieces;
  StreamOffsets offsets;
  packet::Decoder decoder;
  packet::Packet packet;
  source::Batch batch;
  for (auto progress = source::Progress::More; progress == source::Progress::More;) {
    const auto read = (*source)->read(batch);
    if (!read) {
      throw std::runtime_error(describe(read.error()));
    }
    progress = *read;
    for (const packet::Frame& frame : batch.frames) {
      decoder.decode(frame, packet);
      StreamPiece piece = offsets.piece_of(packet);
      if (piece.bytes != 0) {
        pieces.push_back(std::move(piece));
      }
    }
  }
  return pieces;
}

}  // namespace chokepoint::capture::gloo
