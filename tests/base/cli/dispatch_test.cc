#include "base/cli/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/cli/output.h"
#include "tests/fakes/cli_run.h"

namespace chokepoint::cli {
namespace {

using fakes::CliRun;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Listen final : public Command {
 public:
  Summary summary() const override {
    return {.name = "listen",
            .purpose = "listens",
            .description = "Listens.",
            .examples = {},
            .captures = true};
  }
  void define(Flags& /*flags*/) override {}
  Result<ExitCode> run(Context& /*context*/) override { return ExitCode::Done; }
};

class Ping final : public Command {
 public:
  Summary summary() const override {
    return {.name = "ping",
            .purpose = "answers",
            .description = "Answers what it is asked.",
            .examples = {{"tool ping", "an answer"}, {"tool ping --fail", "none"}}};
  }
  void define(Flags& flags) override {
    flags.group("What to do")
        .toggle("fail", &fail_, "fail")
        .toggle("throw", &throw_, "throw")
        .toggle("found", &found_, "find something")
        .formerly("discovered");
    flags.positional("DIR", &folder_, "a run's folder", false).a_run();
  }
  Result<ExitCode> run(Context& context) override {
    if (fail_) {
      return fail({ErrorKind::Refused, "", "10.0.0.2 port 5210", 0, "connection refused",
                   "is 'tool serve'\nrunning there?"});
    }
    if (throw_) {
      throw std::runtime_error("broken");
    }
    if (context.json) {
      print(context, document(context, "tool.ping/1"));
    } else {
      context.out << "pong\n";
    }
    return found_ ? ExitCode::Found : ExitCode::Done;
  }

 private:
  bool fail_ = false;
  bool throw_ = false;
  bool found_ = false;
  std::string folder_;
};

template <char Letter>
class Show final : public Command {
 public:
  Summary summary() const override {
    return {.name = std::string("record show") + Letter,
            .purpose = "shows",
            .description = "Shows.",
            .examples = {}};
  }
  void define(Flags&) override {}
  Result<ExitCode> run(Context&) override { return ExitCode::Done; }
};

CliRun run(const std::vector<std::string>& words, bool has_file_privileges = false) {
  const Program program{.name = "tool",
                        .version = "1.2.3",
                        .purpose = "a tool",
                        .sections = one_section({command<Ping>(), command<Listen>(),
                                                 command<Show<'a'>>(), command<Show<'b'>>()})};
  return fakes::run_cli(program, words, sys::Root("/nowhere"), has_file_privileges);
}

TEST(Dispatch, RunsACommand) {
  const CliRun result = run({"ping"});
  EXPECT_EQ(result.code, ExitCode::Done);
  EXPECT_EQ(result.out, "pong\n");
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_EQ(run({"ping", "--found"}).code, ExitCode::Found);
}

TEST(Dispatch, AFormerNameIsSaidOnStandardErrorAndShownNowhere) {
  const CliRun result = run({"ping", "--discovered"});
  EXPECT_EQ(result.code, ExitCode::Found);
  EXPECT_EQ(result.out, "pong\n");
  EXPECT_EQ(result.err, "tool: ping: --discovered is now --found\n");
  EXPECT_THAT(run({"ping", "--discovered", "--quiet"}).err, IsEmpty());
  EXPECT_THAT(run({"ping", "--help"}).out, Not(HasSubstr("discovered")));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(run({"completion", shell}).out, Not(HasSubstr("discovered")));
  }
}

TEST(Dispatch, AnErrorIsOneLineOnStandardError) {
  const CliRun result = run({"ping", "--fail"});
  EXPECT_EQ(result.code, ExitCode::Failed);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_EQ(result.err,
            "tool: ping: 10.0.0.2 port 5210: connection refused; is 'tool serve' running there?\n");
}

// A library that the caller's environment names would have the file's capabilities.
TEST(Dispatch, AFileWithCapabilitiesDoesNothingButCapture) {
  EXPECT_EQ(run({"ping"}).code, ExitCode::Done);
  const CliRun refused = run({"ping"}, true);
  EXPECT_EQ(refused.code, ExitCode::Failed);
  EXPECT_THAT(refused.err, HasSubstr("setcap -r"));
  EXPECT_EQ(run({"ping", "--help"}, true).code, ExitCode::Done);
  EXPECT_EQ(run({"listen"}, true).code, ExitCode::Done);
}

TEST(Dispatch, AnExceptionIsNeverACrash) {
  const CliRun result = run({"ping", "--throw"});
  EXPECT_EQ(result.code, ExitCode::Failed);
  EXPECT_EQ(result.err, "tool: internal error: broken\n");
}

TEST(Dispatch, TwoWordsNameACommand) {
  EXPECT_EQ(run({"record", "showa"}).code, ExitCode::Done);
  EXPECT_EQ(run({"record"}).err,
            "tool: record: needs a second word; there is 'record showa', 'record showb'\n");
}

TEST(Dispatch, AMistypedCommandIsGuessed) {
  const CliRun result = run({"pnig", "--json"});
  EXPECT_EQ(result.code, ExitCode::Usage);
  EXPECT_EQ(result.err, "tool: pnig: unknown command; did you mean 'ping'?\n");
  EXPECT_EQ(run({"record", "shwoa"}).err,
            "tool: record shwoa: unknown command; did you mean 'record showa'?\n");
  EXPECT_EQ(run({"quux"}).err, "tool: quux: unknown command; '--help' lists them\n");
}

TEST(Dispatch, NothingToDoIsWrongUsageAndShowsWhatThereIs) {
  const CliRun result = run({});
  EXPECT_EQ(result.code, ExitCode::Usage);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("record showa"));
}

TEST(Dispatch, HelpIsGivenHoweverItIsAskedFor) {
  const CliRun overview = run({"--help"});
  EXPECT_EQ(overview.code, ExitCode::Done);
  EXPECT_THAT(overview.out, HasSubstr("ping"));
  const CliRun help = run({"ping", "--help"});
  EXPECT_EQ(help.code, ExitCode::Done);
  for (const char* part : {"Usage: tool ping [options]", "What to do:", "--fail",
                           "Common:", "--json", "Examples:", "tool ping --fail"}) {
    EXPECT_THAT(help.out, HasSubstr(part));
  }
  EXPECT_EQ(run({"help", "ping"}).out, help.out);
  EXPECT_EQ(run({"ping", "--no-such", "-h"}).out, help.out);
}

TEST(Dispatch, Version) {
  EXPECT_EQ(run({"--version"}).out, "tool 1.2.3\n");
  EXPECT_EQ(run({"ping", "--version"}).out, "tool 1.2.3\n");
}

TEST(Dispatch, JsonIsOneDocumentWithItsHead) {
  const CliRun result = run({"ping", "--json"});
  const Json document = Json::parse(result.out);
  EXPECT_EQ(document["schema"], "tool.ping/1");
  EXPECT_EQ(document["started_at"], "2026-11-18T11:06:40.000Z");
  EXPECT_TRUE(document.contains("host"));
}

TEST(Dispatch, ManualPagesAndCompletionComeFromTheSameDefinitions) {
  const CliRun completion = run({"completion", "bash"});
  EXPECT_THAT(completion.out, HasSubstr("complete -F _tool tool"));
  EXPECT_THAT(completion.out, HasSubstr("record) seconds=\"showa showb\""));
  EXPECT_THAT(completion.out, HasSubstr("--found"));
  EXPECT_EQ(run({"man-pages", "/no/such/folder"}).code, ExitCode::Failed);
}

}  // namespace
}  // namespace chokepoint::cli
