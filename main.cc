// Names the commands and calls dispatch; no logic.
#include "analysis/commands/record_show.h"
#include "base/cli/dispatch.h"
#include "probe/commands/doctor.h"

int main(int argc, char** argv) {
  using namespace chokepoint;
  const cli::Program program{
      .name = "chokepoint",
      .version = CHOKEPOINT_VERSION,
      .purpose = "finds what holds a distributed training job back",
      .commands =
          {
              cli::command<probe::DoctorCommand>(),
              cli::command<analysis::RecordShowCommand>(),
          },
  };
  return cli::dispatch(program, argc, argv);
}
