// What each command of probe/commands refuses before it measures; where it looks for a server or a
// library first, tests/cli does.
#include "tests/fakes/mistakes.h"

#include "probe/commands/commands.h"
#include "probe/commands/kinds.h"

namespace chokepoint::probe {
namespace {

TEST(Mistakes, InWhatADoctorOrAServerIsTold) {
  fakes::expect_mistakes({doctor_command(), serve_command()},
                         {{"doctor --root /nowhere/none", "/nowhere/none", cli::ExitCode::Failed},
                          {"serve --bind 0.0.0.0", "--insecure-open"},
                          {"serve --offer tcp,tpc", "--offer tpc"},
                          {"serve --leash --key-file /nowhere/key", "--key-file"},
                          {"serve --leash --insecure-open", "--insecure-open"}});
}

TEST(Mistakes, InWhatAProbeIsTold) {
  fakes::expect_mistakes({tcp_command(), udp_command(), latency_command(), rpc_command(),
                          paths_command(), path_command()},
                         {{"probe tcp", "HOST"},
                          {"probe tcp localhost --send --both", "--send"},
                          {"probe tcp 127.0.0.1 -4 -6", "--ipv4, --ipv6"},
                          {"probe tcp -c voyager", "-c"},
                          {"probe tcp 127.0.0.1 --streams 1,x", "--streams"},
                          {"probe tcp 127.0.0.1 --streams 1,2 --mss 500,900", "--mss"},
                          {"probe tcp 127.0.0.1 --setup true --streams 1,2", "--setup"},
                          {"probe udp 127.0.0.1 --bytes 8", "65507"},
                          {"probe udp 127.0.0.1 --rate 1M --unpaced", "--unpaced"},
                          {"probe udp voyager --rate 10", "--rate"},
                          {"probe udp voyager -b 10G", "--rate"},
                          {"probe udp voyager --parallel 4", "--streams"},
                          {"probe latency 127.0.0.1 --both --idle-only", "--both, --idle-only"},
                          {"probe latency localhost -4 --bind ::1", "--bind ::1"},
                          {"probe rpc 127.0.0.1 127.0.0.2 127.0.0.2", "127.0.0.2"},
                          {"probe rpc 127.0.0.1 --request 0", "--request"},
                          {"probe rpc 127.0.0.1 --time 0", "--time"},
                          {"probe paths 127.0.0.1 --time 3 --packets 100", "--packets, --time"},
                          {"probe paths 127.0.0.1 --packets 3", "--packets"},
                          {"probe paths 127.0.0.1 --to-port 53", "--to-port"},
                          {"probe paths 127.0.0.1 --loss-limit 0", "--loss-limit"},
                          {"probe paths 127.0.0.1 --protocol tcp --packets 100", "--packets"},
                          {"probe path ::1 -4", "::1"},
                          {"probe path 127.0.0.1 --udp --tcp", "--udp"}});
}

TEST(Mistakes, InWhatAProbeOfThisHostIsTold) {
  fakes::expect_mistakes(
      {pcie_command(), storage_command(), processor_command(), collective_command({})},
      {{"probe pcie --bytes 1", "--bytes"},
       {"probe pcie --time 0", "--time"},
       {"probe pcie --at-least 101", "--at-least"},
       {"probe pcie --gpu 0 --root /tmp", "--gpu"},
       {"probe pcie --root /nowhere/none", "/nowhere/none", cli::ExitCode::Failed},
       {"probe storage /tmp --bytes 10", "--bytes"},
       {"probe storage /nowhere/none", "/nowhere/none", cli::ExitCode::Failed},
       {"probe storage /dev/null", "/dev/null", cli::ExitCode::Failed},
       {"probe processor --time 1us", "--time"},
       {"probe collective", "--local"},
       {"probe collective --local 2 --hosts a,b", "--local"},
       {"probe collective --local 2 --bytes 8..x", "--bytes"},
       {"probe collective --local 2 --bytes 1M --parameters 708M", "--parameters"},
       {"probe collective --local 2 --type fp8", "fp8"},
       {"probe collective --local 2 --collective broadcast --root 2", "rank 2"},
       {"probe collective --local 2 --interface eth0;id", "--interface"},
       {"probe collective -b 8 -e 128M", "--bytes"}});
}

}  // namespace
}  // namespace chokepoint::probe
