// Where a job's marks arrive: two sockets (SOCK_SEQPACKET) of one name. A job in a chroot or in a
// container finds no socket at the path, but the other one if it shares the network namespace.
//
//   CHOKEPOINT_MARKS    /tmp/chokepoint-marks-XXXXXX/marks
//   connect(path)       a file, in a folder that only this user and root can enter
//   connect("\0path")   a name of the network namespace, which every user can connect to: accept()
//                       closes what neither this user nor root has connected
//
// The thread of its owner only; the function: any.
#pragma once

#include <filesystem>
#include <optional>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::capture::step {

// The folder of the socket at the path: of this process alone, removed with its owner. Folders that
// killed processes left behind are removed, too.
class MarksFolder {
 public:
  // Below `below`; if the socket's path gets too long or nothing can be made there, below /tmp or
  // /dev/shm.
  static Result<MarksFolder> make(const std::filesystem::path& below);

  MarksFolder(MarksFolder&& other) noexcept;
  MarksFolder& operator=(MarksFolder&&) = delete;
  ~MarksFolder();

  std::filesystem::path socket() const;

 private:
  explicit MarksFolder(std::filesystem::path path);
  std::filesystem::path path_;
  sys::Descriptor folder_;
};

class MarksSockets {
 public:
  static Result<MarksSockets> listen(const std::filesystem::path& below);

  const std::filesystem::path& path() const { return path_; }
  // Never waits; nullopt if there is none. Each message has its sender's pid (SO_PASSCRED).
  std::optional<sys::Descriptor> accept();

 private:
  MarksSockets(MarksFolder folder, sys::Descriptor at_path, sys::Descriptor by_name);

  MarksFolder folder_;
  std::filesystem::path path_;
  sys::Descriptor at_path_;
  sys::Descriptor by_name_;  // none where the kernel refuses one
};

// A connection to either of them; the error is that of the path.
Result<sys::Descriptor> connect_to_marks(const std::filesystem::path& path);

}  // namespace chokepoint::capture::step
