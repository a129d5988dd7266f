#include "base/checks/locked_memory.h"

#include "base/math/units.h"

namespace chokepoint::checks {
namespace {

std::string size_text(std::int64_t bytes) {
  return bytes == host::kUnlimited ? "unlimited" : math::format_bytes(static_cast<double>(bytes));
}

}  // namespace

void check_locked_memory(const host::Process& process, bool has_rdma, Checks& checks) {
  Check check{.id = "memory.lock",
              .subject = "host",
              .wanted = has_rdma ? "unlimited" : "",
              .why =
                  "RDMA registers its buffers, which locks them: beyond the limit "
                  "ibv_reg_mr fails with 'cannot allocate memory'"};
  if (!process.locked_memory_bytes) {
    check.status = has_rdma ? Status::Unknown : Status::Info;
    check.next_step = "ulimit -l";
  } else {
    check.found = size_text(process.locked_memory_bytes->soft);
    const bool enough = process.locked_memory_bytes->soft == host::kUnlimited ||
                        has(process, host::Capability::IpcLock).value_or(false);
    if (has_rdma && !enough) {
      check.status = Status::Warning;
      check.next_step =
          "printf '* - memlock unlimited\\n' > /etc/security/limits.d/rdma.conf, log in again; "
          "LimitMEMLOCK=infinity for a systemd unit such as slurmd";
    }
  }
  checks.push_back(std::move(check));
}

}  // namespace chokepoint::checks
