#include "base/cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::cli {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

struct Options {
  bool all = false;
  std::string out = "runs";
  std::vector<std::string> labels;
  std::int64_t streams = 1;
  math::Rate rate;
  math::Bytes size;
  std::chrono::nanoseconds time = 10s;
  std::string backend = "gloo";
  std::string host;
  std::vector<std::string> command;

  Flags flags() {
    Flags flags;
    flags.toggle("all,a", &all, "all of them")
        .option("out,o", &out, "DIR", "where to")
        .option("label", &labels, "KEY=VALUE", "a label")
        .option("streams", &streams, "N", "how many", 1, 128)
        .option("rate", &rate, "RATE", "how fast")
        .option("bytes", &size, "SIZE", "how much")
        .option("time", &time, "TIME", "how long")
        .choice("backend", &backend, {"gloo", "nccl"}, "which");
    return flags;
  }
};

std::string error_of(const Flags& flags, const std::vector<std::string>& words) {
  const Result<Notices> parsed = parse(flags, words);
  EXPECT_FALSE(parsed);
  EXPECT_EQ(parsed.error().kind, ErrorKind::Usage);
  return parsed ? "" : describe(parsed.error());
}

TEST(Flags, AFormerNameWorksAndIsNamedOnce) {
  std::chrono::nanoseconds time = 1s;
  bool all = false;
  std::vector<std::string> command;
  Flags flags;
  flags.option("time", &time, "TIME", "how long")
      .formerly("duration")
      .toggle("all", &all, "all of them")
      .formerly("everything")
      .always("exit-code")
      .rest("COMMAND", &command, "the command");
  const Result<Notices> parsed =
      parse(flags, {"--duration", "5s", "--exit-code", "--everything", "job", "--duration"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(time, 5s);
  EXPECT_TRUE(all);
  EXPECT_THAT(command, ElementsAre("job", "--duration"));
  EXPECT_THAT(*parsed, ElementsAre("--duration is now --time", "--exit-code is always so",
                                   "--everything is now --all"));
}

TEST(Flags, AMistakeUnderAFormerNameIsToldUnderTheNewOne) {
  std::chrono::nanoseconds time = 1s;
  Flags flags;
  flags.option("time", &time, "TIME", "how long").formerly("duration");
  EXPECT_THAT(error_of(flags, {"--duration=soon"}), HasSubstr("--time soon"));
  EXPECT_THAT(error_of(flags, {"--duration"}), HasSubstr("needs a value"));
  EXPECT_THAT(error_of(flags, {"--duratio", "1s"}), testing::Not(HasSubstr("--duration'")));
}

TEST(Flags, EveryKindOfFlagIsStored) {
  Options o;
  ASSERT_TRUE(parse(o.flags(),
                    {"-a", "--out", "x", "--label", "a=1", "--label=b=2", "--streams=4", "--rate",
                     "10G", "--bytes", "64K", "--time", "1.5ms", "--backend", "nccl"}));
  EXPECT_TRUE(o.all);
  EXPECT_EQ(o.out, "x");
  EXPECT_THAT(o.labels, ElementsAre("a=1", "b=2"));
  EXPECT_EQ(o.streams, 4);
  EXPECT_EQ(o.rate.bits_per_second, 1e10);
  EXPECT_EQ(o.size.count, 65536U);
  EXPECT_EQ(o.time, 1500us);
  EXPECT_EQ(o.backend, "nccl");
}

TEST(Flags, WhatIsNotGivenKeepsItsDefault) {
  Options o;
  ASSERT_TRUE(parse(o.flags(), {}));
  EXPECT_EQ(o.out, "runs");
  EXPECT_EQ(o.time, 10s);
}

TEST(Flags, AMistypedFlagIsGuessed) {
  Options o;
  EXPECT_EQ(error_of(o.flags(), {"--steams", "3"}),
            "--steams: unknown option; did you mean '--streams'?");
  EXPECT_EQ(error_of(o.flags(), {"--zzzzz"}), "--zzzzz: unknown option; --help lists them");
  EXPECT_THAT(error_of(o.flags(), {"--stream", "3"}), HasSubstr("unknown option"))
      << "no abbreviations: they break when a flag is added";
}

TEST(Flags, ValuesOutOfRangeSayWhatIsAllowed) {
  Options o;
  EXPECT_EQ(error_of(o.flags(), {"--streams", "0"}), "--streams 0: out of range; give 1 to 128");
  EXPECT_EQ(error_of(o.flags(), {"--streams", "4x"}),
            "--streams 4x: not a whole number; give 1 to 128");
  EXPECT_EQ(error_of(o.flags(), {"--streams", "99999999999999999999"}),
            "--streams 99999999999999999999: out of range; give 1 to 128");
  EXPECT_THAT(error_of(o.flags(), {"--rate", "fast"}), HasSubstr("--rate fast: not a rate"));
  EXPECT_EQ(error_of(o.flags(), {"--backend", "nccI"}),
            "--backend nccI: not one of the choices; did you mean 'nccl'?");
}

TEST(Flags, AFlagWithoutItsValue) {
  Options o;
  EXPECT_THAT(error_of(o.flags(), {"--out"}), HasSubstr("--out: needs a value"));
}

TEST(Flags, ASwitchTakesNoValue) {
  Options o;
  EXPECT_THAT(error_of(o.flags(), {"--all=yes"}), HasSubstr("--all"));
}

TEST(Flags, PositionalsInOrderAndStraysRefused) {
  Options o;
  Flags flags = o.flags();
  flags.positional("HOST", &o.host, "the peer");
  EXPECT_EQ(error_of(flags, {}), "HOST: missing; --help shows what it is");
  ASSERT_TRUE(parse(flags, {"voyager", "--streams", "2"}));
  EXPECT_EQ(o.host, "voyager");
  EXPECT_EQ(error_of(flags, {"voyager", "hubble"}),
            "hubble: no argument is expected here; 'voyager' was taken for HOST");
}

TEST(Flags, AfterTwoDashesNothingIsAFlag) {
  Options o;
  Flags flags = o.flags();
  flags.positional("HOST", &o.host, "the peer");
  ASSERT_TRUE(parse(flags, {"--", "--all"}));
  EXPECT_EQ(o.host, "--all");
  EXPECT_FALSE(o.all);
}

TEST(Flags, TheRestIsTakenAsItIs) {
  Options o;
  Flags flags = o.flags();
  flags.rest("COMMAND", &o.command, "what to run");
  ASSERT_TRUE(parse(flags, {"--out", "x", "--", "torchrun", "--out", "y", "--", "train.py"}));
  EXPECT_THAT(o.command, ElementsAre("torchrun", "--out", "y", "--", "train.py"));
  EXPECT_EQ(o.out, "x");
  EXPECT_EQ(error_of(flags, {"--out", "x"}),
            "COMMAND: missing; give the command to run after '--'");
}

TEST(Flags, TheRestMayFollowWithoutADivider) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"torchrun", "--out", "y", "train.py"},
        {"--out", "x", "-a", "torchrun", "--out", "y", "train.py"},
        {"-ao", "x", "--", "torchrun", "--out", "y", "train.py"}}) {
    Options o;
    Flags flags = o.flags();
    flags.rest("COMMAND", &o.command, "what to run");
    ASSERT_TRUE(parse(flags, words));
    EXPECT_THAT(o.command, ElementsAre("torchrun", "--out", "y", "train.py"));
    EXPECT_NE(o.out, "y");
  }
}

