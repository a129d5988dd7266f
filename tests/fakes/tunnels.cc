#include "tests/fakes/packets.h"

namespace chokepoint::fakes {

FrameBuilder& FrameBuilder::vxlan(std::uint32_t network) {
  put(0x0800'0000, 4);
  put(std::uint64_t{network} << 8, 4);
  layers_.push_back({});
  return *this;
}

FrameBuilder& FrameBuilder::geneve(const Geneve& fields) {
  const std::size_t begin = here();
  put(fields.options.size() / 4, 1);
  put(0, 1);
  put(0, 2);
  put(std::uint64_t{fields.network} << 8, 4);
  bytes(fields.options);
  layers_.push_back({.next_type_at = begin + 2});
  return *this;
}

FrameBuilder& FrameBuilder::gre(const Gre& fields) {
  const std::size_t begin = here();
  put((fields.checksum ? 0x8000U : 0U) | (fields.key ? 0x2000U : 0U) |
          (fields.sequence ? 0x1000U : 0U),
      2);
  put(fields.type.value_or(0), 2);
  if (fields.checksum) {
    put(std::uint64_t{*fields.checksum} << 16, 4);
  }
  if (fields.key) {
    put(*fields.key, 4);
  }
  if (fields.sequence) {
    put(*fields.sequence, 4);
  }
  layers_.push_back({.protocol = 47, .next_type_at = fields.type ? kNowhere : begin + 2});
  return *this;
}

FrameBuilder& FrameBuilder::bth(const Bth& fields) {
  put(fields.opcode, 1);
  put(fields.pad << 4, 1);
  put(0xffff, 2);
  put((fields.forward_congestion ? 0x80U : 0U) | (fields.backward_congestion ? 0x40U : 0U), 1);
  put(fields.queue_pair, 3);
  put(fields.wants_ack ? 0x80U : 0U, 1);
  put(fields.sequence, 3);
  layers_.push_back({});
  return *this;
}

}  // namespace chokepoint::fakes
