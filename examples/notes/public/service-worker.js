// Keeps the files of the page, so that it opens without a network. The network comes first: a new version is seen at once.
const FILES = ['./', 'app.js', 'style.css', 'icon.svg']

addEventListener('install', (event) => event.waitUntil(keepFiles()))
addEventListener('activate', (event) => event.waitUntil(clients.claim()))
addEventListener('fetch', (event) => {
  if (event.request.method === 'GET' && event.request.url.startsWith(registration.scope))
    event.respondWith(respond(event.request))
})

async function keepFiles() {
  const cache = await caches.open('notes')
  await cache.addAll(FILES)
  await skipWaiting()
}

/** A response that is no success counts as none: the server is down, or rejects a session that has ended. */
async function respond(request) {
  const cache = await caches.open('notes')
  const response = await fetch(request).catch(() => undefined)
  if (response?.ok) await cache.put(request, response.clone())
  return response?.ok ? response : ((await cache.match(request)) ?? response ?? Response.error())
}
