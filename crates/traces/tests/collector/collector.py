"""An OpenTelemetry collector's receiver for traces: OTLP over HTTP.

Decodes what it gets with the published `opentelemetry-proto` package and prints each span as JSON. Prints its port
first, and ends when its standard input does. `GET /status/503` lets it respond with that status from then on.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

status = 200


def value(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def pairs(attributes):
    return {one.key: value(one.value) for one in attributes}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, body=b""):
        self.send_response(code)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        global status
        status = int(self.path.rsplit("/", 1)[1])
        self.answer(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        print(json.dumps({"kind": "request", "status": status}), flush=True)
        if status != 200:
            return self.answer(status)
        request = ExportTraceServiceRequest()
        # Strict: bytes that are no such message raise an error, and unknown fields are an error too.
        request.ParseFromString(body)
        assert request.SerializeToString(deterministic=True), "it is not empty"
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    print(json.dumps(self.described(resource, scope, span)), flush=True)
        self.answer(200, ExportTraceServiceResponse().SerializeToString())

    def described(self, resource, scope, span):
        return {
            "kind": "span",
            "path": self.path,
            "content_type": self.headers["Content-Type"],
            "authorization": self.headers["Authorization"],
            "resource": pairs(resource.resource.attributes),
            "scope": scope.scope.name,
            "trace_id": span.trace_id.hex(),
            "span_id": span.span_id.hex(),
            "parent_span_id": span.parent_span_id.hex(),
            "name": span.name,
            "span_kind": Span.SpanKind.Name(span.kind),
            "start": span.start_time_unix_nano,
            "end": span.end_time_unix_nano,
            "attributes": pairs(span.attributes),
            "status": Status.StatusCode.Name(span.status.code),
            "message": span.status.message,
            "flags": span.flags,
        }


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps({"kind": "port", "port": server.server_port}), flush=True)
sys.stdin.read()
