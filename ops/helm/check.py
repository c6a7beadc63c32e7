"""Renders the chart as users would, and checks the objects against each other and against docs/config.md."""

import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "ops/helm/gancho"
HELM = Path(sys.executable).with_name("helm")
TOKEN = ["--set", "adminToken=an-operator-token-of-some-length"]
POSTGRES = [*TOKEN, "--set", "database.existingSecret=db", "--set", "replicas=3", "--set", "masterKey=1 abc"]
SETTINGS = set(re.findall(r"GANCHO_[A-Z0-9_]+", (ROOT / "docs/config.md").read_text()))


def helm(*arguments):
    return subprocess.run([HELM, *arguments], capture_output=True, text=True, check=False)


def render(*values):
    done = helm("template", "shop", str(CHART), *values)
    assert done.returncode == 0, done.stderr
    objects = [one for one in yaml.safe_load_all(done.stdout) if one]
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


def refused(part, *values):
    done = helm("template", "shop", str(CHART), *values)
    assert done.returncode != 0 and part in done.stderr, (part, done.stderr)


def check(objects, kind):
    workload = objects[kind, "shop-gancho"]
    spec = workload["spec"]
    pod = spec["template"]
    labels = pod["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    [container] = pod["spec"]["containers"]
    env = {one["name"]: one for one in container["env"]}
    assert len(env) == len(container["env"]), "a variable is set twice"
    unknown = set(env) - SETTINGS
    assert not unknown, f"not settings of the gateway: {unknown}"
    for variable in env.values():
        ref = variable.get("valueFrom", {}).get("secretKeyRef")
        if ref and ("Secret", ref["name"]) in objects:
            assert ref["key"] in objects["Secret", ref["name"]]["stringData"], ref
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    for name, port in ports.items():
        service = objects["Service", f"shop-gancho-{name}"]["spec"]
        assert service["selector"].items() <= labels.items()
        assert service["ports"][0]["targetPort"] == name
        assert env[f"GANCHO_{name.upper()}_LISTEN"]["value"] == f"0.0.0.0:{port}"
    probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert probes["readiness"] == {"path": "/readyz", "port": "api"}
    assert probes["liveness"] == probes["startup"] == {"path": "/healthz", "port": "api"}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    stops = [int(env[f"GANCHO_{name}"]["value"].rstrip("s")) for name in ("LAME_DUCK", "STOP_TIMEOUT")]
    assert pod["spec"]["terminationGracePeriodSeconds"] > sum(stops)
    volumes = {one["name"] for one in pod["spec"]["volumes"]}
    volumes |= {one["metadata"]["name"] for one in spec.get("volumeClaimTemplates", [])}
    assert {one["name"] for one in container["volumeMounts"]} == volumes
    return workload, env


for values in (TOKEN, POSTGRES):
    linted = helm("lint", "--strict", str(CHART), *values)
    assert linted.returncode == 0, linted.stdout + linted.stderr

embedded, env = check(render(*TOKEN, "--set", "config.smtp_url=smtp://mail"), "StatefulSet")
assert embedded["spec"]["replicas"] == 1 and embedded["spec"]["volumeClaimTemplates"]
assert "GANCHO_DATABASE_URL" not in env and env["GANCHO_SMTP_URL"]["value"] == "smtp://mail"
fleet, env = check(render(*POSTGRES), "Deployment")
assert fleet["spec"]["replicas"] == 3
assert env["GANCHO_DATABASE_URL"]["valueFrom"]["secretKeyRef"] == {"name": "db", "key": "url"}
assert env["GANCHO_MASTER_KEY"]["valueFrom"]["secretKeyRef"]["key"] == "master-key"
own = render("--set", "existingSecret=mine", "--set", "database.existingSecret=db")
_, env = check(own, "Deployment")
assert not any(kind == "Secret" for kind, _ in own)
assert env["GANCHO_ADMIN_TOKEN"]["valueFrom"]["secretKeyRef"]["name"] == "mine"

# The commands of docs/operations.md, without installing anything.
page = (ROOT / "docs/operations.md").read_text()
for line in re.findall(r"^\$ (helm .*)$", page, re.M):
    command = line.replace("helm install", f"{HELM} template")
    done = subprocess.run(["bash", "-euc", command], cwd=ROOT, capture_output=True, text=True)
    assert command != line and done.returncode == 0 and "kind: Service" in done.stdout, line + done.stderr
    print("ok ", line)

refused("set adminToken")
refused("the embedded database has one node", *TOKEN, "--set", "replicas=2")
refused("the same key ring", *TOKEN, "--set", "database.existingSecret=db")
try:
    check(render(*TOKEN, "--set", "config.smtp_urll=x"), "StatefulSet")
except AssertionError as error:
    assert "GANCHO_SMTP_URLL" in str(error), error
else:
    raise AssertionError("a setting that does not exist was not noticed")
print("the chart is sound")
