"""Hands a trace to the viewer in the browser. The viewer may fetch from 127.0.0.1:9001 and from no other port."""

import http.server
import webbrowser

VIEWER = "https://ui.perfetto.dev"


def open_trace(content: bytes) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            is_trace = self.path == "/trace" and self.headers.get("Host") == "127.0.0.1:9001"
            if not is_trace or self.headers.get("Origin", VIEWER) != VIEWER:
                return self.send_error(404)
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", VIEWER)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.server.is_fetched = True

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 9001), Handler) as server:
        server.is_fetched = False
        webbrowser.open(f"{VIEWER}/#!/?url=http://127.0.0.1:9001/trace")
        while not server.is_fetched:
            server.handle_request()
