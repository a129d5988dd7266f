"""What the machines themselves are: a host with verbs, one without, and one whose port is down."""

import time

from checks import holds, same


def test_each_machine_has_a_device_whose_port_is_active(pair):
    for machine in pair:
        told = machine.output(["ibv_devinfo", "-d", "rxe0"])
        holds("PORT_ACTIVE" in told, told)
        holds("active_mtu:\t\t4096" in told, told)


def test_the_other_machine_answers_by_either_family(pair):
    a, b = pair
    b.serve(["iperf3", "-s"], port=5201)
    for address in (b.ipv4, b.ipv6):
        told = a.json(["iperf3", "-c", address, "-n", "100K", "-J"])
        holds("error" not in told, told)


def test_a_machine_has_its_own_name_and_this_hosts_files_but_cannot_write_them(pair):
    a, b = pair
    same([machine.output(["hostname"]) for machine in pair], ["a\n", "b\n"], "names")
    a.run(["sh", "-c", f"echo changed >{__file__}.mark"])
    same(a.output(["cat", f"{__file__}.mark"]), "changed\n", "seen by itself")
    holds(b.run(["cat", f"{__file__}.mark"], status=None).status != 0, "seen by the other one")


def test_what_is_written_to_the_shared_folder_is_seen_everywhere(pair):
    a, b = pair
    file = a.share / "note"
    a.run(["sh", "-c", f"echo here >{file}"])
    same((b.output(["cat", file]), file.read_text()), ("here\n", "here\n"), "by b and by this host")


def test_status_output_and_errors_are_told_apart(pair):
    done = pair[0].run(["sh", "-c", "echo out; echo err >&2; exit 7"], status=None)
    same((done.status, done.stdout(), done.stderr()), (7, "out\n", "err\n"), "of a program")


def test_a_program_in_the_background_ends_by_a_signal_with_all_it_started(pair):
    started = pair[0].start(["sh", "-c", "sleep 1000 & wait"])
    started.until(lambda: pair[0].run(["pgrep", "sleep"], status=None).status == 0, 20, "a sleep")
    holds(started.stop() != 0, "ended by itself")
    ended_by = time.monotonic() + 20  # its parent's end is seen first
    while pair[0].run(["pgrep", "sleep"], status=None).status == 0:
        holds(time.monotonic() < ended_by, "a child has survived")


def test_a_program_sees_the_interrupt_it_is_sent(pair):
    started = pair[0].start(["sh", "-c", "trap 'echo interrupted; exit 3' INT; echo; sleep 1000"])
    started.until(started.stdout, 20, "its first line")
    same((started.stop("INT"), started.stdout()), (3, "\ninterrupted\n"), "status and output")


def test_a_port_that_is_down_is_told_as_such(pair):
    a = pair[0]
    a.run(["ip", "link", "set", "eth0", "down"])
    try:
        holds("PORT_DOWN" in a.output(["ibv_devinfo", "-d", "rxe0"]), "the port is not down")
    finally:
        a.run(["ip", "link", "set", "eth0", "up"])
        a.run(["ip", "address", "replace", f"{a.ipv6}/64", "dev", "eth0", "nodad"])


def test_a_machine_without_a_device_has_none(machines):
    alone = machines.alone(rdma=False)
    holds("No IB devices found" in alone.run(["ibv_devinfo"], status=None).stderr(),
          "a device is there")
    alone.close()
