// What preflight and ask refuse before they start anything.
#include "tests/fakes/mistakes.h"

#include "preflight/commands/commands.h"

namespace chokepoint::preflight {
namespace {

TEST(Mistakes, InWhatPreflightIsTold) {
  fakes::expect_mistakes(
      {preflight_command()},
      {{"preflight", "--hosts-file"},
       {"preflight gpu1", "gpu1"},
       {"preflight gpu[1-3] gpu2", "gpu2"},
       {"preflight gpu[3-", "gpu[3-"},
       {"preflight a b --quick --thorough", "--quick"},
       {"preflight a b --launch kubernetes", "--launch"},
       {"preflight a b --launch ssh --key-file nowhere", "--key-file"},
       {"preflight a b --time=-5s", "--time"},
       {"preflight a b --program /opt/chokepoint", "--program"},
       {"preflight a b:5300 --launch ssh", "b:5300"},
       {"preflight root@ b", "root@"},
       {"preflight gpu1 gpu2 -4 -6", "--ipv4, --ipv6"},
       {"preflight a b --key-file /nowhere/key", "/nowhere/key", cli::ExitCode::Failed},
       {"preflight --hosts-file /nowhere/hosts", "/nowhere/hosts", cli::ExitCode::Failed},
       {"preflight a b --baseline /nowhere/b", "--baseline /nowhere/b", cli::ExitCode::Failed},
       {"preflight a b -o /nowhere/page.html", "/nowhere/page.html", cli::ExitCode::Failed},
       {"preflight a b --keep /nowhere/x.json", "/nowhere/x.json", cli::ExitCode::Failed}});
}

TEST(Mistakes, InWhatAHostIsAsked) {
  fakes::expect_mistakes({ask_command()}, {{"ask gpu1 shell", "shell"},
                                           {"ask gpu1 tcp", "--peer OTHER"},
                                           {"ask gpu1 storage --folder=--size", "'folder'"}});
}

}  // namespace
}  // namespace chokepoint::preflight
