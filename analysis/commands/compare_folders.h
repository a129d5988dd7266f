// Which runs the arguments of `compare` stand for. Reads folders; the caller's thread.
#pragma once

#include <string>
#include <vector>

namespace chokepoint::analysis {

struct RunFolder {
  std::string path = {};    // of the run itself
  std::string folder = {};  // the argument that it came with
};

// As it was given, without slashes that say nothing.
std::string plain_name(const std::string& folder);

// A folder with records, or a record, stands for itself; another for all runs below it, in the
// order of their names, numbers by size. What is given twice counts once. A place without runs
// stands for itself, so that whoever reads it says why not.
std::vector<RunFolder> run_folders(const std::vector<std::string>& arguments);

}  // namespace chokepoint::analysis
