"""Runs the functions of docs/verifying.md, each in its language, with what a gateway signs.

Reads the output of `sign_samples` (one JSON object a line). Each function must accept the samples of the profile
`standard`, and refuse them with one byte of the body flipped, with another secret, and with an old timestamp. Rust is
run by `cargo test --doc`.
"""

import base64
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

document = (pathlib.Path(__file__).parents[2] / "docs/verifying.md").read_text()
blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```$", document, re.M | re.S))

# What reads a case (secret, id, timestamp, signature, body in Base64) from the arguments and calls the function.
DRIVERS = {
    "python": """
import sys
secret, id, sent_at, signature, body = sys.argv[1:]
headers = {"webhook-id": id, "webhook-timestamp": sent_at, "webhook-signature": signature}
verify(secret, headers, base64.b64decode(body))
""",
    "js": """
const [secret, id, sentAt, signature, body] = process.argv.slice(2);
const headers = { "webhook-id": id, "webhook-timestamp": sentAt, "webhook-signature": signature };
verify(secret, headers, Buffer.from(body, "base64"));
""",
    "php": """
[, $secret, $id, $sentAt, $signature, $body] = $argv;
$headers = ["webhook-id" => $id, "webhook-timestamp" => $sentAt, "webhook-signature" => $signature];
verify($secret, $headers, base64_decode($body));
""",
    "ruby": """
secret, id, sent_at, signature, body = ARGV
headers = { "webhook-id" => id, "webhook-timestamp" => sent_at, "webhook-signature" => signature }
verify(secret, headers, Base64.decode64(body))
""",
    "java": """
class Main {
    public static void main(String[] a) throws Exception {
        var headers = Map.of("webhook-id", a[1], "webhook-timestamp", a[2], "webhook-signature", a[3]);
        Webhooks.verify(a[0], headers, Base64.getDecoder().decode(a[4]));
    }
}
""",
    "go": """
package main

import (
	"encoding/base64"
	"net/http"
	"os"
	"sample/webhook"
)

func main() {
	body, _ := base64.StdEncoding.DecodeString(os.Args[5])
	headers := http.Header{}
	headers.Set("webhook-id", os.Args[2])
	headers.Set("webhook-timestamp", os.Args[3])
	headers.Set("webhook-signature", os.Args[4])
	if webhook.Verify(os.Args[1], headers, body) != nil {
		os.Exit(1)
	}
}
""",
}


def program(language, folder):
    """Writes the function with its driver, and returns the command that runs it."""
    code, driver = blocks[language], DRIVERS[language]

    def write(name, text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    match language:
        case "python":
            return [sys.executable, write("verify.py", code + driver)]
        case "js":
            return ["node", write("verify.mjs", code + driver)]
        case "php":
            return ["php", write("verify.php", code + driver)]
        case "ruby":
            return ["ruby", write("verify.rb", code + driver)]
        case "java":
            subprocess.run(["javac", "-d", folder, write("Main.java", code + driver)], check=True)
            return ["java", "-cp", str(folder), "Main"]
        case "go":
            write("go.mod", "module sample\n\ngo 1.19\n")
            write("webhook/webhook.go", code)
            write("main.go", driver)
            subprocess.run(["go", "build", "-o", "verify", "."], cwd=folder, check=True)
            return [str(folder / "verify")]


def cases(sample, key):
    headers, body = sample["headers"], sample["body"].encode()
    id, sent_at = headers["webhook-id"], headers["webhook-timestamp"]
    signature, secret = headers["webhook-signature"], key["secret"]
    flipped = bytes([body[0] ^ 1]) + body[1:]
    other = "whsec_" + base64.b64encode(b"another secret, as long as it is").decode()
    yield "as it is", True, (secret, id, sent_at, signature, body)
    yield "another body", False, (secret, id, sent_at, signature, flipped)
    yield "another secret", False, (other, id, sent_at, signature, body)
    yield "another id", False, (secret, id + "0", sent_at, signature, body)
    yield "an old timestamp", False, (secret, id, str(int(sent_at) - 400), signature, body)


def main():
    samples = [json.loads(line) for line in sys.stdin]
    standard = [
        (sample, key)
        for sample in samples
        if sample["profile"] == "standard"
        for key in sample["keys"]
        if key["secret"].startswith("whsec_")
    ]
    # Starting a program for each takes a while: the bodies that differ most are enough.
    standard = [pair for pair in standard if pair[0]["name"] in ("unicode", "empty object")]
    assert len(standard) >= 4, standard
    failures, run = 0, []
    for language in DRIVERS:
        runtime = {"python": "python3", "js": "node", "java": "javac"}.get(language, language)
        if not shutil.which(runtime):
            continue
        with tempfile.TemporaryDirectory() as folder:
            command = program(language, pathlib.Path(folder))
            for sample, key in standard:
                for name, is_good, (*texts, body) in cases(sample, key):
                    arguments = [*texts, base64.b64encode(body).decode()]
                    done = subprocess.run(command + arguments, capture_output=True, text=True)
                    if (done.returncode == 0) != is_good:
                        failures += 1
                        print(f"{language}: {sample['name']}, {name}: exit {done.returncode}\n{done.stderr}")
        run.append(language)
    missing = [language for language in DRIVERS if language not in run]
    # `./test` installs all of them where there is apt-get.
    assert not missing or not shutil.which("apt-get"), missing
    print(f"left out: {', '.join(missing)}" if missing else "none left out")
    print(f"docs/verifying.md: {', '.join(run)}; {len(standard)} samples, {failures} failures")
    sys.exit(failures != 0)


main()
