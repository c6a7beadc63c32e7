"""Has public Python libraries verify signed samples.

Reads the output of `sign_samples` (one JSON object a line). Each sample must be accepted as it is,
and refused, for its signature and for no other reason, once one byte of its body is flipped.
"""

import base64
import hashlib
import hmac
import json
import sys

import standardwebhooks
import stripe
import svix
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Refused(Exception):
    pass


def key_of(key):
    """The libraries take raw keys as bytes and `whsec_` keys as text."""
    return key["secret"].encode() if key["format"] == "raw" else key["secret"]


def by_standardwebhooks(key, headers, body):
    try:
        standardwebhooks.Webhook(key_of(key)).verify(body, headers)
    except standardwebhooks.WebhookVerificationError as error:
        raise Refused from error


def by_svix(key, headers, body):
    # It returns nothing: not raising is success.
    try:
        svix.Webhook(key_of(key)).verify(body, headers)
    except svix.WebhookVerificationError as error:
        raise Refused from error


def by_ed25519(key, headers, body):
    public_key = base64.b64decode(key["public_key"].removeprefix("whpk_"))
    headers = {name.replace("svix-", "webhook-"): value for name, value in headers.items()}
    version, signature = headers["webhook-signature"].split(",")
    assert version == "v1a"
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(base64.b64decode(signature), signed)
    except InvalidSignature as error:
        raise Refused from error


def by_stripe(key, headers, body):
    # `t=` is in milliseconds in the saas profile and in seconds at Stripe, so its age cannot be
    # judged here: no tolerance is given, and only the signature is checked.
    try:
        stripe.WebhookSignature.verify_header(
            body.decode(), headers["X-Webhook-Signature"], key["secret"], tolerance=None
        )
    except stripe.SignatureVerificationError as error:
        raise Refused from error


def by_hmac(header):
    """The function that AuraCore's documentation gives to its users."""

    def verify(key, headers, body):
        expected = hmac.new(key["secret"].encode(), body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(f"sha256={expected}", headers[header]):
            raise Refused

    return verify


def by_hex(header, prefix):
    """What receivers of Convoy and Outpost do."""

    def verify(key, headers, body):
        expected = hmac.new(key["secret"].encode(), body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(prefix + expected, headers[header]):
            raise Refused

    return verify


def verifiers(profile, key):
    if profile in ("standard", "svix") and key["format"] == "ed25519":
        return {"cryptography": by_ed25519}
    return {
        "standard": {"standardwebhooks": by_standardwebhooks, "svix": by_svix},
        "svix": {"svix": by_svix},
        "convoy": {"hmac": by_hex("X-Convoy-Signature", "")},
        "outpost": {"hmac": by_hex("x-outpost-signature", "v0=")},
        "saas": {"stripe": by_stripe},
        "auracore": {"hmac": by_hmac("X-Webhook-Signature")},
        "email-gateway": {"hmac": by_hmac("X-Signature")},
    }[profile]


def accepts(verify, key, headers, body):
    try:
        verify(key, headers, body)
    except Refused:
        return False
    return True


def main():
    passed = failed = 0
    for line in sys.stdin:
        sample = json.loads(line)
        body = sample["body"].encode()
        flipped = bytes([body[0] ^ 1]) + body[1:]
        for key in sample["keys"]:
            for name, verify in verifiers(sample["profile"], key).items():
                for given, expected in ((body, True), (flipped, False)):
                    if accepts(verify, key, sample["headers"], given) == expected:
                        passed += 1
                        continue
                    failed += 1
                    wrong = "refuses" if expected else "accepts a change of"
                    print(f"{name} {wrong} {sample['profile']}, {sample['name']}, {key['format']}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
