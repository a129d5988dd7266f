// What run, mark and capture refuse before they watch anything.
#include "tests/fakes/mistakes.h"

#include "capture/commands/commands.h"

namespace chokepoint::capture {
namespace {

TEST(Mistakes, InWhatARunIsTold) {
  fakes::expect_mistakes(
      {run_command()},
      {{"run --out /proc/none/r", "COMMAND"},
       {"run --out /proc/none/r --label setup -- echo started", "--label"},
       {"run --out /proc/none/r --allow-probes 30% -- echo started", "--allow-probes"},
       {"run --out /proc/none/r --step-regex (?P<step>[0-9 -- echo started", "(?P<step>[0-9"},
       {"run --out /proc/none/r --pid 1 -- echo started", "--pid"},
       {"run --out /proc/none/r --repeat 0 -- echo started", "--repeat"},
       {"run --out /proc/none/r --packets perhaps -- echo started", "--packets"},
       {"run --out /proc/none/r --live sometimes -- echo started", "--live"},
       {"run --out /proc/none/r --metrics nonsense -- echo started", "--metrics"},
       {"run --out /proc/none/r --node a/b -- echo started", "--node"},
       {"run --metrics --out /proc/none/r -- echo started", "--metrics"}});
}

TEST(Mistakes, InAMark) {
  fakes::expect_mistakes({mark_command()}, {{"mark --number=-1", "--number"}});
}

TEST(Mistakes, InWhatACaptureIsTold) {
  fakes::expect_mistakes(
      {capture_command()},
      {{"capture -i lo -r x.pcap", "--interface"},
       {"capture -r " CHOKEPOINT_FIXTURES "/captures/basics.pcap port", "pcap-filter"},
       {"capture -r x.pcap --decapsulate vxlan,mpls", "mpls"},
       {"capture -r x.pcap --rotate-size 1M", "--write"},
       {"capture -r x.pcap -w n.db", "n.db"},
       {"capture x.pcap", "x.pcap"},
       {"capture -i lo --time 0", "--time 0"},
       {"capture -r /nowhere/at.pcap", "/nowhere/at.pcap", cli::ExitCode::Failed},
       {"capture -r /etc/passwd", "/etc/passwd", cli::ExitCode::Failed}});
}

}  // namespace
}  // namespace chokepoint::capture
