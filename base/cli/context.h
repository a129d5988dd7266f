// What a command gets from its caller: streams, clock, root folder, environment and what the
// terminal can do. Owned by the dispatcher, valid while the command runs; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/sys/clock.h"
#include "base/sys/root.h"

namespace chokepoint::cli {

// What a stream can show: whether a person sits behind it, how wide it is, whether colour is
// welcome.
struct Terminal {
  bool interactive = false;
  bool color = false;
  int width = 80;
};

// Colour only on a terminal, and not under NO_COLOR or TERM=dumb. COLUMNS overrides the width.
Terminal terminal_of(
    int fd, const std::function<std::optional<std::string>(const std::string&)>& environment);

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct Context {
  std::ostream& out;  // results; with --json one document and nothing else
  std::ostream& err;  // progress, messages, errors
  const sys::Clock& clock;
  sys::Root root;
  Environment environment;
  Terminal out_terminal;
  Terminal err_terminal;
  std::string version = {};  // of the program that runs the command
  bool json = false;
  bool quiet = false;
  // The program's file gave it what its caller has not: by setcap, or set-user-id.
  bool has_file_privileges = false;
};

// What is being done now: a line on standard error, on a terminal only.
void show_progress(const Context& context, std::string_view what);

// A bar on standard error for work that takes long: only on a terminal, gone when done. Redraws at
// most ten times a second, so callers may update it as often as they like. One thread.
class Progress {
 public:
  // `total` 0: how much there is to do is not known, and a count is shown instead of a share.
  Progress(const Context& context, std::string title, std::uint64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void update(std::uint64_t done, const std::string& note = {});

 private:
  std::string line(std::uint64_t done, const std::string& note, std::int64_t elapsed_ns) const;

  const Context& context_;
  std::string title_;
  std::uint64_t total_;
  bool visible_;
  std::int64_t started_ns_;
  std::int64_t drawn_ns_ = -1;
};

}  // namespace chokepoint::cli
