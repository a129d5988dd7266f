// Opens libchokepoint-quic.so when QUIC is first asked for, and keeps it: threads of a server may
// be in it until the program ends.
#include "base/sys/library.h"

#include <string_view>
#include <utility>

#include "probe/quic/connection.h"
#include "probe/quic/module/interface.h"

namespace chokepoint::probe::quic {
namespace {

Error unusable_quic(const Error& error) {
  // The loader's message begins with the library that it did not find.
  const std::string missing = error.reason.substr(0, error.reason.find(':'));
  if (missing.starts_with("lib")) {
    return {.kind = ErrorKind::NotFound,
            .operation = "",
            .subject = missing,
            .reason = "not found on this host",
            .next_step = "install it; Debian's packages are named as the library is"};
  }
  return {.kind = error.kind,
          .operation = "",
          .subject = module::kModuleName,
          .reason = error.reason,
          .next_step = "QUIC's encryption is this host's GnuTLS, 3.7.2 or newer"};
}

Result<const module::Functions*> open_quic() {
  const auto path = sys::own_library(module::kModuleName);
  if (!path) {
    return fail(ErrorKind::Unsupported, "", "", "this build has no QUIC library",
                "install libngtcp2-dev and libngtcp2-crypto-gnutls-dev (Fedora: ngtcp2-devel), and "
                "build it anew");
  }
  const Result<sys::Library> library = sys::Library::open_own_for_good(module::kModuleName);
  if (!library) {
    return fail(unusable_quic(library.error()));
  }
  auto* entry = library->function<module::Entry>(module::kEntryName);
  const module::Functions* functions = entry == nullptr ? nullptr : entry();
  if (functions == nullptr || functions->layout != module::kLayout ||
      std::string_view(functions->compiler) != module::kCompiler) {
    return fail(ErrorKind::Unsupported, "", path->string(),
                "belongs to another version of chokepoint", "install both from one package");
  }
  return functions;
}

const Result<const module::Functions*>& quic_module() {
  static const Result<const module::Functions*> opened = open_quic();
  return opened;
}

}  // namespace

Result<> can_quic() { return quic_module() ? Result<>{} : std::unexpected(quic_module().error()); }

std::string library_version() { return quic_module() ? (*quic_module())->library : ""; }

Result<std::unique_ptr<Identity>> Identity::make() {
  TRY(const auto* functions, quic_module());
  return functions->make_identity();
}

Result<std::unique_ptr<Gate>> Gate::make() {
  TRY(const auto* functions, quic_module());
  return functions->make_gate();
}

Result<std::unique_ptr<Connection>> Connection::accept(const Identity& identity, const Ends& ends,
                                                       const Tuning& tuning, Packet first,
                                                       const Opening* retried,
                                                       std::int64_t now_ns) {
  TRY(const auto* functions, quic_module());
  return functions->accept(identity, ends, tuning, first, retried, now_ns);
}

Result<std::unique_ptr<Connection>> Connection::connect(const Expected& server, const Ends& ends,
                                                        const Tuning& tuning, const Ticket* ticket,
                                                        std::int64_t now_ns) {
  TRY(const auto* functions, quic_module());
  return functions->connect(server, ends, tuning, ticket, now_ns);
}

}  // namespace chokepoint::probe::quic
