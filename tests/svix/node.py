"""Runs the tour of the client for Node.js against a running gateway.

usage: node.py GANCHO SCRIPT [DATABASE_URL]
"""

import subprocess
import sys

from stage import TOKEN, Gateway, drop_database, new_database


def main():
    gancho, script, server = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None
    name, database = new_database(server) if server else (None, None)
    gateway = Gateway(gancho, database)
    try:
        assert gateway.call("/v1/tenants", {"slug": "other"})[0] == 201
        subprocess.run(["node", script, gateway.url, TOKEN, gateway.key_of("other")], check=True, timeout=300)
    finally:
        gateway.stop()
        if name:
            drop_database(server, name)


main()
