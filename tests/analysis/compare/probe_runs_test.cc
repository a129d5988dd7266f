// Documents of probes side by side: what makes a row of them, their figures, and the facts about
// their hosts.
#include "analysis/compare/probe_runs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/compare/compare.h"
#include "base/documents/trials.h"
#include "base/json/codec.h"

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string document(double mbps, const char* congestion = "cubic", const char* sysctl = "cubic") {
  return fmt::format(
      R"({{"schema":"chokepoint.probe.tcp/1","host":"a","peer":{{"name":"b"}},"direction":"send",
          "streams":1,"congestion_control":"{}","throughput_mbps":{},"rtt_ms":{{"median":2}},
          "host_facts":{{"own":{{"sysctl":{{"net.ipv4.tcp_congestion_control":"{}"}}}},"peer":null}}}})",
      congestion, mbps, sysctl);
}

ComparedRun run_of_document(const std::string& text, const std::string& file,
                            const std::string& folder) {
  ComparedRun run = runs_of_document(text, file).value().at(0);
  run.folder = folder;
  return run;
}

std::vector<std::string> names_of_rows(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const Group& group : comparison.groups) {
    names.push_back(group.name);
  }
  return names;
}

TEST(ProbesSideBySide, DocumentsThatAskedForTheSameAreRepetitions) {
  std::vector<ComparedRun> runs;
  for (const double mbps : {900.0, 905.0, 902.0}) {
    runs.push_back(run_of_document(document(mbps), fmt::format("c{}.json", mbps), "here"));
    runs.push_back(
        run_of_document(document(mbps * 0.5, "bbr"), fmt::format("b{}.json", mbps), "here"));
  }
  const Comparison comparison = compare(std::move(runs), {}).value();
  EXPECT_TRUE(comparison.is_of_probes);
  EXPECT_THAT(comparison.keys, ElementsAre("congestion_control"));
  EXPECT_THAT(names_of_rows(comparison), ElementsAre("bbr", "cubic"));
  EXPECT_STREQ(traits_of(comparison.metric).key, "throughput_mbps");
  const Difference& difference = *comparison.groups.at(1).difference;
  EXPECT_TRUE(difference.is_beyond_noise);
  EXPECT_EQ(difference.is_worse, false);
  EXPECT_THAT(difference.facts, IsEmpty());
}

TEST(ProbesSideBySide, BeforeAndAfterNamesWhatTheHostsDifferIn) {
  const Comparison comparison =
      compare({run_of_document(document(900), "before.json", "before.json"),
               run_of_document(document(500, "cubic", "bbr"), "after.json", "after.json")},
              {})
          .value();
  EXPECT_THAT(names_of_rows(comparison), ElementsAre("before.json", "after.json"));
  const Difference& difference = *comparison.groups.at(1).difference;
  EXPECT_FALSE(difference.test);
  EXPECT_THAT(difference.why_no_test, HasSubstr("one document each"));
  ASSERT_THAT(difference.facts, SizeIs(1));
  EXPECT_EQ(text_of(difference.facts[0]),
            "a: sysctl net.ipv4.tcp_congestion_control bbr instead of cubic");
}

TEST(ProbesSideBySide, FilesAreToldApartByFactsWhereNothingElseDoes) {
  std::vector<ComparedRun> runs;
  for (const int number : {1, 2, 3}) {
    const std::string one = fmt::format("{}.json", number);
    const std::string other = fmt::format("{}.json", number + 3);
    runs.push_back(run_of_document(document(900 + number, "cubic", "reno"), one, one));
    runs.push_back(run_of_document(document(910 + number, "cubic", "bbr"), other, other));
  }
  const Comparison comparison = compare(std::move(runs), {}).value();
  EXPECT_THAT(comparison.keys, ElementsAre("facts"));
  EXPECT_THAT(names_of_rows(comparison), ElementsAre("net.ipv4.tcp_congestion_control=reno",
                                                     "net.ipv4.tcp_congestion_control=bbr"))
      << "in the order in which they were given";
  EXPECT_THAT(comparison.groups.at(0).runs, SizeIs(3));
}

using TrialValues = std::vector<std::optional<double>>;

documents::TrialsVariant variant_of(const char* name, const TrialValues& mbps) {
  return {.name = name,
          .figures = {{.name = "throughput", .field = "/throughput_mbps", .values = mbps}}};
}

