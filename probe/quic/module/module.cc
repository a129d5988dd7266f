#include "probe/quic/module/interface.h"
#include "probe/quic/module/ngtcp2.h"

using chokepoint::probe::quic::module::Functions;

extern "C" __attribute__((visibility("default"))) const Functions* chokepoint_quic_functions() {
  namespace module = chokepoint::probe::quic::module;
  static constexpr Functions kFunctions{.layout = module::kLayout,
                                        .compiler = module::kCompiler,
                                        .library = "ngtcp2 " NGTCP2_VERSION,
                                        .make_identity = module::make_identity,
                                        .make_gate = module::make_gate,
                                        .accept = module::accept_connection,
                                        .connect = module::open_connection};
  return &kFunctions;
}
