// Which tunnels to look into; without, the outer packet is what is seen. A value, given to Decoder.
#pragma once

namespace chokepoint::capture::packet {

struct Tunnels {
  bool vxlan = false;   // UDP 4789 and 8472
  bool geneve = false;  // UDP 6081
  bool gre = false;     // also with Ethernet inside
  bool ip_in_ip = false;

  bool any() const { return vxlan || geneve || gre || ip_in_ip; }
};

}  // namespace chokepoint::capture::packet
