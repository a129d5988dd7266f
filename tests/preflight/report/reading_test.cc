#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "preflight/report/document.h"
#include "tests/preflight/report/made_cluster.h"
#include "tests/preflight/report/quiet_context.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;
using testing::HasSubstr;

Json document_of(const MadeCluster& cluster) {
  const QuietContext quiet;
  return preflight::document_of(quiet.context, cluster.measured, cluster.judgement);
}

// The error's line, or nothing where it was read.
std::string complaint(const Json& document) {
  const Result<Measured> read = measured_in(document);
  return read ? "" : describe(read.error());
}

Json with(const char* pointer, const Json& value) {
  Json document = document_of(made_cluster_named("full"));
  document[Json::json_pointer(pointer)] = value;
  return document;
}

TEST(Reading, GivesBackAllThatWasMeasured) {
  MadeCluster cluster = made_cluster_named("full");
  const Json document = document_of(cluster);
  const Result<Measured> read = measured_in_text(document.dump(2));
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(document_of({*read, cluster.judgement}), document);
  const PairResult& pair = read->pairs[3];
  const PairResult& wanted = cluster.measured.pairs[3];
  EXPECT_EQ(pair.back.alone_mbps, wanted.back.alone_mbps);
  EXPECT_EQ(pair.back.largest_window_bytes, wanted.back.largest_window_bytes);
  EXPECT_EQ(pair.back.limit, TcpLimit::ReceiveWindow);
  EXPECT_EQ(pair.there.limit, TcpLimit::Unknown);
  EXPECT_EQ(pair.there.packets, 2000U);
  EXPECT_EQ(pair.clock_offset_ms, -3.25F);
  EXPECT_EQ(pair.ipv6, FamilyState::Fails);
  EXPECT_EQ(read->hosts[2].presence, Presence::Lost);
  EXPECT_EQ(read->hosts[2].error->kind, ErrorKind::Timeout);
  EXPECT_EQ(read->hosts[1].names.size(), 8U);
  EXPECT_EQ(read->hosts[1].names[1].addresses, std::vector<std::string>{"127.0.1.1"});
  EXPECT_EQ(read->hosts[3].facts, cluster.measured.hosts[3].facts);
  EXPECT_EQ(read->cuts[0].paths, cluster.measured.cuts[0].paths);
  EXPECT_EQ(read->troubles[0].error.reason, "no answer in 10 s");
  EXPECT_EQ(read->collective->bus_mbps, 8900);
  EXPECT_EQ(read->left_out, cluster.measured.left_out);
  EXPECT_TRUE(read->was_interrupted && read->is_sampled);
  EXPECT_EQ(read->seed, 4711U);
}

TEST(Reading, TakesHostileTextsAsTexts) {
  const MadeCluster cluster = made_cluster_named("hostile");
  const std::string text = document_of(cluster).dump(2, ' ', false, Json::error_handler_t::replace);
  const Result<Measured> read = measured_in_text(text);
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_THAT(read->hosts[0].name, HasSubstr("</script>"));
}

TEST(Reading, WithoutAHostOrAPairIsStillRead) {
  const Result<Measured> read = measured_in(document_of(MadeCluster{}));
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_TRUE(read->hosts.empty() && read->pairs.empty());
}

TEST(Reading, SaysWhatIsNoSuchDocument) {
  EXPECT_THAT(complaint(Json()), HasSubstr("no JSON document, or not whole"));
  EXPECT_THAT(complaint(Json::array()), HasSubstr("no JSON document"));
  EXPECT_THAT(complaint(Json::object()), HasSubstr("names no schema"));
  EXPECT_THAT(complaint({{"schema", "chokepoint.tcp/1"}}),
              HasSubstr("wanted chokepoint.preflight/1, and this is 'chokepoint.tcp/1'"));
  EXPECT_THAT(complaint({{"schema", "chokepoint.preflight/one"}}), HasSubstr("wanted"));
  EXPECT_THAT(complaint({{"schema", 1}}), HasSubstr("--keep FILE"));
}

TEST(Reading, TellsANewerDocumentFromABrokenOne) {
  const Result<Measured> read = measured_in({{"schema", "chokepoint.preflight/2"}});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::Newer);
  EXPECT_THAT(describe(read.error()), HasSubstr("of a newer chokepoint"));
}

