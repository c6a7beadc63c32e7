"""Draws `gancho dev` as an SVG picture, from what it prints in a terminal of 80 by 24: the first screen, and a delivery
that fails and recovers.

usage: picture.py GANCHO > docs/pictures/dev.svg
       picture.py GANCHO --check docs/pictures/dev.svg
"""

import fcntl
import html
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time

COLUMNS, ROWS = 80, 24
# Of a character, in pixels.
WIDTH, HEIGHT = 8.4, 19
COLORS = {"31": "#f47067", "32": "#57ab5a", "33": "#c69026", "34": "#539bf5"}


def capture(gancho):
    """What it prints, with the codes of its colors."""
    folder = tempfile.TemporaryDirectory()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder.name)
        os.environ["PATH"] = os.path.dirname(gancho) + ":" + os.environ["PATH"]
        os.environ["TERM"] = "xterm-256color"
        os.execvp("gancho", ["gancho", "dev", "--port", "0"])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    shown = b""

    def until(pattern):
        nonlocal shown
        end = time.monotonic() + 60
        while not re.search(pattern, re.sub(rb"\x1b\[[0-9;]*m", b"", shown)):
            if time.monotonic() > end:
                sys.exit(f"no {pattern} within 60 seconds in:\n{shown.decode()}")
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 65536)

    until(b"q quit")
    os.write(terminal, b"f")
    until(rb"attempt 2: 200 in.*\n.*\n")
    text = shown
    os.write(terminal, b"q")
    os.waitpid(pid, 0)
    folder.cleanup()
    return text.decode().replace("\r\n", "\n")


def usual(text):
    """With the ports that it has where they are free, and the link cut to what fits."""
    ports = dict.fromkeys(re.findall(r"127\.0\.0\.1:(\d+)", text))
    for port, usual_port in zip(ports, ("3000", "3001", "9460"), strict=True):
        # What follows in a column stays where it was.
        text = re.sub(f":{port}( +)", lambda gap: f":{usual_port}{gap[1]}" + " " * (len(port) - 4), text)
        text = text.replace(f":{port}", f":{usual_port}")
    return re.sub(r"(/ui/login/[\w-]{8})[\w-]+", r"\1…", text).rstrip("\n")


def line_of(line, row):
    """The parts of a line, each in its color."""
    parts, style, column = [], {}, 0
    for code, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b]+)", line):
        if not text:
            for one in code.split(";"):
                if one in ("", "0"):
                    style = {}
                elif one == "1":
                    style = {**style, "font-weight": "bold"}
                elif one == "2":
                    style = {**style, "fill": "#768390"}
                elif one in COLORS:
                    style = {**style, "fill": COLORS[one]}
            continue
        shown = "".join(f' {name}="{value}"' for name, value in style.items())
        # Each word at its own place, so that columns stay columns in any font.
        for word in re.finditer(r"\S+", text):
            at, length = 16 + (column + word.start()) * WIDTH, len(word[0]) * WIDTH
            parts.append(f'<tspan x="{at:.1f}" textLength="{length:.1f}"{shown}>{html.escape(word[0])}</tspan>')
        column += len(text)
    return f'<text y="{30 + row * HEIGHT}">{"".join(parts)}</text>' if parts else ""


def picture(text):
    lines = text.strip("\n").split("\n")
    width, height = 32 + COLUMNS * WIDTH, 32 + len(lines) * HEIGHT
    drawn = "\n".join(filter(None, (line_of(line, row) for row, line in enumerate(lines))))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}">
<title>gancho dev in a terminal: a delivery with a verified signature, then one that fails and recovers</title>
<rect width="100%" height="100%" rx="8" fill="#22272e"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#adbac7">
{drawn}
</g>
</svg>
"""


def words(svg):
    """What is drawn, without what differs from run to run: ids, times and durations."""
    drawn = " ".join(re.findall(r"<tspan[^>]*>([^<]*)", svg))
    drawn = re.sub(r"evt_\w{26}|\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=/login/)[\w-]+", "*", drawn)
    return re.sub(r"[\d.]+ ms|(?<=Gancho )[\d.]+", "*", drawn)


if __name__ == "__main__":
    drawn = picture(usual(capture(os.path.abspath(sys.argv[1]))))
    if len(sys.argv) == 2:
        print(drawn, end="")
        sys.exit()
    with open(sys.argv[3]) as kept:
        before, now = words(kept.read()), words(drawn)
    if before != now:
        sys.exit(f"{sys.argv[3]} is stale: draw it again with picture.py\n{before}\n{now}")
