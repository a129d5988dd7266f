#include "probe/commands/rpc_page.h"

#include <gtest/gtest.h>

#include "tests/fakes/golden.h"
#include "tests/fakes/page.h"
#include "tests/fakes/page_rows.h"

namespace chokepoint::probe {
namespace {

documents::RpcTimes rpc_times(double median_ms) {
  return {.min = median_ms / 2,
          .median = median_ms,
          .p90 = median_ms * 2,
          .p99 = median_ms * 3,
          .p999 = median_ms * 4,
          .max = median_ms * 5,
          .mean = median_ms,
          .count = 5000};
}

documents::RpcHop hop_between(const std::string& caller, const std::string& worker, double ms) {
  return {.caller = caller,
          .worker = worker,
          .address = "10.0.0.2",
          .calls = 5000,
          .latency_ms = rpc_times(ms),
          .held_ms = rpc_times(ms / 4),
          .network_ms = ms * 3 / 4,
          .own_ms = ms / 4,
          .network_percent = 60,
          .own_percent = 20,
          .requests = {.retransmits = 2, .min_rtt_ms = 0.3},
          .answers = {.retransmits = 1},
          .worker_cpu = {.percent = 30, .busy_percent = 35}};
}

// A chain of two workers; the name of the first has an address of each family.
RpcMeasured chain_of_calls() {
  RpcMeasured measured{
      .parameters = {.request_bytes = 1024,
                     .response_bytes = 4096,
                     .callers = 2,
                     .outstanding = 8,
                     .pause = std::chrono::milliseconds(5)},
      .document = {.peer = {.host = "hubble", .family = net::Family::Ipv4},
                   .duration_s = 10,
                   .calls = 5000,
                   .calls_per_s = 500,
                   .request_mbps = 4.1,
                   .response_mbps = 16.4,
                   .client_cpu = {.percent = 12, .busy_percent = 15},
                   .hops = {hop_between("voyager", "hubble", 4), hop_between("hubble", "webb", 1)},
                   .summary = "the round trip",
                   .other_family = documents::RpcOtherFamily{
                       .address = "fd00::2", .calls_per_s = 900, .latency_ms = rpc_times(2)}}};
  measured.name = path::HostFacts{
      .name = "hubble",
      .in_order = {*net::Address::parse("fd00::2"), *net::Address::parse("10.0.0.2")}};
  measured.document.dual_stack_finding = "a call takes 4.00 ms over IPv4 and 2.00 ms over IPv6";
  return measured;
}

std::string page_of_rpc(const RpcMeasured& measured) {
  return fakes::page_of([&](const cli::Context& context) { print_page(context, measured); });
}

TEST(RpcPage, Picture) { EXPECT_GOLDEN("probe_rpc", page_of_rpc(chain_of_calls())); }

TEST(RpcPage, OfAnAddressOnlyItsOwnFamilyIsShown) {
  RpcMeasured measured = chain_of_calls();
  measured.name.reset();
  EXPECT_EQ(fakes::row(page_of_rpc(measured), "Over"), "IPv4, to 10.0.0.2.");
}

TEST(RpcPage, CallsWithoutAnAnswerHaveNoTimes) {
  RpcMeasured measured = chain_of_calls();
  documents::RpcHop& hop = measured.document.hops.front();
  hop.latency_ms = hop.held_ms = std::nullopt;
  hop.network_percent = hop.own_percent = std::nullopt;
  hop.requests.min_rtt_ms.reset();
  const std::string page = page_of_rpc(measured);
  EXPECT_EQ(fakes::cells(page, "voyager calls hubble"), std::vector<std::string>(6, "-"));
  EXPECT_EQ(fakes::cells(page, "voyager to hubble and back").back(), "-");
  EXPECT_TRUE(fakes::row(page, "Round trip to hubble:")->starts_with("not known"));
}

TEST(RpcPage, HostileNamesDoNotMoveTheCursor) {
  RpcMeasured measured = chain_of_calls();
  measured.document.hops.front().worker = "hub\x1b[2Jble";
  measured.name->name = "hub\x1b[2Jble";
  EXPECT_EQ(page_of_rpc(measured).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace chokepoint::probe