Result<std::vector<ComparedRun>> runs_of_trials(std::vector<documents::TrialsVariant> variants,
                                                const std::string& file) {
  chokepoint::json::Json document = {{"schema", Fields<documents::Trials>::kSchema}, {"host", "a"}};
  document.update(chokepoint::json::to_json(
      documents::Trials{.command = "probe tcp b", .variants = std::move(variants)}));
  return runs_of_document(document.dump(), file);
}

TEST(ProbesSideBySide, TrialsAreARunEach) {
  documents::TrialsVariant cubic = variant_of("cubic", {1, 2, std::nullopt});
  cubic.figures.push_back({.name = "unheard of", .field = "/x", .values = {1, 2, 3, 4}});
  const auto runs = runs_of_trials({cubic, variant_of("bbr", {3})}, "t.json");
  ASSERT_TRUE(runs);
  ASSERT_THAT(*runs, SizeIs(4));
  const Figure throughput = figure_of("throughput_mbps").value();
  EXPECT_EQ((*runs)[1][throughput]->value, 2);
  EXPECT_FALSE((*runs)[2][throughput]);
  EXPECT_EQ((*runs)[3].labels.at("variant"), "bbr");
  EXPECT_EQ((*runs)[3].labels.at("test"), "probe tcp b");
}

// The order of folders says nothing of that of variants.
TEST(ProbesSideBySide, VariantsKeepTheirOrderInAFolderWithTheNameOfOne) {
  auto runs = runs_of_trials({variant_of("cubic", {1, 2}), variant_of("bbr", {3, 4})}, "bbr");
  ASSERT_TRUE(runs);
  EXPECT_THAT(names_of_rows(compare(*std::move(runs), {}).value()), ElementsAre("cubic", "bbr"));
}

TEST(ProbesSideBySide, EveryHostOfACollectiveIsHeldAgainstItself) {
  const auto of_collective = [](const char* file, const char* governor) {
    return run_of_document(
        fmt::format(
            R"({{"schema":"chokepoint.collective/1","host":"a","alpha_us":7,"host_facts":{{
                "own":{{"cpu":{{"governor":"performance"}}}},"peer":null,"peers":{{
                "b":{{"cpu":{{"governor":"performance"}}}},
                "c":{{"cpu":{{"governor":"{}"}}}}}}}}}})",
            governor),
        file, file);
  };
  const Comparison comparison = compare({of_collective("before.json", "performance"),
                                         of_collective("after.json", "powersave")},
                                        {})
                                    .value();
  ASSERT_THAT(comparison.groups.at(1).difference->facts, SizeIs(1));
  EXPECT_EQ(text_of(comparison.groups[1].difference->facts[0]),
            "c: cpu governor powersave instead of performance");
}

