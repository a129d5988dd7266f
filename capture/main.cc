// chokepoint-capture: the one program that may be given CAP_NET_RAW (as dumpcap is for Wireshark).
// It opens interfaces, gives up every privilege, and only then reads packets.
//
//   chokepoint-capture tap       one interface of a watched job; started by chokepoint run, whose
//                                socket is standard input: see capture/tap/messages.h
//   chokepoint-capture capture   chokepoint's command of that name; started by it where chokepoint
//                                itself may not capture
#include <unistd.h>

#include <cstring>

#include "base/cli/dispatch.h"
#include "capture/commands/commands.h"
#include "capture/tap/reader.h"

int main(int argc, char** argv) {
  using namespace chokepoint;
  if (argc == 2 && std::strcmp(argv[1], "tap") == 0) {
    return capture::tap::run_reader(STDIN_FILENO);
  }
  const cli::Program program{.name = "chokepoint",
                             .version = CHOKEPOINT_VERSION,
                             .purpose = "captures for chokepoint",
                             .sections = cli::one_section({capture::capture_command()})};
  return cli::dispatch(program, argc, argv);
}
