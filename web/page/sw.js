// Keeps the page for use without a network: all its files, and nothing else. `cargo xtask web` puts in what these are.

const VERSION = "{{version}}";
const FILES = JSON.parse(`{{files}}`);

self.addEventListener("install", (event) => {
  // A new version waits until no page of the one before is open: their files do not go together.
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(FILES)));
});

self.addEventListener("activate", (event) => {
  const others = caches.keys().then((keys) => Promise.all(keys.filter((key) => key !== VERSION).map((key) => caches.delete(key))));
  event.waitUntil(others.then(() => self.clients.claim()));
});

// What is of another origin is none of this worker's business.
self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || new URL(event.request.url).origin !== self.location.origin) {
    return;
  }
  const kept = caches.open(VERSION).then((cache) => cache.match(event.request, {ignoreSearch: true}));
  event.respondWith(kept.then((response) => response ?? fetch(event.request)));
});
