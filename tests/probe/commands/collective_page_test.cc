#include "probe/commands/collective_page.h"

#include <gtest/gtest.h>

#include "tests/fakes/golden.h"
#include "tests/fakes/page.h"
#include "tests/fakes/page_rows.h"

namespace chokepoint::probe {
namespace {

// Three sizes, of which the second arrived wrong and the third was not reached.
CollectiveMeasured reduced_sizes() {
  CollectiveMeasured measured{
      .document = {
          .backend = "gloo",
          .collective = "all-reduce",
          .ranks = 2,
          .hosts = 1,
          .data_path = {.library = "libgloo",
                        .transport = "tcp",
                        .interface = "eth0",
                        .family = "ipv4",
                        .channels = 2,
                        .sockets_per_peer = 1},
          .sizes = {{.bytes = 1024,
                     .elements = 256,
                     .time_us = math::Distribution{.min = 90,
                                                   .median = 100,
                                                   .p99 = 150,
                                                   .max = 160,
                                                   .mean = 101,
                                                   .count = 50},
                     .algbw_mbps = 81.92,
                     .busbw_mbps = 81.92,
                     .checked = true},
                    {.bytes = 1 << 20,
                     .elements = 1 << 18,
                     .time_us = math::Distribution{.min = 900,
                                                   .median = 1000,
                                                   .p99 = 1500,
                                                   .max = 1600,
                                                   .mean = 1010,
                                                   .count = 20},
                     .algbw_mbps = 8388.608,
                     .busbw_mbps = 8388.608,
                     .checked = false,
                     .wrong = {{{.rank = 1, .offset_bytes = 60, .wanted = 3, .found = 2}}}},
                    {.bytes = 4 << 20, .elements = 1 << 20}},
          .alpha_us = 99,
          .beta_mbps = 9300,
          .members = {{.rank = 0, .host = "voyager"}, {.rank = 1, .host = "voyager"}},
          .missed = {"bus bandwidth of 8.39 Gb/s"},
          .interrupted = true}};
  measured.advice = {"eth1 is faster."};
  return measured;
}

std::string page_of_collective(const CollectiveMeasured& measured) {
  return fakes::page_of([&](const cli::Context& context) { print_page(context, measured); });
}

TEST(CollectivePage, Picture) {
  EXPECT_GOLDEN("probe_collective", page_of_collective(reduced_sizes()));
}

TEST(CollectivePage, ARunWithoutASizeHasNoTable) {
  CollectiveMeasured measured = reduced_sizes();
  measured.document.sizes.clear();
  EXPECT_FALSE(fakes::row(page_of_collective(measured), "size"));
}

TEST(CollectivePage, ALineIsFittedOnlyWhereBothItsFiguresAreKnown) {
  CollectiveMeasured measured = reduced_sizes();
  measured.document.beta_mbps.reset();
  EXPECT_FALSE(fakes::row(page_of_collective(measured), "fitted:"));
}

TEST(CollectivePage, HostileNamesDoNotMoveTheCursor) {
  CollectiveMeasured measured = reduced_sizes();
  measured.document.data_path.interface = "eth\x1b[2J0";
  measured.advice = {"\x1b[2J"};
  EXPECT_EQ(page_of_collective(measured).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace chokepoint::probe
