#include "tests/fakes/host_tree.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace chokepoint::fakes {
namespace {

namespace fs = std::filesystem;

std::string with_line_ends(std::string text) {
  for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos; ++at) {
    text.replace(at, 2, "\n");
  }
  return text;
}

std::string until(std::istream& in, const std::string& end) {
  std::string content;
  for (std::string line; std::getline(in, line) && line != end;) {
    content += line + '\n';
  }
  return content;
}

// "4096 100:0d00 106:5d"
std::string bytes_of(const std::string& words) {
  constexpr int kHex = 16;
  std::istringstream in(words);
  std::size_t size = 0;
  in >> size;
  std::string bytes(size, '\0');
  for (std::string word; in >> word;) {
    const std::size_t colon = word.find(':');
    std::size_t at = std::stoul(word.substr(0, colon), nullptr, kHex);
    for (std::size_t digit = colon + 1; digit < word.size(); digit += 2) {
      bytes.at(at++) = static_cast<char>(std::stoi(word.substr(digit, 2), nullptr, kHex));
    }
  }
  return bytes;
}

void write_file(const fs::path& place, std::string_view content) {
  fs::create_directories(place.parent_path());
  std::ofstream(place, std::ios::binary) << content;
}

void write_link(const fs::path& place, std::string_view target) {
  fs::create_directories(place.parent_path());
  fs::create_symlink(target, place);
}

// In memory, where there is room: a tree has hundreds of files, and a busy disk takes twenty times
// as long to make and to remove them.
fs::path folder_of_trees() {
  constexpr const char* kMemory = "/dev/shm";
  constexpr std::uintmax_t kRoomBytes = std::uintmax_t{64} << 20;
  std::error_code error;
  const bool has_room = fs::space(kMemory, error).available >= kRoomBytes;
  return !error && has_room && access(kMemory, W_OK) == 0 && std::getenv("TMPDIR") == nullptr
             ? fs::path(kMemory)
             : fs::temp_directory_path();
}

}  // namespace

HostTree::HostTree() {
  std::string name = (folder_of_trees() / "chokepoint-host-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("cannot make " + name);
  }
  folder_ = name;
}

HostTree::HostTree(HostTree&& other) noexcept : folder_(std::move(other.folder_)) {
  other.folder_.clear();
}

HostTree::~HostTree() {
  if (!folder_.empty()) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
}

HostTree HostTree::from_text(std::string_view text) {
  HostTree tree;
  unpack(text, tree.folder_);
  return tree;
}

void HostTree::unpack(std::string_view text, const fs::path& folder) {
  fs::create_directories(folder);
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    const std::string path = line.substr(0, line.find(' '));
    const std::string rest = line.substr(path.size());
    const fs::path place = folder / path.substr(1);
    if (rest.starts_with(" = ")) {
      write_file(place, with_line_ends(rest.substr(3)) + "\n");
    } else if (rest.starts_with(" := ")) {
      write_file(place, bytes_of(rest.substr(4)));
    } else if (rest.starts_with(" -> ")) {
      write_link(place, rest.substr(4));
    } else if (rest.starts_with(" <<")) {
      write_file(place, until(in, rest.substr(3)));
    } else if (rest.empty() && path.ends_with('/')) {
      fs::create_directories(place);
    } else {
      throw std::runtime_error("not a line of a host fixture: " + line);
    }
  }
}

HostTree HostTree::from_fixture(const std::string& name) {
  std::ifstream file(fs::path(CHOKEPOINT_FIXTURES) / "hosts" / (name + ".host"));
  if (!file) {
    throw std::runtime_error("no fixture of the name " + name);
  }
  std::ostringstream text;
  text << file.rdbuf();
  return from_text(text.str());
}

void HostTree::write(std::string_view path, std::string_view content) const {
  write_file(folder_ / path.substr(1), content);
}

void HostTree::link(std::string_view path, std::string_view target) const {
  write_link(folder_ / path.substr(1), target);
}

void HostTree::remove(std::string_view path) const { fs::remove_all(folder_ / path.substr(1)); }

}  // namespace chokepoint::fakes
