/**
 * What stands beside the doors for other programs: the keys that verify what Cardea signs, and the question a proxy asks
 * before it lets a request pass. Plain HTTP, in neither database's words.
 */
import { ERRORS, type ErrorCode, Refusal } from '../../base/errors.ts'
import type { Dialect, HeaderPair, Path, Reply, RequestContext, Route, Step } from '../../http/request-context.ts'

export interface WaysideOptions {
  readonly name: string
  readonly steps?: readonly Step[]
  readonly routes: readonly Route[]
  statusOf(code: ErrorCode): number
  /** What the door beside adds to every reply that is told who is asking. */
  readonly furtherHeaders?: FurtherHeaders | undefined
  /** As `Dialect` has it. */
  readonly ignoresMethodOverride?: true
}

export type FurtherHeaders = (context: RequestContext, reply: Reply) => readonly HeaderPair[]

export const createWaysideDialect = ({
  name,
  steps = [],
  routes,
  statusOf,
  furtherHeaders,
  ...rest
}: WaysideOptions): Dialect => ({
  ...rest,
  name,
  requestIdHeader: REQUEST_ID,
  readPath: readPlainPath,
  steps,
  routes,
  fallback: () => {
    throw new Refusal('not_found')
  },
  renderError: ({ code, about }) => {
    const status = statusOf(code)
    const further: HeaderPair[] = []
    if (status === 401) further.push(CHALLENGE)
    if (code === 'method_not_allowed') further.push(['Allow', (about ?? '').replaceAll(',', ', ')])
    return {
      status,
      headers: [['Content-Type', 'application/json'], ...further],
      body: JSON.stringify({ error: code, reason: (code === 'bad_request' ? about : undefined) ?? ERRORS[code] }),
    }
  },
  defaultHeaders: (context, reply) =>
    context ? [NO_SNIFFING, [REQUEST_ID, context.id], ...(furtherHeaders?.(context, reply) ?? [])] : [NO_SNIFFING],
})

const REQUEST_ID = 'X-Request-Id'
const NO_SNIFFING: HeaderPair = ['X-Content-Type-Options', 'nosniff']
const CHALLENGE: HeaderPair = ['WWW-Authenticate', 'Basic realm="Cardea", charset="UTF-8"']

/** Spelled plainly or not at all: nothing here needs an encoding. A slash at the end is harmless. */
function readPlainPath(raw: string): Path {
  const segments = raw.split('/').slice(1)
  if (segments.at(-1) === '') segments.pop()
  if (!segments.every((segment) => PLAIN.test(segment))) throw new Refusal('not_found')
  return { raw, segments }
}

const PLAIN = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9]+)*$|^\.well-known$/
