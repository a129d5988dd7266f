// The folder in which a job finds the socket for its marks: nobody else's, gone with its owner.
// What others left when they were killed is taken away. One thread.
#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include "base/sys/error.h"

namespace chokepoint::capture::step {

class MarksFolder {
 public:
  // Below `below`; where the socket's path would get too long, or nothing can be made there, below
  // /tmp or /dev/shm.
  static Result<MarksFolder> make(const std::filesystem::path& below);
  MarksFolder(MarksFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  MarksFolder& operator=(MarksFolder&&) = delete;
  ~MarksFolder();

  std::filesystem::path socket() const { return path_ / "marks"; }

 private:
  explicit MarksFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace chokepoint::capture::step
