"""`chokepoint probe collective --backend nccl` between processes on one GPU."""

import hosts
import programs
import ranks
from outcome import Failed, decide

ETHERNET_GOODPUT = 1448 / 1538


def measured(session, name, count, size, between=None, log=True):
    command = [session.chokepoint, "probe", "collective", "--backend", "nccl", "--collective",
               "all-reduce", "--bytes", size, "--json"]
    document = programs.document(ranks.run(session, name, count, command, between, log),
                                 "probe collective")
    sizes = document.get("sizes") or []
    if not sizes:
        raise Failed("probe collective tells of no size")
    if any(not each.get("checked") for each in sizes):
        raise Failed("a rank got other data than was sent, or did not look", document=document)
    if document.get("ranks") != count:
        raise Failed(f"{document.get('ranks')} ranks took part, not {count}", document=document)
    return document


def loopback(session):
    """What NCCL says explains a failure; the last run leaves it to chokepoint, which reads there
    which way the data went."""
    words, figures = [], {}
    for count in (4, 3, 2):
        document = measured(session, f"ranks-{count}", count, "64M", log=count > 2)
        figures[str(count)] = document
        words.append(f"{count} ranks busbw {document['sizes'][-1]['busbw_mbps'] / 1000:.2f} Gb/s")
    return decide(True, "; ".join(words) + f" over {document.get('transport')}", **figures)


def over_veth(session, rate_mbps, size, least):
    with hosts.Hosts(session, rate_mbps) as between:
        document = measured(session, "ranks", 2, size, between, log=False)
    busbw = document["sizes"][-1]["busbw_mbps"]
    share = busbw / (rate_mbps * ETHERNET_GOODPUT)
    return decide(least <= share <= 1.03,
                  f"busbw {busbw:.0f} Mb/s, {100 * share:.1f} % of what the link carries; "
                  f"interface {document.get('interface')}, {document.get('transport')}",
                  document=document, share=share)


def veth_1g(session):
    return over_veth(session, 1000, "64M", 0.97)


def veth_10g(session):
    return over_veth(session, 10_000, "256M", 0.5)
