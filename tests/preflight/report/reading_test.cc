#include <gtest/gtest.h>

#include "preflight/report/document.h"
#include "tests/fakes/golden.h"
#include "tests/preflight/report/made_cluster.h"
#include "tests/preflight/report/quiet_context.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;

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
  EXPECT_NE(read->hosts[0].name.find("</script>"), std::string::npos);
}

TEST(Reading, WithoutAHostOrAPairIsStillRead) {
  const Result<Measured> read = measured_in(document_of(MadeCluster{}));
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_TRUE(read->hosts.empty() && read->pairs.empty());
}

TEST(Reading, PictureOfWhatIsNoSuchDocument) {
  Json without_pairs = document_of(made_cluster_named("full"));
  without_pairs.erase("pairs");
  Json longer = document_of(made_cluster_named("full"));
  longer["pairs"]["there"]["tcp_mbps"].push_back(1);
  fakes::Sentences sentences;
  for (const auto& [what, document] :
       {std::pair("nothing", Json()), std::pair("a list", Json::array()),
        std::pair("an object", Json::object()),
        std::pair("another schema", Json{{"schema", "chokepoint.tcp/1"}}),
        std::pair("a version that is no number", Json{{"schema", "chokepoint.preflight/one"}}),
        std::pair("a schema that is no text", Json{{"schema", 1}}),
        std::pair("a newer version", Json{{"schema", "chokepoint.preflight/2"}}),
        std::pair("a pair out of order", with("/pairs/b/0", 0)),
        std::pair("a pair twice", with("/pairs/b/1", 1)),
        std::pair("a pair without its first host", with("/pairs/a/1", nullptr)),
        std::pair("more figures than pairs", longer), std::pair("no pairs", without_pairs)}) {
    sentences.add(what, complaint(document));
  }
  EXPECT_GOLDEN("sentences_kept_preflight", sentences.text());
}

TEST(Reading, TellsANewerDocumentFromABrokenOne) {
  const Result<Measured> read = measured_in({{"schema", "chokepoint.preflight/2"}});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::Newer);
  EXPECT_EQ(measured_in(Json::object()).error().kind, ErrorKind::Malformed);
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
    const Result<Measured> read = measured_in(with(pointer, wrong));
    ASSERT_FALSE(read) << pointer;
    EXPECT_EQ(read.error().operation, "read preflight") << pointer;
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

}  // namespace
}  // namespace chokepoint::preflight
