// Variables that the caller gave this program and the dynamic linker took away again: a program
// with capabilities of its own (setcap) does not see LD_LIBRARY_PATH and the like. The job runs
// without those capabilities, and would have had the variables without us.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace chokepoint::capture::job {

std::vector<std::pair<std::string, std::string>> withheld_variables();

}  // namespace chokepoint::capture::job
