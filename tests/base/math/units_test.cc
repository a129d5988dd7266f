#include "base/math/units.h"

#include <gtest/gtest.h>

#include <cmath>

namespace chokepoint::math {
namespace {

using namespace std::chrono_literals;

struct Typed {
  std::string_view text;
  double value;
};

TEST(Units, BytesAsPeopleTypeThem) {
  for (const auto& [text, value] :
       {Typed{"4096", 4096}, Typed{"64K", 65536}, Typed{"64k", 65536}, Typed{"64KiB", 65536},
        Typed{"64KB", 64000}, Typed{"1.5MiB", 1572864}, Typed{"2GB", 2e9},
        Typed{"1 GiB", 1073741824}, Typed{"7B", 7}, Typed{"0", 0}}) {
    ASSERT_TRUE(parse_bytes(text)) << text;
    EXPECT_EQ(static_cast<double>(parse_bytes(text)->count), value) << text;
  }
}

TEST(Units, SharesAndPercentages) {
  EXPECT_EQ(parse_share("0.01"), 0.01);
  EXPECT_EQ(parse_share("1%"), 0.01);
  EXPECT_EQ(parse_share("1"), 1);
  EXPECT_EQ(parse_percent("1"), 1);
  EXPECT_EQ(parse_percent("1%"), 1);
  for (const char* text : {"", "%", "1.5", "101%", "-0.1", "a%", "1%%"}) {
    EXPECT_FALSE(parse_share(text)) << text;
  }
  EXPECT_FALSE(parse_percent("-1"));
}

TEST(Units, ShortTimesNeedTheirUnit) {
  EXPECT_EQ(parse_short_duration("20ms"), 20ms);
  EXPECT_EQ(parse_short_duration("5s"), 5s);
  EXPECT_EQ(parse_short_duration("0"), 0s);
  for (const char* text : {"5", "0.5", "", "5x"}) {
    EXPECT_FALSE(parse_short_duration(text)) << text;
  }
}

TEST(Units, RatesAsPeopleTypeThem) {
  for (const auto& [text, value] :
       {Typed{"10G", 1e10}, Typed{"9.4Gb/s", 9.4e9}, Typed{"100Mbit", 1e8}, Typed{"25GB/s", 2e11},
        Typed{"500kbps", 5e5}, Typed{"1GBps", 8e9}, Typed{"1GiB/s", 8589934592.0},
        Typed{"8000", 8000}, Typed{"1 gbit/s", 1e9}, Typed{"8b", 8}, Typed{"8B/s", 64}}) {
    ASSERT_TRUE(parse_rate(text)) << text;
    EXPECT_DOUBLE_EQ(parse_rate(text)->bits_per_second, value) << text;
  }
}

TEST(Units, DurationsAsPeopleTypeThem) {
  EXPECT_EQ(parse_duration("10"), 10s);
  EXPECT_EQ(parse_duration("1.5ms"), 1500us);
  EXPECT_EQ(parse_duration("15 µs"), 15us);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("3m"), 3min);
  EXPECT_EQ(parse_duration("250ns"), 250ns);
}

TEST(Units, CountsGoByThousands) {
  EXPECT_EQ(parse_count("708M"), 708e6);
  EXPECT_EQ(parse_count("1.5B"), 1.5e9);
}

TEST(Units, WhatIsNoQuantityIsAUsageErrorThatShowsHow) {
  for (const std::string_view text :
       {"", "G", "-1", "-0", "ten", "nan", "inf", "1e400", "10X", "10 G B"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
    EXPECT_FALSE(parse_rate(text)) << text;
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  const Error error = parse_rate("10Q").error();
  EXPECT_EQ(error.kind, ErrorKind::Usage);
  EXPECT_EQ(describe(error), "10Q: unknown unit 'Q'; write it like 10G, 100Mb/s or 25GB/s");
}

TEST(Units, WhatDoesNotFitIsRefused) {
  EXPECT_FALSE(parse_bytes("99999999T"));
  EXPECT_FALSE(parse_duration("1e9h"));
  EXPECT_FALSE(parse_rate("1e308T"));
  EXPECT_FALSE(parse_count("1e308T"));
}

TEST(Units, Formats) {
  EXPECT_EQ(format_rate(9.41e9), "9.41 Gb/s");
  EXPECT_EQ(format_rate(0), "0 b/s");
  EXPECT_EQ(format_bytes(1.5e9), "1.50 GB");
  EXPECT_EQ(format_bytes(12), "12 B");
  EXPECT_EQ(format_rate(952.47e6), "952 Mb/s");
  EXPECT_EQ(format_rate(95.247e6), "95.2 Mb/s");
  EXPECT_EQ(format_duration(1500us), "1.50 ms");
  EXPECT_EQ(format_duration(90s), "1.50 min");
}

TEST(Units, ATimeHasTheUnitInWhichItIsOneOrMore) {
  EXPECT_EQ(format_ms(0.0298), "29.8 µs");
  EXPECT_EQ(format_ms(1.5), "1.50 ms");
  EXPECT_EQ(format_ms(-0.25), "-250 µs");
  EXPECT_EQ(format_ms(12'345), "12.3 s");
  EXPECT_EQ(format_ms(0), "0 ms");
  EXPECT_EQ(format_ms(1e300), format_ms(9e12));
  EXPECT_EQ(format_ms(std::nan("")), "0 ns");
}

TEST(Units, ThreeDigitsStayThreeWhereTheyAreRoundedUp) {
  EXPECT_EQ(three_digits(9.996), "10.0");
  EXPECT_EQ(three_digits(99.96), "100");
  EXPECT_EQ(format_ms(0.9996), "1.00 ms");
  EXPECT_EQ(format_ms(0.9994), "999 µs");
  EXPECT_EQ(format_rate(999.6e6), "1.00 Gb/s");
}

TEST(Units, SizesThatAreWholeInPowersOfTwoStayThat) {
  EXPECT_EQ(format_bytes(65536), "64 KiB");
  EXPECT_EQ(format_bytes(512 << 20), "512 MiB");
  EXPECT_EQ(parse_bytes(format_bytes(512 << 20))->count, 512U << 20);
  EXPECT_EQ(format_bytes(1e6), "1.00 MB");
  EXPECT_EQ(format_bytes(1024 * 1000), "1.02 MB");
  EXPECT_EQ(format_bytes(65537), "65.5 KB");
}

TEST(Units, ARateWithoutItsUnitIsRefused) {
  EXPECT_EQ(describe(parse_rate("10").error()), "10: is 10 bit/s; write 10M or 10G");
  EXPECT_EQ(parse_rate("0")->bits_per_second, 0);
  EXPECT_EQ(parse_rate("10000000")->bits_per_second, 1e7);
}

}  // namespace
}  // namespace chokepoint::math
