// Compiled instead of ngtcp2.cc where the library was missing at build time.
#include "probe/quic/connection.h"

namespace chokepoint::probe::quic {

struct Identity::Private {
  Fingerprint fingerprint = {};
};

bool can_quic() { return false; }

std::string library_version() { return {}; }

Identity::Identity(std::unique_ptr<Private> inner) : private_(std::move(inner)) {}
Identity::~Identity() = default;
const Fingerprint& Identity::fingerprint() const { return private_->fingerprint; }

Result<std::unique_ptr<Identity>> Identity::make() { return fail(missing_quic()); }

Result<std::unique_ptr<Connection>> Connection::accept(const Identity&, const Ends&, const Tuning&,
                                                       Packet, std::int64_t) {
  return fail(missing_quic());
}

Result<std::unique_ptr<Connection>> Connection::connect(const Fingerprint&, const Ends&,
                                                        const Tuning&, const Ticket*,
                                                        std::int64_t) {
  return fail(missing_quic());
}

}  // namespace chokepoint::probe::quic
