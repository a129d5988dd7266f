#include "probe/path/udp_prober.h"

#include <gtest/gtest.h>

namespace chokepoint::probe::path {
namespace {

using net::Family;

struct Case {
  Family family;
  std::uint8_t type;
  std::uint8_t code;
  ReplyKind kind;
  std::string_view mark;
};

TEST(IcmpMeaning, OfBothFamilies) {
  for (const Case& icmp : {
           Case{Family::Ipv4, 11, 0, ReplyKind::Expired, ""},
           Case{Family::Ipv4, 3, 0, ReplyKind::Unreachable, "!N"},
           Case{Family::Ipv4, 3, 1, ReplyKind::Unreachable, "!H"},
           Case{Family::Ipv4, 3, 2, ReplyKind::Unreachable, "!P"},
           Case{Family::Ipv4, 3, 3, ReplyKind::Reached, ""},
           Case{Family::Ipv4, 3, 4, ReplyKind::TooBig, "!F"},
           Case{Family::Ipv4, 3, 13, ReplyKind::Unreachable, "!X"},
           Case{Family::Ipv6, 3, 0, ReplyKind::Expired, ""},
           Case{Family::Ipv6, 1, 0, ReplyKind::Unreachable, "!N"},
           Case{Family::Ipv6, 1, 1, ReplyKind::Unreachable, "!X"},
           Case{Family::Ipv6, 1, 3, ReplyKind::Unreachable, "!H"},
           Case{Family::Ipv6, 1, 4, ReplyKind::Reached, ""},
           Case{Family::Ipv6, 2, 0, ReplyKind::TooBig, "!F"},
           Case{Family::Ipv6, 4, 1, ReplyKind::Unreachable, "!P"},
       }) {
    const IcmpMeaning meaning = meaning_of(icmp.family, icmp.type, icmp.code);
    EXPECT_EQ(meaning.kind, icmp.kind) << int{icmp.type} << " " << int{icmp.code};
    EXPECT_EQ(meaning.reason ? name_of(*meaning.reason) : "", icmp.mark)
        << int{icmp.type} << " " << int{icmp.code};
  }
}

TEST(Stamp, TellsProbesFromEchoesAndFromAnythingElse) {
  std::array<std::byte, 32> datagram{};
  EXPECT_FALSE(read_stamp(datagram)) << "zeros";
  for (const StampKind kind : {StampKind::Probe, StampKind::Echo}) {
    write_stamp(datagram, {.kind = kind, .nonce = 7, .sequence = 1234});
    const std::optional<Stamp> stamp = read_stamp(datagram);
    ASSERT_TRUE(stamp);
    EXPECT_EQ(stamp->kind, kind);
    EXPECT_EQ(stamp->nonce, 7U);
    EXPECT_EQ(stamp->sequence, 1234U);
  }
  EXPECT_FALSE(read_stamp(std::span(datagram).first(8))) << "too little was quoted";
}

}  // namespace
}  // namespace chokepoint::probe::path
