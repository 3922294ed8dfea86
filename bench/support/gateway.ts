// Starts what the benches of the gateway compare: an upstream, a minimal proxy, and Cardea in front of the upstream.
import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { OWN_CHECKOUT, startServer } from './child.ts'
import { withCores } from './cores.ts'
import { ADMIN, withFolder, writeConfig } from './folder.ts'

export const TOKEN_SECRET = 'a-secret-of-foreign-tokens-for-benches-only'

export const toLocalUrl = (port) => `http://127.0.0.1:${port}`

interface Script {
  readonly child: ChildProcess
  readonly port?: number
  readonly ports?: readonly number[]
}

/** Starts a script of this folder that prints where it listens, as JSON. */
export async function startScript(name: string, ...args: string[]): Promise<Script> {
  const child = spawn(process.execPath, [join(import.meta.dirname, name), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${name} ended before it listened`)))
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])
  ended.catch(() => {})
  return { child, ...JSON.parse(line) }
}

export const killChild = ({ child }) => child.kill()

export function writeGatewayConfig(folder, upstream) {
  writeConfig(folder, 10)
  const lines = [
    '[upstream]',
    `document = ${upstream}`,
    'document-secret = a-secret-of-the-upstream-for-benches-only',
    '[jwt_keys]',
    `hmac:_default = ${Buffer.from(TOKEN_SECRET).toString('base64')}`,
    '[gate]',
    'cache-seconds = 1',
    '',
  ]
  appendFileSync(join(folder, 'local.ini'), lines.join('\n'))
}

let shared: object | undefined

/** Servers for all benches of this process until the result is called: for `npm test`, whose sizes measure nothing. */
export async function shareGateway(): Promise<() => Promise<void>> {
  const started = Promise.withResolvers<object>()
  const over = Promise.withResolvers<void>()
  const ended = withGateway((servers) => {
    started.resolve(servers)
    return over.promise
  })
  shared = await Promise.race([started.promise, ended])
  return () => {
    shared = undefined
    over.resolve()
    return ended
  }
}

/** Runs `work` with the upstream, the minimal proxy and the gateway of a checkout. */
export function withGateway(work, checkout = OWN_CHECKOUT) {
  if (shared && checkout === OWN_CHECKOUT) return work(shared)
  return withFolder(async (folder) => {
    await using started = new AsyncDisposableStack()
    const upstream = started.adopt(await startScript('upstream.ts'), killChild)
    const proxy = started.adopt(await startScript('baseline-proxy.ts', toLocalUrl(upstream.port)), killChild)
    writeGatewayConfig(folder, toLocalUrl(upstream.port))
    const gateway = started.adopt(await startServer(folder, { checkout }), (server) => server.stop())
    const urls = { upstream: toLocalUrl(upstream.port), proxy: toLocalUrl(proxy.port), gateway: gateway.document }
    const measured = [proxy.child, gateway.child]
    return await withCores(measured, [upstream.child], () =>
      work({ ...urls, child: gateway.child, proxyChild: proxy.child, upstreamChild: upstream.child }),
    )
  })
}

export function signToken(jti = '1') {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { sub: 'ada', jti, '_couchdb.roles': ['reader'], exp: Math.floor(Date.now() / 1000) + 86_400 }
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', TOKEN_SECRET).update(signed).digest('base64url')}`
}

export const toBasic = () => `Basic ${Buffer.from(`${ADMIN.name}:${ADMIN.password}`).toString('base64')}`

export async function signIn(url) {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(`${url}/_session`, { method: 'POST', headers, body: JSON.stringify(ADMIN) })
  return response.headers.getSetCookie()[0].split(';')[0]
}
