// Time of Cardea's own code for one request: in this process, without sockets and without undici. With
// `--against=DIR`, also that of other checkouts, in alternating batches: for the gain of a single change. Sizes:
// requests of a batch, batches of warm-up.
import { EventEmitter } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { median } from './figures.ts'
import { ADMIN, withFolder } from './support/folder.ts'
import { signIn, signToken, TOKEN_SECRET, toBasic } from './support/gateway.ts'

const OWN_CHECKOUT = resolve(import.meta.dirname, '..')
const CONNECTIONS = 32

const PATHS = { gateway: '/db/doc', '`GET /_session`': '/_session' }

const KINDS = {
  anonymous: () => [],
  JWT: () => ['Authorization', `Bearer ${signToken()}`],
  cookie: async (url) => ['Cookie', await signIn(url)],
  Basic: () => ['Authorization', toBasic()],
}

const BODY = Buffer.from(`{"_id":"doc","_rev":"1-967a00dff5e02add41819138abb3284d","text":"${'x'.repeat(150)}"}`)
const HEADERS = {
  'Content-Type': 'application/json',
  'Content-Length': String(BODY.length),
  Date: 'Sun, 15 Nov 2026 19:00:00 GMT',
  Connection: 'keep-alive',
  'Keep-Alive': 'timeout=60',
}
const RAW_HEADERS = Object.entries(HEADERS)
  .flat()
  .map((text) => Buffer.from(text))
const PARSED = Object.fromEntries(Object.entries(HEADERS).map(([name, value]) => [name.toLowerCase(), value]))

/** Calls the handler of a request in the order of undici. */
export function respondAtOnce(_request, handler) {
  const controller = { rawHeaders: RAW_HEADERS, rawTrailers: [], abort() {}, pause() {}, resume() {} }
  handler.onRequestStart(controller, {})
  handler.onRequestSent()
  setImmediate(() => {
    handler.onResponseStarted()
    handler.onResponseStart(controller, 200, { ...PARSED }, 'OK')
    handler.onResponseData(controller, BODY)
    handler.onResponseEnd(controller, {})
  })
  return true
}

/** The part of a socket that a response uses. */
export class IdleSocket extends EventEmitter {
  remoteAddress = '127.0.0.1'
  writable = true
  bytesWritten = 0
  writableLength = 0
  _writableState = { corked: 0 }

  write(_data, encoding, callback) {
    const done = typeof encoding === 'function' ? encoding : callback
    if (done) process.nextTick(done)
    return true
  }
}
for (const name of ['cork', 'uncork', 'pause', 'resume', 'setTimeout', 'destroy', 'destroySoon', 'end'])
  IdleSocket.prototype[name] = () => {}

const VERSION = { httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 }

/** Resolves with the status when the response is sent. */
export function serve({ handle, path, headers }, socket) {
  const request = new IncomingMessage(socket)
  const rawHeaders = ['Host', '127.0.0.1:5984', ...headers]
  Object.assign(request, { ...VERSION, method: 'GET', url: path, rawHeaders })
  // what Node's parser does
  Reflect.get(request, '_addHeaderLines').call(request, rawHeaders, rawHeaders.length)
  request.complete = true
  const response = new ServerResponse(request)
  response.assignSocket(socket)
  const { promise, resolve: finish } = Promise.withResolvers()
  const close = () => {
    response.destroyed = true
    response.emit('close')
    finish(response.statusCode)
  }
  response.on('finish', () => {
    response.detachSocket(socket)
    process.nextTick(close)
  })
  void handle(request, response)
  return promise
}

/** The minimal handler that Cardea is compared with. */
function handleMinimal(_request, response) {
  const nothing = () => {}
  respondAtOnce(undefined, {
    onRequestStart: nothing,
    onRequestSent: nothing,
    onResponseStarted: nothing,
    onResponseStart: (_controller, status, headers) => response.writeHead(status, headers),
    onResponseData: nothing,
    onResponseEnd: () => response.end(BODY.toString('latin1'), 'latin1'),
  })
}

