#include "probe/path/exchange.h"

#include <gtest/gtest.h>

#include "tests/probe/path/made_up_path.h"

namespace chokepoint::probe::path {
namespace {

using control::Json;
using made_up::at;

Survey full() {
  Survey survey;
  survey.trace = {.protocol = Protocol::Tcp,
                  .source = {.address = at("10.0.0.1")},
                  .target = {.address = at("10.0.0.9"), .port = 5210},
                  .hops = {{.ttl = 1,
                            .addresses = {at("10.0.0.2"), at("10.0.0.3")},
                            .rtt_ms = {1.5, 2.5},
                            .sent = 3,
                            .answered = 2},
                           {.ttl = 2, .sent = 3, .unreachable = Unreachable::Prohibited}},
                  .probed_to = 2};
  survey.mtu = MtuFinding{.path_mtu_bytes = 1400,
                          .interface_mtu_bytes = 1500,
                          .limited_by = at("10.0.0.2"),
                          .announced_bytes = 1400,
                          .confirmed = true,
                          .complete = true,
                          .tries = 4};
  survey.black_hole = BlackHole{.packet_bytes = 1401,
                                .last_before = survey.trace.hops[0],
                                .first_behind = survey.trace.hops[1]};
  return survey;
}

TEST(Exchange, ASurveyGoesThroughUnchanged) {
  const Json said = body_of(full());
  const Result<Survey> heard = survey_in(said);
  ASSERT_TRUE(heard);
  EXPECT_EQ(body_of(*heard), said);
  EXPECT_EQ(heard->trace.hops[1].unreachable, Unreachable::Prohibited);
}

TEST(Exchange, WhatIsUnknownStaysUnknown) {
  const Survey bare{.trace = {.source = {.address = at("::1")}, .target = {.address = at("::1")}}};
  const Result<Survey> heard = survey_in(body_of(bare));
  ASSERT_TRUE(heard);
  EXPECT_FALSE(heard->mtu);
  EXPECT_FALSE(heard->black_hole);
}

// Every field of a true survey, one after the other, replaced by every kind of nonsense.
void spoil(const Json& whole, const Json::json_pointer& where) {
  for (const Json& nonsense : {Json(), Json(-1), Json(1e300), Json("x"), Json(true), Json::array(),
                               Json::object(), Json(std::vector<Json>(1000, Json::object()))}) {
    Json spoiled = whole;
    spoiled[where] = nonsense;
    const Result<Survey> heard = survey_in(spoiled);
    if (heard) {
      EXPECT_LE(heard->trace.hops.size(), 64U);
      EXPECT_LE(heard->trace.probed_to, 64);
    }
  }
}

void spoil_all(const Json& whole, const Json& part, const Json::json_pointer& where) {
  spoil(whole, where);
  if (part.is_object()) {
    for (const auto& [name, each] : part.items()) {
      spoil_all(whole, each, where / name);
    }
  } else if (part.is_array()) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      spoil_all(whole, part[i], where / i);
    }
  }
}

TEST(Exchange, NonsenseIsBoundedAndNeverACrash) {
  const Json whole = body_of(full());
  spoil_all(whole, whole, Json::json_pointer());
}

TEST(Exchange, RequestsAreBounded) {
  const Json good = body_of(Parameters{.port = 5210});
  EXPECT_EQ(body_of(*parameters_in(good)), good);
  for (const auto& [name, value] : std::map<std::string, Json>{
           {"port", 0}, {"max_hops", 65}, {"probes", 11}, {"time_s", 601}, {"search_mtu", "yes"}}) {
    Json bad = good;
    bad[name] = value;
    EXPECT_FALSE(parameters_in(bad)) << name;
  }
  EXPECT_FALSE(check({.time = std::chrono::minutes(2)}, {.longest_test = std::chrono::minutes(1)}));
}

}  // namespace
}  // namespace chokepoint::probe::path
