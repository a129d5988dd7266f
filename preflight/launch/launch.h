// Agents that this preflight starts itself, on hosts where no 'chokepoint serve' runs: by ssh,
// srun or mpirun, whatever the cluster has. Owns the agents: they end with it, also if it is
// destroyed, killed or disconnected, because each ends with its standard input. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::preflight {

struct LaunchWanted {
  std::vector<std::string> hosts = {};
  std::uint16_t port = 0;  // where the agents shall listen
  std::string key =
      {};  // what a key file would hold; goes over standard input, never a command line
  std::string program = {};  // chokepoint on those hosts; empty: where it is found, or copied to
  std::string copy = {};     // the file that is copied to hosts without one; empty: this program
  std::string version = {};  // of this program: copies are named by it and by their content
  int interrupt = -1;        // readable once the user wants it to end
  std::function<void(const std::string&)> report = {};  // progress, in words
};

class Launch {
 public:
  virtual ~Launch() = default;
  // Why this host's agent is not there, where that is known by now: ssh's or srun's own words.
  virtual std::optional<Error> trouble(std::size_t host) = 0;
};

enum class Launcher : std::uint8_t { None, Ssh, Slurm, Mpirun };

// Starts them and returns; the agents come up meanwhile.
Result<std::unique_ptr<Launch>> launch(Launcher launcher, const LaunchWanted& wanted,
                                       const sys::Clock& clock, const sys::Root& root);

}  // namespace chokepoint::preflight
