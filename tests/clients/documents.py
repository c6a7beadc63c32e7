"""Runs the code of the clients' documents with the installed packages, against a running gateway.

usage: documents.py PYTHON NODE TSC TYPES PACKAGES

PYTHON has the wheel, the folder NODE has the npm package, both from the folder PACKAGES; TSC compiles, with the types of the
folder TYPES. All code blocks of a document are one program. What it prints is what the `text` blocks show. The files that
the documents in docs/clients install are there.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.request

python, node, tsc, types, packages = sys.argv[1:]
root = pathlib.Path(__file__).parents[2]
url, token = os.environ["GANCHO_TEST_URL"], os.environ["GANCHO_TEST_TOKEN"]


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (root / document).read_text(), re.M | re.S)


def operate(path, body):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    return json.load(urllib.request.urlopen(urllib.request.Request(url + path, json.dumps(body).encode(), headers)))


def environment(slug):
    operate("/v1/tenants", {"slug": slug})
    key = operate(f"/v1/tenants/{slug}/api-keys", {"scopes": ["publish", "read", "manage"]})["key"]
    return {**os.environ, "GANCHO_URL": url, "GANCHO_API_KEY": key, "GANCHO_TOKEN": token}


def python_program(code):
    path = pathlib.Path(node) / "document.py"
    path.write_text(code)
    return [python, "-I", "-W", "error::DeprecationWarning", str(path)]


def typescript_program(code):
    path = pathlib.Path(node) / "document.mts"
    path.write_text(code)
    options = ["--module", "nodenext", "--target", "es2022", "--strict", "--types", "node", "--typeRoots", types]
    subprocess.run([tsc, *options, str(path)], check=True, cwd=node)
    return ["node", str(path.with_suffix(".mjs"))]


def main():
    for document in ("docs/clients/python.md", "docs/clients/typescript.md"):
        [install] = blocks(document, "sh")
        file = re.search(r"install (\S+\.(?:whl|tgz))", install)[1]
        assert (pathlib.Path(packages) / file).exists(), f"{document} installs {file}, which clients/build does not make"
    documents = [
        ("docs/clients/python.md", "python", python_program),
        ("clients/python/README.md", "python", python_program),
        ("docs/clients/typescript.md", "ts", typescript_program),
        ("clients/typescript/README.md", "ts", typescript_program),
    ]
    for number, (document, language, program) in enumerate(documents):
        code, shown = "\n".join(blocks(document, language)), "".join(blocks(document, "text"))
        assert code and shown, document
        try:
            done = subprocess.run(
                program(code), env=environment(f"doc-{number}"), stdout=subprocess.PIPE, text=True, timeout=120
            )
        except subprocess.TimeoutExpired as hung:
            sys.exit(f"{document} did not end; it printed\n{(hung.stdout or b'').decode()}")
        assert done.returncode == 0, f"{document}: exit {done.returncode}\n{done.stdout}"
        assert done.stdout == shown, f"{document} shows\n{shown}but it prints\n{done.stdout}"
        print(f"{document}: {len(blocks(document, language))} blocks run")


main()
