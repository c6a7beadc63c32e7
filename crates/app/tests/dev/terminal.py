"""`gancho dev` in a terminal of 80 by 24: what is on the first screen, and what single keys do."""

import fcntl
import os
import pty
import re
import select
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


until("q quit")
lines = shown.rstrip("\n").split("\n")
wide = [line for line in lines if len(line) > COLUMNS and "/ui/login/" not in line]
if len(lines) >= ROWS or wide:
    sys.exit(f"{len(lines)} lines, too wide: {wide}\n{shown}")
if "signature verified" not in shown:
    sys.exit(f"no success on the first screen:\n{shown}")

press(b"p", "published", "attempt 1: 200 in")
press(b"f", "attempt 1: 500 in", "retry in 5 s", "attempt 2: 200 in")
press(b"w", "received", "signature verified")
press(b"e", "To: ana@example.com", "Subject: ", "Hello Ana")
press(b"?", "receiver down", "curl")
press(b"\x04", "Stopped")
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