TEST(ProbesSideBySide, TrialsAreBoundedAndShareTheirHosts) {
  documents::TrialsVariant variant = variant_of("x", TrialValues(70'000, 1.0));
  variant.host_facts = {.own = {{"sysctl", {{"a", "1"}}}}};
  const auto runs = runs_of_trials({variant, variant}, "t.json");
  ASSERT_TRUE(runs);
  EXPECT_THAT(*runs, SizeIs(100'000));
  ASSERT_THAT(runs->at(1).hosts, SizeIs(1));
  EXPECT_EQ(runs->at(0).hosts[0].settings, runs->at(69'999).hosts[0].settings);
}

TEST(ProbesSideBySide, WhatIsNoProbesDocumentIsAnErrorInOneLine) {
  const auto reason = [](const char* text) {
    const auto runs = runs_of_document(text, "x.json");
    return runs ? std::string() : describe(runs.error());
  };
  EXPECT_THAT(reason(""), HasSubstr("x.json: it is no JSON object"));
  EXPECT_THAT(reason("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(reason("{}"), HasSubstr("names no schema"));
  EXPECT_THAT(reason(R"({"schema":"chokepoint.doctor/1"})"), HasSubstr("no probe's"));
  EXPECT_THAT(reason(R"({"schema":"chokepoint.trials/1"})"), HasSubstr("'command'"));
  EXPECT_THAT(describe(runs_of_trials({variant_of("x", {})}, "x.json").error()),
              HasSubstr("no trial"));
  EXPECT_THAT(reason(R"({"schema":7})"), HasSubstr("'schema'"));
  EXPECT_THAT(reason(R"({"schema":"chokepoint.probe.tcp/1","host":{}})"), HasSubstr("'host'"));
  EXPECT_THAT(reason(R"({"schema":"chokepoint.probe.tcp/1","host_facts":{"own":{"a":1}}})"),
              HasSubstr("'host_facts.own"));
}

TEST(ProbesSideBySide, FiguresThatAreNoNumbersAreNotThere) {
  const auto runs = runs_of_document(
      R"({"schema":"chokepoint.probe.tcp/1","direction":[1],"streams":{},
          "throughput_mbps":"fast","rtt_ms":{"median":[]}})",
      "x.json");
  ASSERT_TRUE(runs);
  EXPECT_FALSE(runs->at(0)[*figure_of("throughput_mbps")]);
  EXPECT_FALSE(runs->at(0).labels.contains("streams"));
}

ComparedRun of_host(const std::string& host, host::Settings settings) {
  ComparedRun run;
  run.hosts.push_back(
      {.host = host, .settings = std::make_shared<const host::Settings>(std::move(settings))});
  return run;
}

std::vector<std::string> changes(const ComparedRun& before, const ComparedRun& after) {
  std::vector<std::string> texts;
  for (const FactChange& change : changes_between({&before}, {&after})) {
    texts.push_back(text_of(change));
  }
  return texts;
}

TEST(HostFactsThatDiffer, HostsThatChangeAlikeAreNamedTogether) {
  ComparedRun before = of_host("a", {{"nic eth0", {{"mtu", "1500"}}}});
  ComparedRun after = of_host("a", {{"nic eth0", {{"mtu", "9000"}}}});
  before.hosts.push_back({.host = "b", .settings = before.hosts[0].settings});
  after.hosts.push_back({.host = "b", .settings = after.hosts[0].settings});
  EXPECT_THAT(changes(before, after), ElementsAre("a, b: nic eth0 mtu 9000 instead of 1500"));
}

TEST(HostFactsThatDiffer, ADeviceMayComeOrGo) {
  EXPECT_THAT(changes(of_host("a", {{"nic eth0", {{"mtu", "1500"}}}, {"cpu", {{"cores", "4"}}}}),
                      of_host("a", {{"nic eth1", {{"mtu", "1500"}}}, {"cpu", {{"cores", "4"}}}})),
              ElementsAre("a: nic eth0 is gone", "a: nic eth1 is new"));
  EXPECT_THAT(changes(of_host("a", {{"cpu", {{"cores", "4"}}}}),
                      of_host("a", {{"cpu", {{"cores", "4"}}}, {"memory", {{"huge_pages", "0"}}}})),
              IsEmpty())
      << "what was not asked for did not change";
}

// A probe's record has GPUs, what it only printed has none.
TEST(HostFactsThatDiffer, GpusAreMissedOnlyWhereGpusWereAskedFor) {
  const auto with = [](host::Settings more) {
    more["cpu"] = {{"cores", "4"}};
    return of_host("a", std::move(more));
  };
  const host::Settings::mapped_type name{{"name", "A100"}};
  EXPECT_THAT(changes(with({{"gpu", {{"driver_version", "550"}}}, {"gpu 0", name}}), with({})),
              IsEmpty());
  EXPECT_THAT(changes(with({{"gpu 0", name}, {"gpu 1", name}}), with({{"gpu 0", name}})),
              ElementsAre("a: gpu 1 is gone"));
  EXPECT_THAT(changes(with({{"gpu", {{"driver_version", "550"}}}}),
                      with({{"gpu", {{"driver_version", "550"}}}, {"gpu 0", name}})),
              ElementsAre("a: gpu 0 is new"));
}

TEST(HostFactsThatDiffer, WhatOneSideDidNotReadIsNoDifference) {
  EXPECT_THAT(changes(of_host("a", {{"nic eth0", {{"mtu", "1500"}, {"firmware", "1"}}}}),
                      of_host("a", {{"nic eth0", {{"mtu", "1500"}}}})),
              IsEmpty());
}

TEST(HostFactsThatDiffer, OtherHostsAreHeldAgainstEachOtherInOrder) {
  EXPECT_THAT(changes(of_host("a", {{"kernel", {{"release", "6.1"}}}}),
                      of_host("c", {{"kernel", {{"release", "6.8"}}}})),
              ElementsAre("a and c: kernel release 6.8 instead of 6.1"));
}

TEST(HostFactsThatDiffer, RepetitionsWithSeveralValuesNameAll) {
  const ComparedRun one = of_host("a", {{"kernel", {{"release", "6.1"}}}});
  const ComparedRun two = of_host("a", {{"kernel", {{"release", "6.2"}}}});
  const auto found = changes_between({&one}, {&one, &two});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].after, "6.1 or 6.2");
}

}  // namespace
}  // namespace chokepoint::analysis