TEST(Flags, AnOptionDoesNotTakeTheNextOneForItsValue) {
  Options o;
  EXPECT_EQ(error_of(o.flags(), {"--out", "--streams", "4"}),
            "--out: needs a value; '--streams' is the next option");
  EXPECT_EQ(error_of(o.flags(), {"-o", "--streams=4"}),
            "--out: needs a value; '--streams=4' is the next option");
  ASSERT_TRUE(parse(o.flags(), {"--out", "-"}));
  EXPECT_EQ(o.out, "-");
  EXPECT_EQ(error_of(o.flags(), {"--time="}), "--time: needs a value; --help shows how");
}

TEST(Flags, WhatOtherToolsCallThemIsTold) {
  Options o;
  EXPECT_EQ(error_of(o.flags(), {"--parallel", "4"}),
            "--parallel: unknown option; iperf3's --parallel is --streams here");
}

TEST(Flags, AnEmptyArgumentIsNoArgument) {
  Options o;
  Flags flags = o.flags();
  flags.positional("HOST", &o.host, "which", false);
  EXPECT_EQ(error_of(flags, {""}), "HOST: is empty; is a variable not set?");
  EXPECT_EQ(error_of(flags, {"10G", "voyager"}),
            "voyager: no argument is expected here; '10G' was taken for HOST");
}

}  // namespace
}  // namespace chokepoint::cli
