// Hosts of a folder each, and an `ssh` that leads there: what it is told runs with the host's
// folder as its home and the host's bin/ before any other. A host that has none refuses.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace chokepoint::preflight::made {

namespace fs = std::filesystem;

// Serves as the real one does, as far as launching is concerned, and leaves what it was given.
inline constexpr std::string_view kAgent = R"(#!/bin/sh
[ "$1" != --version ] || { echo chokepoint 1; exit; }
[ "$2" != --help ] || { echo "  --leash  end with standard input"; exit; }
[ ! -e "$HOME/broken" ] || { echo "chokepoint: serve: port 5210: in use; is it there twice?" >&2; exit 1; }
read -r key
echo "$0 $* $key" >"$HOME/begun.new"; mv "$HOME/begun.new" "$HOME/begun"
cat >/dev/null
touch "$HOME/gone"
)";
inline constexpr std::string_view kOld = R"(#!/bin/sh
echo "  --port  where to listen"
)";
inline constexpr std::string_view kSsh = R"(#!/bin/sh
here=$(dirname "$0")/..
while [ "$1" != -- ]; do shift; done
home=$here/$2
echo "$2" >>"$here/called"
[ -d "$home" ] || { printf 'a banner\r\n%s: Permission denied (publickey).\r\n' "$2" >&2; exit 255; }
[ ! -e "$home/stuck" ] || { echo $$ >"$home/pid.new"; mv "$home/pid.new" "$home/pid"; exec sleep 600; }
HOME=$home PATH=$home/bin:/usr/bin:/bin exec "${SHELL_THERE:-/bin/sh}" -c "$3"
)";

inline std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline void program(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_all);
}

// Whether it holds before the test's deadline ends.
template <class Condition>
bool comes(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class FakeHosts {
 public:
  FakeHosts() : folder_((fs::temp_directory_path() / "chokepoint-hosts-XXXXXX").string()) {
    if (mkdtemp(folder_.data()) == nullptr) {
      std::abort();
    }
    path_ = std::getenv("PATH");
    unsetenv("XDG_CACHE_HOME");
    program(at("ssh-bin/ssh"), kSsh);
    setenv("PATH", (at("ssh-bin").string() + ":" + path_).c_str(), 1);
  }
  FakeHosts(const FakeHosts&) = delete;
  FakeHosts& operator=(const FakeHosts&) = delete;
  ~FakeHosts() {
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }

  fs::path at(const std::string& path) const { return fs::path(folder_) / path; }
  void add(const std::string& name) const { fs::create_directories(at(name)); }
  void add(const std::string& name, std::string_view chokepoint) const {
    program(at(name) / "bin/chokepoint", chokepoint);
  }
  void touch(const std::string& path) const { std::ofstream(at(path)) << ""; }

  // A release's one file.
  fs::path release() const {
    program(at("release"), kAgent);
    return at("release");
  }

 private:
  std::string folder_;
  std::string path_;
};

}  // namespace chokepoint::preflight::made
