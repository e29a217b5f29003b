"""Hands a trace to the viewer: the browser fetches it from a port of this machine."""

from __future__ import annotations

import http.server
import threading
import time
import webbrowser

from ._traceconv import TraceconvError

NAME = "trace.perfetto-trace"


class Server(http.server.ThreadingHTTPServer):
    """Has one file, for one page."""

    def __init__(self, trace: bytes, port: int, ui: str) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.trace = trace
        self.ui = ui
        self.has_it = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers the viewer."""

    server: Server

    def _head(self, status: int, length: int) -> None:
        self.send_response(status)
        self.send_header("Access-Control-Allow-Origin", self.server.ui)
        self.send_header("Access-Control-Allow-Private-Network", "true")
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def do_OPTIONS(self) -> None:
        self._head(204, 0)

    def do_GET(self) -> None:
        if self.path != f"/{NAME}":
            self._head(404, 0)
            return
        self._head(200, len(self.server.trace))
        self.wfile.write(self.server.trace)
        self.server.has_it.set()

    def log_message(self, format: str, *args: object) -> None:
        pass


def show(trace: bytes, port: int, wait_seconds: float, ui: str) -> None:
    """Opens the viewer and waits until it has the trace."""
    try:
        server = Server(trace, port, ui)
    except OSError as error:
        raise TraceconvError(
            f"port {port} of this machine cannot be used ({error.strerror}), and the viewer connects to no other one; "
            "end the program that has it, or write the trace and open its file in the viewer"
        ) from None
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        link = f"{ui}/#!/?url=http://127.0.0.1:{port}/{NAME}"
        try:
            if not webbrowser.open(link):
                raise TraceconvError(f"no browser could be started; write the trace and open its file at {ui}")
            if not server.has_it.wait(wait_seconds):
                raise TraceconvError(f"the viewer did not fetch the trace within {wait_seconds:g} s; its link was {link}")
            # The browser reads the last bytes from the system's buffer.
            time.sleep(0.2)
        finally:
            server.shutdown()
