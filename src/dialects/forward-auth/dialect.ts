// Plain HTTP for other programs: the key set, and the endpoint that a proxy asks before it forwards a request.
import { ERRORS, Refusal } from '../../base/errors.ts'
import { REQUEST_ID_HEADER } from '../../http/reply.ts'
import type { Dialect, HeaderPair, Path, Reply, RequestContext, Route, Step } from '../../http/request-context.ts'

export interface ForwardAuthDialectOptions {
  readonly name: string
  readonly steps?: readonly Step[]
  readonly routes: readonly Route[]
  /** The headers that every reply gets in addition to its own. */
  readonly extraHeaders?: ExtraHeaders
  /** See `Dialect`. */
  readonly ignoresMethodOverride?: true
}

export type ExtraHeaders = (context: RequestContext, reply: Reply) => readonly HeaderPair[]

export const createForwardAuthDialect = ({
  name,
  steps = [],
  routes,
  extraHeaders,
  ...rest
}: ForwardAuthDialectOptions): Dialect => ({
  ...rest,
  name,
  requestIdHeader: REQUEST_ID_HEADER.toLowerCase(),
  readPath: readPlainPath,
  steps,
  routes,
  fallback: () => {
    throw new Refusal('not_found')
  },
  renderError: ({ code, reason, value }) => {
    const { status, text } = ERRORS[code]
    const extra: HeaderPair[] = []
    if (status === 401) extra.push(CHALLENGE)
    if (code === 'method_not_allowed') extra.push(['Allow', (value ?? '').replaceAll(',', ', ')])
    return {
      status,
      headers: [['Content-Type', 'application/json'], ...extra],
      body: JSON.stringify({ error: code, reason: (code === 'bad_request' ? reason : undefined) ?? text }),
    }
  },
  defaultHeaders: (context, reply) =>
    context ? [NO_SNIFFING, [REQUEST_ID_HEADER, context.id], ...(extraHeaders?.(context, reply) ?? [])] : [NO_SNIFFING],
})

const NO_SNIFFING: HeaderPair = ['X-Content-Type-Options', 'nosniff']
const CHALLENGE: HeaderPair = ['WWW-Authenticate', 'Basic realm="Cardea", charset="UTF-8"']

/** No path here needs percent-encoding, so an encoded one is not found. A slash at the end is ignored. */
function readPlainPath(raw: string): Path {
  const segments = raw.split('/').slice(1)
  if (segments.at(-1) === '') segments.pop()
  if (!segments.every((segment) => PLAIN.test(segment))) throw new Refusal('not_found')
  return { raw, segments }
}

const PLAIN = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9]+)*$|^\.well-known$/
