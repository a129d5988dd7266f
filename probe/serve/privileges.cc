#include "probe/serve/privileges.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>

namespace chokepoint::probe::serve {

Result<> become(const std::string& user) {
  if (user.empty()) {
    return {};
  }
  errno = 0;
  const passwd* found = getpwnam(user.c_str());
  if (found == nullptr) {
    return fail(ErrorKind::Usage, "", "--user " + user, "no such user",
                "'getent passwd' lists them");
  }
  const bool same = found->pw_uid == geteuid() && found->pw_uid == getuid();
  if (same) {
    return {};
  }
  if (initgroups(user.c_str(), found->pw_gid) < 0 ||
      setresgid(found->pw_gid, found->pw_gid, found->pw_gid) < 0 ||
      setresuid(found->pw_uid, found->pw_uid, found->pw_uid) < 0) {
    Error error = from_errno(errno, "become user", user);
    error.next_step = "start as root, or leave --user out";
    return fail(std::move(error));
  }
  return {};
}

}  // namespace chokepoint::probe::serve
