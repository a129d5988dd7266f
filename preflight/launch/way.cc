#include "preflight/launch/way.h"

#include <unistd.h>

namespace chokepoint::preflight {
namespace {

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Nobody is asked for a password, nothing of the user's desktop goes along, and a connection that
// is shared is used but not left behind.
Words by_ssh(const std::string& host, const Words& there) {
  Words words{"ssh", "-T"};
  for (const char* option :
       {"BatchMode=yes", "ConnectTimeout=10", "LogLevel=ERROR", "ServerAliveInterval=15",
        "ControlMaster=no", "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no"}) {
    words = joined(std::move(words), {"-o", option});
  }
  return joined(std::move(words), {"--", host, as_line(there)});
}

// Beside whatever else runs in the allocation, and bound to no processor: the measurements need
// them.
Words by_srun(const std::string& host, const Words& there) {
  return joined({"srun", "--overlap", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1",
                 "--nodelist=" + host, "--cpu-bind=none", "--input=all", "--unbuffered"},
                there);
}

Words by_mpirun(const std::string& host, const Words& there) {
  Words words{"mpirun", "--host", host + ":1", "-np", "1", "--bind-to", "none"};
  if (geteuid() == 0) {
    words.emplace_back("--allow-run-as-root");
  }
  return joined(std::move(words), there);
}

}  // namespace

Way way_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::Ssh:
      return {.program = "ssh", .can_copy = true, .command = by_ssh};
    case Launcher::Slurm:
      return {.program = "srun", .command = by_srun};
    case Launcher::Mpirun:
      // The ssh that it calls would ask for a password where it is not told that nobody is there.
      return {.program = "mpirun",
              .environment = {{"SSH_ASKPASS", "/bin/false"}, {"SSH_ASKPASS_REQUIRE", "force"}},
              .command = by_mpirun};
    case Launcher::None:
      break;
  }
  return {};
}

}  // namespace chokepoint::preflight
