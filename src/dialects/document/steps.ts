import { isUntrustedSimpleChange } from '../../base/cross-site.ts'
import { isPercentEncodingValid } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { ANONYMOUS, type Authenticated } from '../../directory/identity.ts'
import type { Exchange, Route, Step } from '../../http/request-context.ts'
import { authorize } from './authorize.ts'
import { answerPreflight } from './cors.ts'
import type { DocumentSettings } from './dialect.ts'
import type { UsersNeeds } from './users/needs.ts'
import { leadsNowhere } from './users/routes.ts'

export interface StepsNeeds {
  settings(): DocumentSettings
  authenticate(exchange: Exchange): MaybePromise<Authenticated>
  readonly users: Pick<UsersNeeds, 'database' | 'settings'>
}

/** The ordered checks of a request. The first five need no credential and tell nothing about anybody. */
export function documentSteps(needs: StepsNeeds, routes: readonly Route[]): readonly Step[] {
  const { settings, authenticate, users } = needs
  return [
    { name: 'host', run: (exchange) => checkHost(exchange, settings()) },
    { name: 'uri length', run: (exchange) => checkLength(exchange.target, settings().maxUriLength) },
    { name: 'url encoding', run: checkEncoding },
    { name: 'path', run: (exchange) => void exchange.path },
    { name: 'preflight', run: (exchange) => answerPreflight(exchange, settings().cors) },
    {
      name: 'authenticate',
      run: (exchange) =>
        andThen(authenticate(exchange), (who) => {
          exchange.authenticated = who
          return undefined
        }),
    },
    { name: 'cross origin', run: (exchange) => refuseCrossOrigin(exchange, settings()) },
    { name: 'valid user', run: (exchange) => requireValidUser(exchange, settings()) },
    {
      name: 'authorize',
      run: (exchange) => {
        const { identity } = exchange.authenticated ?? ANONYMOUS
        return void authorize(exchange, identity, settings(), users)
      },
    },
    {
      name: 'users',
      run: (exchange) => {
        if (leadsNowhere(exchange.path.segments, users.database, routes)) throw new Refusal('not_found')
        return undefined
      },
    },
  ]
}

function checkHost(exchange: Exchange, { validatesHost, validHosts }: DocumentSettings): undefined {
  if (!validatesHost) return
  // both are forwarded, and the database prefers the one a trusted proxy named
  const hosts = [exchange.header('host') ?? '', exchange.client.host]
  if (!hosts.every((host) => validHosts.includes(host.replace(/:\d*$/, '')))) throw new Refusal('invalid_host')
}

function checkLength(target: string, max: number | undefined): undefined {
  if (max !== undefined && target.length > max) throw new Refusal('uri_too_long')
}

function checkEncoding(exchange: Exchange): undefined {
  if (!isPercentEncodingValid(exchange.target)) throw new Refusal('invalid_url_encoding')
}

/** Handlers whose credential a browser adds by itself. A page cannot set a Bearer token without a preflight. */
const AMBIENT_HANDLERS: ReadonlySet<string | null> = new Set(['cookie', 'default', 'proxy'])

/** A page of another origin must neither use the credential of a browser, nor sign the browser in as another user. */
function refuseCrossOrigin(exchange: Exchange, { cors }: DocumentSettings): undefined {
  const [first, ...rest] = exchange.path.segments
  const isSignIn = first === '_session' && rest.length === 0
  if (!isSignIn && !AMBIENT_HANDLERS.has((exchange.authenticated ?? ANONYMOUS).by)) return
  const trusted = { origins: cors.isEnabled ? cors.origins : [] }
  if (isUntrustedSimpleChange(exchange, trusted)) throw new Refusal('cross_origin')
}

export const isValidUserRequired = (settings: DocumentSettings): boolean =>
  settings.requireValidUser || settings.requireValidUserExceptForUp

function requireValidUser(exchange: Exchange, settings: DocumentSettings): undefined {
  if (!isValidUserRequired(settings) || (exchange.authenticated ?? ANONYMOUS).by !== null) return
  const [first, ...rest] = exchange.path.segments
  const isExact = rest.length === 0
  if (isExact && first === '_up' && settings.requireValidUserExceptForUp) return
  if (isExact && first === '_session' && exchange.method === 'POST') return
  throw new Refusal('authentication_required')
}
