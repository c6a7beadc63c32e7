"""Which group of methods an operation belongs to, and what its method is called.

The rule: the group is the operation's tag, and the method is the operation's id without the group's noun
(`createWebhook` is `webhooks.create`). What reads badly by the rule is listed in `METHODS`.
"""

import re

GROUPS = {
    "Events": "events",
    "E-mails": "emails",
    "Suppressions": "suppressions",
    "Webhooks": "webhooks",
    "Event types": "eventTypes",
    "Deliveries": "deliveries",
    "Replays": "replays",
    "Dead letters": "deadLetters",
    "Sources": "sources",
    "Ledger": "ledger",
    "Search": "search",
    "Statistics": "stats",
    "Nodes": "nodes",
    "Queues": "queues",
    "Cells": "cells",
    "Keys": "encryptionKeys",
    "Tenants": "tenants",
    "Users": "users",
    "Audit log": "audit",
    "Alerts": "alerts",
}

METHODS = {
    "publishEvents": "events.publishBatch",
    "listCapturedEmails": "emails.listCaptured",
    "getCapturedEmail": "emails.getCaptured",
    "importSuppressions": "suppressions.importAddresses",
    "testWebhookByBody": "webhooks.testByBody",
    "listEgressAddresses": "webhooks.egressAddresses",
    "listWebhookDeliveries": "deliveries.listForWebhook",
    "getWebhookDelivery": "deliveries.getForWebhook",
    "retryWebhookDelivery": "deliveries.retryForWebhook",
    "replayDeadLetters": "deadLetters.replayAll",
    "getDeadLetterStats": "deadLetters.stats",
    "importDeadLetters": "deadLetters.importLetters",
    "createLedgerCheckpoint": "ledger.createCheckpoint",
    "listRejections": "sources.listAllRejections",
    "listSourceRejections": "sources.listRejections",
    "search": "search.find",
    "getStats": "stats.get",
    "getWebhookStats": "stats.getForWebhook",
    "listWebhookStats": "stats.listWebhooks",
    "listTenantStats": "stats.listTenants",
    "listEncryptionKeys": "encryptionKeys.list",
    "rotateEncryptionKeys": "encryptionKeys.rotate",
    "listApiKeys": "apiKeys.list",
    "createApiKey": "apiKeys.create",
    "revokeApiKey": "apiKeys.revoke",
    "createPortalLink": "portalLinks.create",
    "revokePortalLinks": "portalLinks.revoke",
    "getUsage": "usage.get",
    "changeOwnPassword": "users.changeOwnPassword",
    "listAuditEntries": "audit.list",
    "listAlertHistory": "alerts.listHistory",
    "listAlertSilences": "alerts.listSilences",
    "createAlertSilence": "alerts.createSilence",
    "deleteAlertSilence": "alerts.deleteSilence",
}

# What a caller always has at hand comes before the options, in languages without named arguments.
POSITIONAL = {"publishEvent": ["type", "data"], "publishEvents": ["events"]}

IDEMPOTENCY = (
    "Repeating the call with the same key within 24 hours has the effect of one. "
    "Default: a random one, so that the client's own retries are safe."
)

# Groups that have no tag of their own.
ABOUT = {
    "apiKeys": "API keys of a tenant.",
    "portalLinks": "Links with which a tenant's people open their portal.",
    "usage": "What a tenant has used of its plan.",
}


def singular(word):
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def method_of(operation_id, tag):
    """The group and the method of an operation, in camel case."""
    if operation_id in METHODS:
        return tuple(METHODS[operation_id].split("."))
    group = GROUPS[tag]
    plural = group[0].upper() + group[1:]
    name = re.sub(f"{plural}(?![a-z])|{singular(plural)}(?![a-z])", "", operation_id, count=1)
    return group, name[0].lower() + name[1:]


def snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name.replace("-", "_")).lower()


def camel(name):
    return re.sub(r"[_-]([a-z0-9])", lambda found: found[1].upper(), name)


def pascal(name):
    name = camel(name)
    return name[0].upper() + name[1:]
