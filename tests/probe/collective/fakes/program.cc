// `chokepoint` as far as ranks need it, with a backend that needs no library: what it starts is
// this program again.
#include "base/cli/dispatch.h"
#include "probe/commands/commands.h"
#include "probe/commands/kinds.h"
#include "tests/probe/collective/fakes/store_backend.h"

int main(int argc, char** argv) {
  using namespace chokepoint;
  const std::vector<probe::collective::Backend> backends{fakes::store_backend()};
  const cli::Program program{
      .name = "chokepoint",
      .version = "0.1.0",
      .purpose = "ranks that need no library",
      .sections = cli::one_section({probe::serve_command(), probe::collective_command(backends)}),
  };
  return cli::dispatch(program, argc, argv);
}
