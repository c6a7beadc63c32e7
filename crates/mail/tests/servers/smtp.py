"""A mail server that does as the recipient's address says.

The local part of the recipient is its script: words between dots, such as

    rcpt-550-5_1_1          refuse the recipient: 550 5.1.1
    data-554                refuse after the content
    dataonce-421            the same the first time, then accept
    swap-354-250            say 250 where 354 is due
    flaky-421-2             refuse the first two of this recipient at RCPT, then accept
    dropdata                take the content and hang up without a word
    droponce                the same the first time, then accept
    hang                    take the content and never answer
    tarpit                  never answer to RCPT
    anything else           accept

Every line on standard output is JSON: first the ports, then what was received. What came in is there
byte by byte, as base64, decrypted. It ends when its standard input does.
"""

import asyncio
import base64
import collections
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

SEEN = collections.Counter()


def tell(**what):
    print(json.dumps(what), flush=True)


class Server(SMTP):
    sessions = 0

    def __init__(self, *args, label="", inject=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.heard = bytearray()
        self.number = 0
        self.label = label
        self.inject = inject

    def connection_made(self, transport):
        # It is made twice where TLS comes later.
        if not self.number:
            Server.sessions += 1
            self.number = Server.sessions
        super().connection_made(transport)

    def data_received(self, data):
        self.heard += data
        super().data_received(data)

    async def push(self, status):
        recipients = self.envelope.rcpt_tos if self.envelope else []
        words = script(recipients[0]) if recipients else []
        if words and words[0] == "swap" and str(status).startswith(words[1]):
            status = words[2] + str(status)[3:]
        await super().push(status)

    async def smtp_STARTTLS(self, arg):
        if self.inject:
            # As one would who stands between: the next answer comes before it is asked for.
            self.transport.write(b"220 ready\r\n250-mx\r\n250 AUTH PLAIN\r\n")
            await self._writer.drain()
            return
        await super().smtp_STARTTLS(arg)

    def connection_lost(self, error):
        heard = base64.b64encode(bytes(self.heard)).decode()
        tell(kind="closed", session=self.number, server=self.label, heard=heard)
        super().connection_lost(error)


def script(address):
    return address.split("@")[0].split(".")[0].split("-")


def refusal(words):
    code = words[1]
    enhanced = words[2].replace("_", ".") + " " if len(words) > 2 else ""
    return f"{code} {enhanced}told to refuse"


class Handler:
    def __init__(self, pipelining):
        self.pipelining = pipelining

    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        session.host_name = hostname
        if self.pipelining:
            responses.insert(-1, "250-PIPELINING")
        return responses

    async def handle_MAIL(self, server, session, envelope, address, options):
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        words = script(address)
        if words[0] == "rcpt":
            text = refusal(words)
            return text.replace("told to refuse", f"<{address}>: told to refuse")
        if words[0] == "flaky":
            SEEN[address] += 1
            if SEEN[address] <= int(words[2]):
                return f"{words[1]} told to refuse"
        if words[0] == "tarpit":
            tell(kind="tarpit", session=server.number, recipients=[address])
            await asyncio.sleep(3600)
        if words[0] == "bye":
            server.transport.write(b"421 4.3.2 closing\r\n")
            server.transport.close()
            return "421 4.3.2 closing"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        address = envelope.rcpt_tos[0]
        words = script(address)
        tell(
            kind="mail",
            session=server.number,
            secure=session.ssl is not None,
            login=getattr(session.auth_data, "login", b"").decode() if session.auth_data else None,
            sender=envelope.mail_from,
            recipients=envelope.rcpt_tos,
            content=base64.b64encode(envelope.original_content).decode(),
        )
        SEEN["data:" + address] += 1
        if words[0] == "data" or words[0] == "dataonce" and SEEN["data:" + address] == 1:
            return refusal(words)
        if words[0] == "dropdata" or words[0] == "droponce" and SEEN["data:" + address] == 1:
            server.transport.abort()
            return "250 never said"
        if words[0] == "hang":
            await asyncio.sleep(3600)
        return "250 2.0.0 queued"


def authenticator(server, session, envelope, mechanism, data):
    if isinstance(data, LoginPassword) and data.login == b"odd":
        # As if more had to be said.
        return AuthResult(success=False, handled=False, message="334 ")
    # Anyone has any password.
    if isinstance(data, LoginPassword) and data.login == b"anyone":
        return AuthResult(success=True, handled=False, auth_data=data)
    good = isinstance(data, LoginPassword) and (data.login, data.password) == (b"user", b"pass:word")
    return AuthResult(success=good, handled=False, auth_data=data)


def factory(tls, **options):
    pipelining = options.pop("pipelining", False)
    loop = asyncio.get_running_loop()
    return lambda: Server(
        Handler(pipelining),
        hostname="mx.test",
        loop=loop,
        enable_SMTPUTF8=False,
        tls_context=tls,
        authenticator=authenticator,
        data_size_limit=33_554_432,
        **options,
    )


async def main():
    tls = None
    if len(sys.argv) > 2:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(sys.argv[1], sys.argv[2])
    loop = asyncio.get_running_loop()
    kinds = {
        # Without TLS; with STARTTLS offered; with TLS from the first byte.
        "plain": dict(make=factory(None, label="plain", pipelining=True, auth_require_tls=False)),
        "slow": dict(make=factory(None, label="slow", auth_require_tls=False)),
        "starttls": dict(make=factory(tls, label="starttls", pipelining=True)),
        "inject": dict(make=factory(tls, label="inject", inject=True)),
        "wrapped": dict(make=factory(None, label="wrapped", auth_require_tls=False), ssl=tls),
    }
    ports = {}
    for name, kind in kinds.items():
        server = await loop.create_server(kind["make"], "127.0.0.1", 0, ssl=kind.get("ssl"))
        ports[name] = server.sockets[0].getsockname()[1]
    tell(kind="ports", **ports)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
