// A job that meets over one address family while its library offers addresses of the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/attribution/diagnose.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using testing::HasSubstr;

class MeetingFamily : public testing::Test {
 protected:
  MeetingFamily() {
    for (const char* host : {"a", "b"}) {
      made_.host(host);
      NodeData& node = made_.node(host);
      node.interfaces.front().addresses.push_back(std::string("fd00::") + host + "/64");
      node.exit_status = 134;
      tell(node, "name", "", "address", std::string("fd00::") + host);
      tell(node, "environment", "ranks", "MASTER_ADDR", "fd00::a");
    }
  }

  static void tell(NodeData& node, const char* category, const char* subject, const char* key,
                   const std::string& value) {
    node.facts.push_back({.category = category, .subject = subject, .key = key, .value = value});
  }
  void name_interface(const char* variable) {
    for (const char* host : {"a", "b"}) {
      tell(made_.node(host), "environment", "ranks", variable, "eth0");
    }
  }

  MadeRun made_;
};

std::string evidence(const Verdict& verdict) {
  std::string text;
  for (const Evidence& each : verdict.evidence) text += each.what + "\n";
  return text;
}

TEST_F(MeetingFamily, ExplainsAFailureWhereRpcsInterfaceIsOfferedByItsOtherFamily) {
  name_interface("TP_SOCKET_IFNAME");
  const Diagnosis found = diagnose(made_.data);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::WrongPath);
  EXPECT_EQ(found.verdict.cause, Cause::MeetingFamily);
  EXPECT_THAT(evidence(found.verdict), HasSubstr("the ranks meet at fd00::a, over IPv6"));
  EXPECT_THAT(evidence(found.verdict),
              HasSubstr("a offers its peers 10.0.0.1, by TP_SOCKET_IFNAME=eth0"));
  EXPECT_FALSE(found.verdict.advice.empty());
}

TEST_F(MeetingFamily, ExplainsAFailureWhereGloosInterfaceIsOfferedByItsOtherFamily) {
  name_interface("GLOO_SOCKET_IFNAME");
  EXPECT_THAT(evidence(diagnose(made_.data).verdict), HasSubstr("by GLOO_SOCKET_IFNAME=eth0"));
}

TEST_F(MeetingFamily, ExplainsAFailureWhereTheNameLeadsToTheOtherFamily) {
  tell(made_.node("b"), "name", "", "address", "10.0.0.2");
  EXPECT_EQ(diagnose(made_.data).verdict.cause, Cause::MeetingFamily);
}

TEST_F(MeetingFamily, ExplainsNothingWhereBothAreOfOneFamily) {
  EXPECT_EQ(diagnose(made_.data).verdict.cause, Cause::JobFailed);
}

TEST_F(MeetingFamily, ExplainsNothingWhereTheOtherFamilyPassed) {
  name_interface("TP_SOCKET_IFNAME");
  made_.add_traffic(made_.connect("a", "b"), record::Direction::AToB, {});
  EXPECT_NE(diagnose(made_.data).verdict.cause, Cause::MeetingFamily);
}

TEST_F(MeetingFamily, IsRemarkedOfAJobThatGoesOn) {
  made_.add_traffic(made_.connect("a", "b"), record::Direction::AToB, full_link());
  for (const char* host : {"a", "b"}) made_.node(host).exit_status = 0;
  const Diagnosis found = diagnose(made_.data);
  EXPECT_NE(found.verdict.cause, Cause::MeetingFamily);
  EXPECT_THAT(evidence(found.verdict), HasSubstr("their data go over IPv4"));
}

}  // namespace
}  // namespace chokepoint::analysis
