// unpack_host FIXTURE FOLDER: a host fixture as the folder that --root wants.
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/fakes/host_tree.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: unpack_host FIXTURE FOLDER\n";
    return 2;
  }
  try {
    std::ostringstream text;
    text << std::ifstream(argv[1]).rdbuf();
    chokepoint::fakes::HostTree::unpack(text.str(), argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
