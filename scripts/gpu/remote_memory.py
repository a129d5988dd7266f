"""RDMA into the GPU's memory, where there is a device for it."""

import pathlib

from outcome import Skipped, decide


def gpu_memory(session):
    devices = pathlib.Path("/sys/class/infiniband")
    names = sorted(entry.name for entry in devices.iterdir()) if devices.exists() else []
    if not names:
        raise Skipped("no RDMA device")
    server = session.start("serve", [session.chokepoint, "serve", "--insecure-open"])
    try:
        document = session.ask("write", ["rdma", "write", "bw", "127.0.0.1", "--memory", "gpu:0",
                                         "--json"])
    finally:
        server.end()
    return decide((document.get("average_mbps") or 0) > 0,
                  f"write over {document.get('device')}: {document.get('average_mbps')} Mb/s",
                  document=document)
