// Has public JavaScript libraries verify signed samples.
//
// Reads the output of `sign_samples` (one JSON object a line). Each sample must be accepted as it
// is, and refused, for its signature and for no other reason, once one byte of its body is flipped.

import { createHmac, createPublicKey, timingSafeEqual, verify as verifyEd25519 } from "node:crypto";
import { createInterface } from "node:readline";
import { verify as verifyGitHub } from "@octokit/webhooks-methods";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

function byStandardWebhooks(key, headers, body) {
  // A raw secret is its text in UTF-8. Given as a string, this library would take one byte of each
  // character, which is the same for ASCII only: receivers with other secrets must pass bytes.
  const webhook =
    key.format === "raw"
      ? new Webhook(Buffer.from(key.secret, "utf8"), { format: "raw" })
      : new Webhook(key.secret);
  try {
    webhook.verify(body, headers);
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  }
}

function byEd25519(key, headers, body) {
  const publicKey = createPublicKey({
    format: "jwk",
    key: {
      kty: "OKP",
      crv: "Ed25519",
      x: Buffer.from(key.public_key.replace(/^whpk_/, ""), "base64").toString("base64url"),
    },
  });
  const [version, signature] = headers["webhook-signature"].split(",");
  if (version !== "v1a") throw new Error(`unexpected version ${version}`);
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  return verifyEd25519(null, Buffer.from(signed), publicKey, Buffer.from(signature, "base64"));
}

const byGitHub = (header) => (key, headers, body) => verifyGitHub(key.secret, body, headers[header]);

// The steps that the SaaS contract gives to its receivers; any of the `v1` values may match.
function bySaas(key, headers, body) {
  const [time, ...signatures] = headers["X-Webhook-Signature"].split(",");
  const timestamp = Number(time.replace("t=", ""));
  if (Date.now() - timestamp > 300_000) return false;
  const expected = createHmac("sha256", key.secret).update(`${timestamp}.${body}`).digest("hex");
  return signatures.some((signature) =>
    timingSafeEqual(Buffer.from(signature), Buffer.from(`v1=${expected}`)),
  );
}

// What receivers of Convoy and Outpost do.
const byHex = (header, prefix) => (key, headers, body) => {
  const expected = createHmac("sha256", key.secret).update(body).digest("hex");
  return timingSafeEqual(Buffer.from(headers[header]), Buffer.from(prefix + expected));
};

// Under the names that the library reads.
const renamed = (verify) => (key, headers, body) =>
  verify(key, Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replace("svix-", "webhook-"), value])), body);

function verifierOf(profile, key) {
  if (profile === "standard" && key.format === "ed25519") return ["node:crypto", byEd25519];
  if (profile === "svix" && key.format === "ed25519") return ["node:crypto", renamed(byEd25519)];
  return {
    standard: ["standardwebhooks", byStandardWebhooks],
    svix: ["standardwebhooks", renamed(byStandardWebhooks)],
    convoy: ["node:crypto", byHex("X-Convoy-Signature", "")],
    outpost: ["node:crypto", byHex("x-outpost-signature", "v0=")],
    saas: ["node:crypto", bySaas],
    auracore: ["octokit", byGitHub("X-Webhook-Signature")],
    "email-gateway": ["octokit", byGitHub("X-Signature")],
  }[profile];
}

let passed = 0;
let failed = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { name, profile, keys, headers, body } = JSON.parse(line);
  const flipped = String.fromCharCode(body.charCodeAt(0) ^ 1) + body.slice(1);
  for (const key of keys) {
    const [library, verify] = verifierOf(profile, key);
    for (const [given, expected] of [[body, true], [flipped, false]]) {
      if ((await verify(key, headers, given)) === expected) {
        passed += 1;
        continue;
      }
      failed += 1;
      const wrong = expected ? "refuses" : "accepts a change of";
      console.log(`${library} ${wrong} ${profile}, ${name}, ${key.format}`);
    }
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
