"""Amazon S3 as moto plays it, which checks signatures and permissions.

Prints its port and an access key as JSON, then ends when its standard input does. Paths below `/test/` are not
S3's: they create a bucket, list objects, and make the next writes fail as an overloaded S3 does, which moto never is.
"""

import io
import json
import os
import sys
import threading
from urllib.parse import parse_qs

# Signatures count once the key has been made.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "1000000"

import boto3
from moto import settings
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"


class Front:
    def __init__(self, app):
        self.app = app
        # Writes that still succeed, and writes that fail after them.
        self.good = 0
        self.bad = 0
        self.lock = threading.Lock()

    def fails(self):
        with self.lock:
            if self.bad == 0:
                return False
            if self.good > 0:
                self.good -= 1
                return False
            self.bad -= 1
            return True

    def test(self, path, query):
        if path == "create":
            client.create_bucket(Bucket=query["bucket"])
            return {}
        if path == "fail":
            with self.lock:
                self.good, self.bad = int(query["after"]), int(query["count"])
            return {}
        objects = {}
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=query["bucket"])
        for page in pages:
            for found in page.get("Contents", []):
                body = client.get_object(Bucket=query["bucket"], Key=found["Key"])["Body"].read()
                objects[found["Key"]] = body.decode()
        return objects

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        if path.startswith("/test/"):
            query = {name: values[0] for name, values in parse_qs(environ["QUERY_STRING"]).items()}
            answer = json.dumps(self.test(path.removeprefix("/test/"), query)).encode()
            start_response("200 OK", [("Content-Length", str(len(answer)))])
            return [answer]
        if environ["REQUEST_METHOD"] == "PUT" and self.fails():
            start_response("503 Slow Down", [("Content-Length", str(len(SLOW_DOWN)))])
            return [SLOW_DOWN]
        environ["wsgi.input"] = io.BytesIO(body)
        return self.app(environ, start_response)


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"


server = make_server(
    "127.0.0.1",
    0,
    Front(DomainDispatcherApplication(create_backend_app)),
    threaded=True,
    request_handler=Handler,
)
threading.Thread(target=server.serve_forever, daemon=True).start()
there = {"region_name": "us-east-1", "endpoint_url": f"http://127.0.0.1:{server.port}"}
iam = boto3.client("iam", aws_access_key_id="a", aws_secret_access_key="b", **there)
iam.create_user(UserName="gancho")
allowed = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}],
}
iam.put_user_policy(UserName="gancho", PolicyName="all", PolicyDocument=json.dumps(allowed))
key = iam.create_access_key(UserName="gancho")["AccessKey"]
client = boto3.client(
    "s3",
    aws_access_key_id=key["AccessKeyId"],
    aws_secret_access_key=key["SecretAccessKey"],
    **there,
)
settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
ready = {"s3": server.port, "key_id": key["AccessKeyId"], "secret": key["SecretAccessKey"]}
print(json.dumps(ready), flush=True)
sys.stdin.read()
