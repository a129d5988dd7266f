"""What paces TCP where the interface has fq, which the lab's kernel may not have."""

import gaps
from checks import same

RATE_MBPS = 10


def paced(a, b, file):
    with gaps.captured(b, "eth0", "tcp", file):
        told = a.json(["chokepoint", "probe", "tcp", b.ipv4, "--json", "--time", "2",
                       "--rate", f"{RATE_MBPS}M"])
    gaps.check_paced(gaps.payloads(file), RATE_MBPS)
    return told["pacing"]


def test_fq_paces_where_it_is_and_tcps_own_timer_elsewhere(pair):
    a, b = pair
    b.serve(["chokepoint", "serve", "--insecure-open"], port=5210)
    a.tc("qdisc", "replace", "dev", "eth0", "root", "pfifo")
    same(paced(a, b, a.share / "timer.pcap"), "timer", "with pfifo")
    a.tc("qdisc", "replace", "dev", "eth0", "root", "fq")
    same(paced(a, b, a.share / "fq.pcap"), "fq", "with fq")
