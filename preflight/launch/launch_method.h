// How a program is started on another host by ssh, srun or mpirun, and what runs there: fixed
// scripts for its /bin/sh, in one line that every login shell reads alike, with quoted words. There
// is one ssh, srun or mpirun for each host, so that a host that fails, fails alone: one srun or
// mpirun for all ends all if one host is missing, which is what a preflight has to find out; and
// mpirun passes its standard input, and the end of it, to one rank only. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "preflight/launch/launch.h"

namespace chokepoint::preflight {

// The script prints this on a line of its own, and becomes the agent.
inline constexpr std::string_view kStarts = "chokepoint-agent: starts";
// The script prints this and "SYSTEM MACHINE", and ends with kAbsentCode: none of the programs is
// there and knows --leash.
inline constexpr std::string_view kAbsent = "chokepoint-agent: absent on ";
inline constexpr int kAbsentCode = 97;

// A word that a shell takes as it is: 'it'\''s'.
std::string quoted(std::string_view word);

// sh -c SCRIPT with its words, for a launcher that starts it without another shell.
using Words = std::vector<std::string>;
// The first of these programs that is there and knows --leash, then the copy of this name.
Words agent_words(std::uint16_t port, std::string_view copy, const Words& programs);
// Makes the copy of this name out of the program on its standard input. It appears whole or not at
// all, also if two processes make it at once; one that is there stays.
Words copy_words(std::string_view copy);

// As one line for a login shell.
std::string as_line(const Words& words);

struct LaunchMethod {
  std::string program;
  // Whether it hands bytes on as they are, and leads to hosts that share nothing with this one.
  bool can_copy = false;
  std::vector<std::pair<std::string, std::string>> environment = {};
  Words (*command)(const std::string& host, const Words& there) = nullptr;
};

// None has none.
LaunchMethod launch_method_of(Launcher launcher);

// What is copied to hosts without chokepoint: this program, where it is a release's one file, or
// such a file that was given. Reads files.
class Copy {
 public:
  static Result<Copy> of_file(const std::string& path, const std::string& version);
  static Result<Copy> of_this_program(const std::filesystem::path& program,
                                      const std::string& version);

  // Made of version and contents: copies of one name are the same.
  const std::string& name() const { return name_; }
  // Only hosts of this machine's kind can run what runs here.
  bool is_of_this_machine() const { return is_this_program_; }
  // From its beginning, for one reader.
  Result<sys::Descriptor> open() const;

 private:
  Copy() = default;

  std::string name_;
  std::filesystem::path file_;
  bool is_this_program_ = false;
};

}  // namespace chokepoint::preflight
