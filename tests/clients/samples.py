"""Checks the samples of the API reference with the installed clients, and runs those in Python against a gateway.

usage: samples.py PYTHON NODE TSC TYPES MYPY

PYTHON has the wheel, the folder NODE has the npm package; TSC checks with the types of the folder TYPES, and MYPY with the
packages of PYTHON.
"""

import html
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

python, node, tsc, types, *mypy = sys.argv[1:]
root = pathlib.Path(__file__).parents[2]
url, token = os.environ["GANCHO_TEST_URL"], os.environ["GANCHO_TEST_TOKEN"]
# These never end.
ENDLESS = {"tailDeliveries"}
# What they bring in was exported elsewhere.
IMPORTS = ("importDeadLetters",)

RUN = """
import json, sys
import gancho

failed = {}
for id, code in json.load(open(sys.argv[1])).items():
    try:
        exec(compile(code, id, "exec"), {"print": lambda *_: None})
    except (gancho.NotFoundError, gancho.ConflictError) as error:
        pass  # The ids are made up.
    except Exception as error:
        failed[id] = repr(error)
sys.exit(json.dumps(failed, indent=1) if failed else 0)
"""


def operate(path, body):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    return json.load(urllib.request.urlopen(urllib.request.Request(url + path, json.dumps(body).encode(), headers)))


def operations():
    document = json.load(urllib.request.urlopen(url + "/openapi.json"))
    return {operation["operationId"]: operation for path in document["paths"].values() for operation in path.values()}


def served(samples):
    """Every sample is on a page of the gateway."""
    slugs = {operation["tags"][0].lower().replace(" ", "-") for operation in operations().values()}
    pages = "".join(urllib.request.urlopen(f"{url}/docs/{slug}").read().decode() for slug in sorted(slugs))
    for id, sample in samples.items():
        for language in ("python", "typescript"):
            escaped = sample[language].replace("&", "&#38;").replace("<", "&#60;").replace(">", "&#62;")
            escaped = escaped.replace('"', "&#34;").replace("'", "&#39;")
            assert f'<pre class="{language}" tabindex="0"><code>{escaped}</code></pre>' in pages, f"{id}: {language}"


def run_curl():
    """None of them is refused for what it lacks."""
    operate("/v1/tenants", {"slug": "curled"})
    key = operate("/v1/tenants/curled/api-keys", {"scopes": ["publish", "read", "manage"]})["key"]
    environment = {**os.environ, "GANCHO_URL": url, "GANCHO_API_KEY": key, "GANCHO_ADMIN_TOKEN": token}
    slugs = {operation["tags"][0].lower().replace(" ", "-") for operation in operations().values()}
    commands = []
    for slug in sorted(slugs):
        page = urllib.request.urlopen(f"{url}/docs/{slug}").read().decode()
        commands += re.findall(r'<pre class="curl"[^>]*><code>(.*?)</code></pre>', page, re.S)
    assert len(commands) == len(operations())
    # One does not end, one imports what was exported elsewhere, and cells are databases that are not there.
    left_out = ("/deliveries/tail", "/v1/dlq/import", "/v1/cells")
    commands = [html.unescape(command) for command in commands if not any(path in command for path in left_out)]
    commands.sort(key=lambda command: "-X DELETE" in command)
    for command in commands:
        # The ids are made up, and what is the operator's own is not for a tenant's key.
        asked = command.replace("curl ", "curl -s -o /dev/null -w '%{http_code}' -H 'X-Tenant: curled' ", 1)
        if "GANCHO_API_KEY" in command:
            asked = asked.replace(" -H 'X-Tenant: curled'", "")
        status = subprocess.run(["sh", "-c", asked], env=environment, capture_output=True, text=True, timeout=60).stdout
        assert status[:1] == "2" or status in ("404", "409"), f"{status}: {command}"
    return len(commands)


def check_typescript(samples):
    folder = pathlib.Path(node) / "samples"
    folder.mkdir(exist_ok=True)
    for id, sample in samples.items():
        (folder / f"{id}.mts").write_text(sample["typescript"] + "\n")
    options = ["--noEmit", "--module", "nodenext", "--target", "es2022", "--strict", "--types", "node", "--typeRoots", types]
    files = sorted(str(file) for file in folder.glob("*.mts"))
    assert len(files) == len(samples)
    subprocess.run([tsc, *options, *files], check=True, cwd=node)


def check_python(samples, folder):
    for id, sample in samples.items():
        (folder / f"{id}.py").write_text(sample["python"] + "\n")
    options = ["--strict", "--python-executable", python, "--cache-dir", str(folder / "cache"), "--no-error-summary"]
    subprocess.run([*mypy, *options, "--scripts-are-modules", *sorted(map(str, folder.glob("*.py")))], check=True)


def run_python(samples, folder):
    operate("/v1/tenants", {"slug": "acme"})
    key = operate("/v1/tenants/acme/api-keys", {"scopes": ["publish", "read", "manage"]})["key"]
    # The operator acts for a tenant where an operation is of one and for people, such as API keys of its own.
    environment = {**os.environ, "GANCHO_URL": url, "GANCHO_API_KEY": key, "GANCHO_ADMIN_TOKEN": token, "GANCHO_TENANT": "acme"}
    # The tenant goes last, and before it what others may need.
    order = sorted(samples, key=lambda id: (id == "deleteTenant", id.startswith(("delete", "pause", "purge", "revoke")), id))
    code = folder / "samples.json"
    code.write_text(json.dumps({id: samples[id]["python"] for id in order if id not in (*ENDLESS, *IMPORTS)}))
    done = subprocess.run([python, "-I", "-c", RUN, str(code)], env=environment, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def main():
    samples = json.loads((root / "crates/api/assets/samples.json").read_text())
    assert samples.keys() == operations().keys()
    served(samples)
    count = run_curl()
    check_typescript(samples)
    with tempfile.TemporaryDirectory() as folder:
        check_python(samples, pathlib.Path(folder))
        run_python(samples, pathlib.Path(folder))
    print(f"samples of /docs: {len(samples)} type-checked in two languages, those in Python run, and {count} in curl")


main()