TEST(Reading, NoBeginningOfADocumentIsOne) {
  const std::string text = document_of(made_cluster_named("two")).dump();
  for (std::size_t length = 0; length < text.size(); length += 97) {
    EXPECT_FALSE(measured_in_text(std::string_view(text).substr(0, length))) << length;
  }
}

TEST(Reading, NoFieldMayBeOfAnotherType) {
  for (const char* pointer : {"/plan",
                              "/seed",
                              "/sampled",
                              "/interrupted",
                              "/duration_s",
                              "/hosts",
                              "/pairs",
                              "/names",
                              "/troubles",
                              "/cuts",
                              "/collective",
                              "/hosts/0",
                              "/hosts/0/name",
                              "/hosts/0/presence",
                              "/hosts/0/facts",
                              "/hosts/0/doctor",
                              "/hosts/0/doctor/0",
                              "/hosts/0/doctor/0/status",
                              "/hosts/2/error",
                              "/names/0",
                              "/names/0/asked",
                              "/names/0/by",
                              "/names/0/addresses",
                              "/pairs/a",
                              "/pairs/a/0",
                              "/pairs/b",
                              "/pairs/count",
                              "/pairs/rtt_ms",
                              "/pairs/rtt_ms/0",
                              "/pairs/ipv4/0",
                              "/pairs/there",
                              "/pairs/there/tcp_mbps",
                              "/pairs/there/tcp_mbps/0",
                              "/pairs/there/udp_packets/0",
                              "/pairs/back/tcp_limit/0",
                              "/troubles/0",
                              "/troubles/0/a",
                              "/cuts/0",
                              "/cuts/0/left",
                              "/cuts/0/ways",
                              "/cuts/0/ways/0",
                              "/cuts/0/together_mbps",
                              "/collective/ranks"}) {
    const Json wrong =
        std::string_view(pointer).ends_with("name") || std::string_view(pointer) == "/plan"
            ? Json(7)
            : Json("wrong");
    EXPECT_THAT(complaint(with(pointer, wrong)), HasSubstr("read preflight: ")) << pointer;
  }
}

TEST(Reading, NumbersStayWithinBounds) {
  EXPECT_NE(complaint(with("/pairs/a/0", 8)), "");
  EXPECT_NE(complaint(with("/pairs/a/0", -1)), "");
  EXPECT_NE(complaint(with("/pairs/count", 1U << 31U)), "");
  EXPECT_NE(complaint(with("/pairs/there/tcp_mbps/0", -1)), "");
  EXPECT_NE(complaint(with("/pairs/there/tcp_mbps/0", 1e300)), "");
  EXPECT_NE(complaint(with("/pairs/there/udp_packets/0", std::int64_t{1} << 40U)), "");
  EXPECT_NE(complaint(with("/names/0/by/0", 8)), "");
  EXPECT_NE(complaint(with("/cuts/0/left/0", 8)), "");
  EXPECT_NE(complaint(with("/cuts/0/ways/0/1", 8)), "");
  EXPECT_NE(complaint(with("/troubles/0/b", 8)), "");
  EXPECT_EQ(complaint(with("/pairs/clock_offset_ms/0", -1e6)), "");
}

TEST(Reading, PairsStandInOrderEachOnce) {
  EXPECT_THAT(complaint(with("/pairs/b/0", 0)), HasSubstr("in the wrong place, or twice"));
  EXPECT_THAT(complaint(with("/pairs/b/1", 1)), HasSubstr("in the wrong place, or twice"));
  EXPECT_THAT(complaint(with("/pairs/a/1", nullptr)), HasSubstr("'a[1]': wanted a whole number"));
}

TEST(Reading, AListIsAsLongAsThereArePairs) {
  Json document = document_of(made_cluster_named("full"));
  document["pairs"]["there"]["tcp_mbps"].push_back(1);
  EXPECT_THAT(complaint(document), HasSubstr("'tcp_mbps': wanted a list of at most 21"));
}

TEST(Reading, AMissingPartIsNamed) {
  Json document = document_of(made_cluster_named("full"));
  document.erase("pairs");
  EXPECT_THAT(complaint(document), HasSubstr("pairs: is missing"));
}

}  // namespace
}  // namespace chokepoint::preflight
