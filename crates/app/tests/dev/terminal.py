"""`gancho dev` in a terminal of 80 by 24: what is on the first screen, what single keys do, and that what the main
commands print beside it fits, too."""

import fcntl
import os
import pty
import re
import select
import socket
import struct
import sys
import termios
import time

gancho, folder = sys.argv[1:]
COLUMNS, ROWS = 80, 24

pid, terminal = pty.fork()
if pid == 0:
    os.execv(gancho, ["gancho", "dev", "--port", "0", "--data-dir", folder])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
shown = ""


def read(seconds):
    global shown
    if not select.select([terminal], [], [], seconds)[0]:
        return
    try:
        piece = os.read(terminal, 65536).decode(errors="replace")
    except OSError:
        return
    shown += re.sub(r"\x1b\[[0-9;]*m", "", piece).replace("\r\n", "\n")


def until(*parts, start=0):
    end = time.monotonic() + 60
    while not all(part in shown[start:] for part in parts):
        if time.monotonic() > end:
            sys.exit(f"none of {parts} within 60 seconds in:\n{shown[start:]}")
        read(0.2)


def press(key, *parts):
    start = len(shown)
    os.write(terminal, key)
    until(*parts, start=start)


def run(*arguments):
    """What a command prints in another terminal of the same size."""
    pid, other = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.environ["GANCHO_URL"] = re.search(r"export GANCHO_URL=(\S+)", shown)[1]
        os.environ["GANCHO_API_KEY"] = open(f"{folder}/dev.key").read().strip()
        os.execv(gancho, ["gancho", *arguments])
    said = b""
    try:
        while piece := os.read(other, 65536):
            said += piece
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    said = re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).replace("\r\n", "\n")
    if status != 0:
        sys.exit(f"gancho {' '.join(arguments)}: {said}")
    return said


def fits(*arguments, has=""):
    said = run(*arguments)
    wide = [line for line in said.split("\n") if len(line) > COLUMNS]
    if wide or has not in said:
        sys.exit(f"gancho {' '.join(arguments)}: too wide, or without {has!r}:\n{said}")
    return said


until("q quit")
lines = shown.rstrip("\n").split("\n")
wide = [line for line in lines if len(line) > COLUMNS]
if len(lines) >= ROWS or wide:
    sys.exit(f"{len(lines)} lines, too wide: {wide}\n{shown}")
if "signature verified" not in shown:
    sys.exit(f"no success on the first screen:\n{shown}")

press(b"p", "published", "attempt 1: 200 in")
press(b"f", "attempt 1: 500 in", "retry in 5 s", "attempt 2: 200 in")
press(b"w", "received", "signature verified")
press(b"e", "To: ana@example.com", "Subject: ", "Hello Ana")
press(b"?", "receiver down", "curl")
press(b"l", "/ui/login/", "opens once")

# An endpoint where nobody answers: its failures are on the screen, with its URL.
with socket.socket() as nobody:
    nobody.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{nobody.getsockname()[1]}/hooks/of/a/path/that/is/longer/than/its/column"
run("endpoints", "create", url, "--event", "order.*", "--retry-schedule", "1s")
start = len(shown)
fits("publish", "order.paid", '{"id": "ord_1"}', has="to 2 endpoints")
until("failed", "gave up", f"at {url[:40]}", start=start)

delivery = re.search(r"dlv_\w+", fits("deliveries", "list", has="delivered"))[0]
fits("deliveries", "show", delivery, has="order.paid")
fits("dlq", "list", has="dlv_")
fits("endpoints", "list", has="order.*")
fits("events", "list", has="order.paid")
fits("event-types", "list", "--limit", "5")
fits("api-keys", "list", has="dev")
fits("stats")
press(b"\x04", "Stopped")
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
