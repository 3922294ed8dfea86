// The demonstration: Cardea with sample users, a document database, an identity provider and the app in examples/notes.
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { build } from 'vite'
import { toBrowserAddress } from '../../src/cli/browser-address.ts'
import { buildConsole } from './console.ts'
import { DEMO_PASSWORD, startDemo } from './console-demo.ts'
import { addHistory } from './console-history.ts'
import { startForeignProvider } from './foreign-provider.ts'
import { bySecurity, openPouchdbServer, toUserDatabase } from './pouchdb-server.ts'
import { ROOT } from './process.ts'
import { AS_ADMIN, send } from './request.ts'
import { makeFolder, type Scope } from './scope.ts'
import type { Server } from './server.ts'
import { beforeDocument, openServer } from './upstream.ts'
import { waitUntil } from './wait.ts'

const MOUNT = '/notes/'

/** Where the app is, and who can sign in at it. */
export const NOTES = { path: MOUNT, user: { name: 'ada', password: DEMO_PASSWORD } }

const SAMPLES = [
  'The engine\n\nIt weaves algebraical patterns, just as the loom weaves flowers and leaves.',
  'Groceries\n\nTea, quinces, a ream of paper',
  'Ask Charles\n\n- How many cards for the Bernoulli numbers?\n- Who reads the proofs?',
]

interface Ports {
  readonly document: number
  readonly multiModel: number
}

/** Ports left out: any free ones. Its document door is where browsers allow passkeys, if possible. */
export async function startNotesDemo(scope: Scope, ports: Ports = { document: 0, multiModel: 0 }): Promise<Server> {
  buildConsole()
  const database = await openPouchdbServer(scope, { mayReach: bySecurity })
  const callbacks = ['http://127.0.0.1:1/']
  const provider = await startForeignProvider(scope, callbacks)
  const store = `sqlite:${join(makeFolder(scope), 'cardea.db')}`
  const server = await startDemo(scope, {
    ...beforeDocument(database.url),
    store: { url: store },
    'user-databases': { enabled: true },
    chttpd: { port: ports.document },
    server: { endpoint: `tcp://127.0.0.1:${ports.multiModel}` },
    chttpd_auth: { allow_sign_up: true, iterations: 1000 },
    services: { notes: `/notes ${await serveApp(scope)} document` },
    'provider:example': {
      issuer: provider.issuer,
      audience: 'cardea',
      'client-id': provider.client.client_id,
      'client-secret': provider.client.client_secret,
      scopes: 'openid',
      users: 'create',
      label: 'Example ID',
    },
  })
  await addHistory(store)
  // Cardea and the provider must know the address of each other
  const document = await toBrowserAddress(server.document)
  callbacks.push(`${document}/_cardea/sign-in/callback/example`)
  provider.rotate('2')
  const path = '/_cardea/api/settings/console/public-url'
  await send(server.document, { method: 'PUT', path, as: AS_ADMIN, body: { value: document } })
  const name = toUserDatabase(NOTES.user.name)
  await waitUntil(() => database.securities.has(name))
  const own = database.open(name)
  for (const [at, text] of SAMPLES.entries())
    await own.put({ _id: `sample-${at}`, text, changedAt: new Date(Date.now() - at * 50_000_000).toISOString() })
  return { ...server, document }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Builds the app, and serves its files below the mount. */
async function serveApp(scope: Scope): Promise<string> {
  const outDir = makeFolder(scope)
  await build({
    configFile: false,
    logLevel: 'error',
    root: join(ROOT, 'examples', 'notes'),
    base: MOUNT,
    resolve: { alias: { 'cardea/client': join(ROOT, 'client', 'src', 'index.ts') } },
    define: { global: 'globalThis' },
    build: {
      ...{ outDir, emptyOutDir: true, target: 'es2022', modulePreload: false },
      rollupOptions: { output: { entryFileNames: 'app.js', assetFileNames: 'style[extname]' } },
    },
  })
  const { url } = await openServer(scope, (request, response) => {
    const [, name = ''] = /^\/notes\/([a-z-]*(?:\.[a-z]+)?)(?:\?|$)/.exec(request.url ?? '') ?? [undefined, '404']
    const file = name === '' ? 'index.html' : name
    try {
      const body = readFileSync(join(outDir, file))
      response.writeHead(200, { 'Content-Type': TYPES[extname(file)] ?? 'text/plain' }).end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  return url
}
