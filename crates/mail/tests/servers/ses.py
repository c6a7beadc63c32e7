"""Amazon SES as moto plays it, with the sender's domain verified.

Prints its port as JSON, then ends when its standard input does. Recipients whose local part is
`throttle` or `unavailable` are answered as SES does when it is too much: moto never is.
"""

import json
import sys
import threading

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

TROUBLE = {
    "throttle": ("429 Too Many Requests", "TooManyRequestsException", "Rate exceeded"),
    "unavailable": ("503 Service Unavailable", "ServiceUnavailable", "Try again"),
}


class Front:
    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        if environ["PATH_INFO"] == "/v2/email/outbound-emails":
            asked = json.loads(body)
            print(
                json.dumps(
                    {
                        "kind": "asked",
                        "authorization": environ.get("HTTP_AUTHORIZATION"),
                        "body": asked,
                    }
                ),
                flush=True,
            )
            local = asked["Destination"]["ToAddresses"][0].split("@")[0]
            if local in TROUBLE:
                status, error, message = TROUBLE[local]
                start_response(
                    status, [("Content-Type", "application/json"), ("x-amzn-ErrorType", error)]
                )
                return [json.dumps({"message": message}).encode()]
        import io

        environ["wsgi.input"] = io.BytesIO(body)
        return self.app(environ, start_response)


server = make_server(
    "127.0.0.1", 0, Front(DomainDispatcherApplication(create_backend_app)), threaded=True
)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = boto3.client(
    "sesv2",
    region_name="us-east-1",
    endpoint_url=f"http://127.0.0.1:{server.port}",
    aws_access_key_id="a",
    aws_secret_access_key="b",
)
client.create_email_identity(EmailIdentity="example.com")
print(json.dumps({"kind": "ports", "ses": server.port}), flush=True)
sys.stdin.read()
