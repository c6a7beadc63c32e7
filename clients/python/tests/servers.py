"""A receiver of webhooks, and a proxy that loses requests and answers."""

import http.client
import http.server
import queue
import socket
import struct
import threading
import time
from urllib.parse import urlsplit


class _Server:
    tls = None

    def __enter__(self):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.http.daemon_threads = True
        self.http.handle_error = lambda *_: None
        if self.tls:
            self.http.socket = self.tls.wrap_socket(self.http.socket, server_side=True)
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


class Receiver(_Server):
    """Keeps what arrives in `arrived`; answers with `status`."""

    def __init__(self):
        self.arrived, self.status = queue.Queue(), 204

    def _handler(receiver):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.arrived.put((dict(self.headers.items()), body))
                self.send_response(receiver.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler

    def next(self):
        return self.arrived.get(timeout=30)


class Proxy(_Server):
    """Forwards requests to the gateway; `script` says what becomes of the next ones.

    `cut`: the gateway gets the request, and the connection is closed before its answer is passed on. `hold`: the same,
    and the connection stays open without an answer. `drip`: the answer comes a byte at a time. A number: this status,
    and the gateway gets nothing. `html`: the page of something else. A tuple: this status, content type and body, and
    maybe further headers. `reset`: the gateway gets the request, and the connection is reset. `short`: the answer ends
    before its length. `endless`: an answer that goes on and on. `garbage`: not HTTP. `silent`: the head of an answer to
    which nothing follows.
    """

    def __init__(self, target, tls=None):
        self.tls = tls
        self.target, self.script, self.requests = target, [], []
        self.stopped = threading.Event()
        self.retry_after = None

    def __exit__(self, *_):
        self.stopped.set()
        super().__exit__()

    def _handler(proxy):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                proxy.requests.append((self.command, self.path, dict(self.headers.items()), body))
                act = proxy.script.pop(0) if proxy.script else "pass"
                if act == "html":
                    return self.answer(200, [("content-type", "text/html")], b"<!doctype html><p>Hello")
                if isinstance(act, tuple):
                    status, kind, text, *headers = act
                    return self.answer(status, [("content-type", kind), *headers], text.encode(errors="surrogateescape"))
                if act == "garbage":
                    self.close_connection = True
                    return self.wfile.write(b"\x00\xff" * 20 + b"\r\n\r\n")
                if act == "endless":
                    self.close_connection = True
                    return self.endless()
                if act == "silent":
                    self.close_connection = True
                    self.answer(200, [("content-type", "text/event-stream")], b"", length=1000)
                    return proxy.stopped.wait(60)
                if act == "redirect":
                    return self.answer(308, [("location", "https://example.com/")], b"")
                if isinstance(act, int):
                    headers = [("retry-after", proxy.retry_after)] if proxy.retry_after else []
                    return self.answer(act, [("content-type", "text/html"), *headers], b"<p>busy")
                gateway = http.client.HTTPConnection(urlsplit(proxy.target).netloc, timeout=30)
                gateway.request(self.command, self.path, body or None, dict(self.headers.items()))
                answer = gateway.getresponse()
                content = answer.read()
                gateway.close()
                if act == "cut":
                    self.close_connection = True
                    return self.connection.shutdown(socket.SHUT_RDWR)
                if act == "reset":
                    self.close_connection = True
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return self.connection.close()
                if act == "hold":
                    self.close_connection = True
                    return proxy.stopped.wait(60)
                headers = [(k, v) for k, v in answer.getheaders() if k.lower() not in ("content-length", "connection")]
                if act == "short":
                    self.close_connection = True
                    return self.answer(answer.status, headers, content[:-5], length=len(content))
                self.answer(answer.status, headers, content, slowly=act == "drip")

            def endless(self):
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.end_headers()
                while not proxy.stopped.is_set():
                    self.wfile.write(b" " * 65536)

            def answer(self, status, headers, content, slowly=False, length=None):
                self.send_response_only(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("content-length", str(length or len(content)))
                self.end_headers()
                for at in range(len(content) if slowly else 0):
                    self.wfile.write(content[at : at + 1])
                    time.sleep(0.2)
                    if proxy.stopped.is_set():
                        return
                if not slowly:
                    self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

            def handle(self):
                try:
                    super().handle()
                except OSError:
                    pass

            def finish(self):
                try:
                    super().finish()
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        return Handler
