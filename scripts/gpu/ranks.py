"""Ranks that share the one GPU. NCCL refuses that of one host, so each claims a host of its own, and
then has to take the network: sockets. For function, not for speed."""

import os
import time

import hosts
import machine

PORT = 29517
TELLING_S = 5


def environment(rank, count, interface="lo", address="127.0.0.1"):
    return {"RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": "0",
            "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": address, "MASTER_PORT": str(PORT),
            "CUDA_VISIBLE_DEVICES": "0", "NCCL_HOSTID": f"gpu-check-{rank}",
            "NCCL_NET": "Socket", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1",
            # Nor by NVLink between "hosts", which one GPU with itself would be.
            "NCCL_MNNVL_ENABLE": "0",
            "NCCL_SOCKET_IFNAME": f"={interface}", "GLOO_SOCKET_IFNAME": interface}


def told_by_nccl(file):
    """NCCL would write on standard output, among the documents. chokepoint sees to that by itself
    where nothing is set, and reads there which way the data went."""
    return {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET", "NCCL_DEBUG_FILE": str(file)}


def with_nccl(session):
    """Where the loader looks, and PyTorch's NCCL before it."""
    places = [machine.nccl_folder(session), os.environ.get("LD_LIBRARY_PATH")]
    return {"LD_LIBRARY_PATH": ":".join(str(place) for place in places if place)}


def start(session, name, count, command, between=None, log=True):
    """The same command as each rank; `command` may be a function of the rank. Rank 0 comes first."""
    programs = []
    for rank in range(count):
        words = command(rank) if callable(command) else command
        if between:
            words = between.inside(rank, words)
            variables = environment(rank, count, hosts.INTERFACE, hosts.ADDRESSES[0])
        else:
            variables = environment(rank, count)
        variables |= with_nccl(session)
        if log:
            variables |= told_by_nccl(session.folder / f"{name}-{rank}.nccl")
        programs.append(session.start(f"{name}-{rank}", words, variables))
    return programs


def settle(session, programs):
    """Until all have ended. Where one failed the others wait for it, or tell of it: they get a
    moment for that."""
    deadline = time.monotonic() + session.left_s()
    has_failed = False
    while time.monotonic() < deadline and any(each.process.poll() is None for each in programs):
        if not has_failed and any(each.process.poll() for each in programs):
            has_failed = True
            deadline = min(deadline, time.monotonic() + TELLING_S)
        time.sleep(0.1)


def run(session, name, count, command, between=None, log=True):
    """What rank 0 printed. `log`: what NCCL says is kept."""
    programs = start(session, name, count, command, between, log)
    settle(session, programs)
    failed = [each for each in programs if each.process.poll()]
    failed.sort(key=lambda each: not each.complaint())
    return [each.wait(session.left_s()) for each in failed + programs][0]