export const toOptions = (folder) => ({
  store: { url: `sqlite:${join(folder, 'cardea.db')}` },
  chttpd: { port: 0 },
  server: { endpoint: 'tcp://127.0.0.1:0', 'jwt-secret': 'a-secret-of-tokens-for-benches-only' },
  chttpd_auth: { iterations: 10, secret: 'a-secret-of-cookies-for-benches-only' },
  admins: { [ADMIN.name]: ADMIN.password },
  auth: { 'min-password-length': 0 },
  upstream: { document: 'http://127.0.0.1:9', 'document-secret': 'a-secret-of-the-upstream-for-benches-only' },
  jwt_keys: { 'hmac:_default': Buffer.from(TOKEN_SECRET).toString('base64') },
})

export const SILENT = { debug() {}, info() {}, warn() {}, error: console.error }

/** Starts Cardea of every checkout in this process, then runs `work` with all contestants. */
async function withCheckouts([checkout, ...others]: string[], work, contestants) {
  if (checkout === undefined) return work(contestants)
  const { prototype } = createRequire(join(checkout, 'package.json'))('undici').Pool
  const { dispatch } = prototype
  prototype.dispatch = respondAtOnce
  const { createCardea } = await import(pathToFileURL(join(checkout, 'src/index.ts')).href)
  return withFolder(async (folder) => {
    const cardea = await createCardea({ log: SILENT, options: toOptions(folder) })
    try {
      const { document } = await cardea.listen()
      const note = checkout === OWN_CHECKOUT ? '' : ` (${basename(checkout)})`
      const own = Object.entries(PATHS).flatMap(([what, path]) =>
        Object.entries(KINDS).map(([kind, createHeaders]) => ({
          name: `${what}, ${kind}${note}`,
          handle: cardea.handle,
          path,
          createHeaders: () => createHeaders(document[0]),
        })),
      )
      return await withCheckouts(others, work, [...contestants, ...own])
    } finally {
      prototype.dispatch = dispatch
      await cardea.close()
    }
  })
}

/** Microseconds of one request. */
async function measureBatch(contestant, sockets, batch) {
  const startMs = performance.now()
  for (let sent = 0; sent < batch; sent += sockets.length) {
    const statuses = await Promise.all(sockets.map((socket) => serve(contestant, socket)))
    if (statuses.some((status) => status !== 200)) throw new Error(`${contestant.name}: ${statuses.join(' ')}`)
  }
  return ((performance.now() - startMs) * 1000) / batch
}

/** With a new session from time to time: a cookie older than a minute would be renewed by every response. */
const ROUNDS_OF_A_SESSION = 800

async function compare(contestants, rounds, { batch, warmBatches }) {
  const sockets = Array.from({ length: CONNECTIONS }, () => new IdleSocket())
  const states = contestants.map((each) => ({ ...each, headers: [], values: [] }))
  for (let round = -warmBatches; round < rounds; round += 1)
    for (const each of states) {
      if (round % ROUNDS_OF_A_SESSION === 0 || round === -warmBatches) each.headers = await each.createHeaders()
      const us = await measureBatch(each, sockets, batch)
      if (round >= 0) each.values.push(us)
    }
  return states
}

export const quantile = (values, share) => values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]

export const bench = {
  title: "Time of Cardea's own code",
  about:
    'Time from the request to the end of the response, of a small document through the gateway and of `GET /_session`,\n' +
    'in one process, without sockets and without undici, in alternating batches of half a millisecond. The lowest tenth\n' +
    'is not interrupted by other programs. The minimal handler only writes the response. There is no goal.',
  runs: 3000,
  async run(rounds, [batch = 32, warmBatches = 1500] = [], checkouts = []) {
    const minimal = { name: 'minimal handler', handle: handleMinimal, path: '/', createHeaders: () => [] }
    const all = [OWN_CHECKOUT, ...checkouts.map((each) => resolve(each))]
    const results = await withCheckouts(all, (given) => compare(given, rounds, { batch, warmBatches }), [minimal])
    return {
      columns: ['', 'lowest tenth', 'median'],
      rows: results.map(({ name, values }) => [
        name,
        `${quantile(values, 0.1).toFixed(1)} µs`,
        `${median(values).toFixed(1)} µs`,
      ]),
      isGoalMet: true,
    }
  },
}
