import { isSameSecret } from '../../base/compare.ts'
import { Refusal } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { ANONYMOUS, type Authenticated } from '../../directory/identity.ts'
import type { Exchange, Step } from '../../http/request-context.ts'
import { isFromBrowser, PAGE_TOKEN_HEADER } from './browser.ts'
import { ADMIN_SESSION, type AdminSessions } from './session.ts'

/** Tells a program from a page: a page of another origin cannot set it without a preflight, which is refused. */
export const INTENT_HEADER = 'x-cardea-control'

export interface StepsNeeds {
  /** The identity of a program, by what it sends itself: never by a cookie of the doors. */
  authenticate(exchange: Exchange): MaybePromise<Authenticated>
  /** Throws where the rules of a door close even what is open here. */
  readonly requireEntry?: Step['run'] | undefined
  /** Left out where no browser signs in. */
  readonly sessions?: AdminSessions | undefined
}

/** The ordered checks of a request. What a browser may send unasked is refused before any password is checked. */
export const controlSteps = (needs: StepsNeeds): readonly Step[] => [
  { name: 'path', run: (exchange) => void exchange.path },
  { name: 'entry', run: (exchange) => (isOpen(exchange) ? needs.requireEntry?.(exchange) : undefined) },
  { name: 'intent', run: (exchange) => (isApi(exchange) ? requireIntent(exchange) : undefined) },
  { name: 'authenticate', run: (exchange) => (isApi(exchange) ? authenticate(exchange, needs) : undefined) },
  { name: 'page token', run: (exchange) => requirePageToken(exchange, needs) },
  { name: 'administrators only', run: (exchange) => (isOpen(exchange) ? undefined : requireAdministrator(exchange)) },
]

const isApi = ({ path: { segments } }: Exchange): boolean => segments[1] === 'api'

const isSession = ({ path: { segments } }: Exchange): boolean =>
  segments.length === 3 && segments[1] === 'api' && segments[2] === 'session'

/** The page, its files, and the session are for everyone; they hold nothing of the directory. */
const isOpen = (exchange: Exchange): boolean => !isApi(exchange) || isSession(exchange)

function requireIntent(exchange: Exchange): undefined {
  if (!isFromBrowser(exchange) && exchange.header('cookie') === undefined) return
  if (exchange.header(INTENT_HEADER) !== undefined) return
  throw new Refusal('forbidden', { about: 'A request of a browser needs the header X-Cardea-Control.' })
}

const BASIC = /^basic\b/i

/**
 * What a program sends wins over the cookie. A browser adds remembered Basic passwords to the requests of every script of
 * the origin, and a proxy adds its headers: both count for programs only.
 */
async function authenticate(exchange: Exchange, { authenticate: byProgram, sessions }: StepsNeeds): Promise<undefined> {
  const authorization = exchange.header('authorization')
  const isBrowser = isFromBrowser(exchange)
  if (isBrowser && authorization !== undefined && BASIC.test(authorization))
    throw new Refusal('forbidden', { about: 'Basic is for programs: a browser signs in at /_cardea/.' })
  const found = authorization === undefined ? await sessions?.find(exchange) : undefined
  const isProgram = !isBrowser || authorization !== undefined
  exchange.authenticated = found ?? (isProgram ? await byProgram(exchange) : ANONYMOUS)
  return undefined
}

/** Every request with the session, except the question who is signed in, and a sign-in, which brings its own password. */
function requirePageToken(exchange: Exchange, { sessions }: StepsNeeds): undefined {
  const { authenticated, method } = exchange
  if (authenticated?.by !== ADMIN_SESSION || (isSession(exchange) && method !== 'DELETE')) return
  const expected = sessions?.pageTokenOf(authenticated)
  const sent = exchange.header(PAGE_TOKEN_HEADER)
  if (expected === undefined || sent === undefined || !isSameSecret(sent, expected))
    throw new Refusal('page_token_required')
}

function requireAdministrator(exchange: Exchange): undefined {
  const { identity, by } = exchange.authenticated ?? ANONYMOUS
  if (by === null) throw new Refusal('authentication_required')
  if (!identity.isAdmin) throw new Refusal('admin_required')
}
