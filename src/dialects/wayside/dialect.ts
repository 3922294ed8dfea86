/**
 * What stands beside the doors for other programs: the keys that verify what Cardea signs, and the question a proxy asks
 * before it lets a request pass. Plain HTTP, in neither database's words.
 */
import { ERRORS, type ErrorCode, Refusal } from '../../base/errors.ts'
import type { Dialect, HeaderPair, Path, Route } from '../../door/exchange.ts'

export interface WaysideOptions {
  readonly name: string
  readonly routes: readonly Route[]
  statusOf(code: ErrorCode): number
}

export const createWaysideDialect = ({ name, routes, statusOf }: WaysideOptions): Dialect => ({
  name,
  requestIdHeader: REQUEST_ID,
  readPath: readPlainPath,
  steps: [],
  routes,
  otherwise: () => {
    throw new Refusal('not_found')
  },
  spell: ({ code }) => {
    const status = statusOf(code)
    return {
      status,
      headers: [['Content-Type', 'application/json'], ...(status === 401 ? [CHALLENGE] : [])],
      body: JSON.stringify({ error: code, reason: ERRORS[code] }),
    }
  },
  standingHeaders: (exchange) => [NO_SNIFFING, ...(exchange ? [[REQUEST_ID, exchange.id] as const] : [])],
})

const REQUEST_ID = 'X-Request-Id'
const NO_SNIFFING: HeaderPair = ['X-Content-Type-Options', 'nosniff']
const CHALLENGE: HeaderPair = ['WWW-Authenticate', 'Basic realm="Cardea", charset="UTF-8"']

/** Spelled plainly or not at all: nothing here needs an encoding. */
function readPlainPath(raw: string): Path {
  const segments = raw.split('/').slice(1)
  if (!segments.every((segment) => PLAIN.test(segment))) throw new Refusal('not_found')
  return { raw, segments }
}

const PLAIN = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9]+)*$|^\.well-known$/
