/**
 * Signs browsers in at identity providers: the authorization code flow of OpenID Connect with PKCE. What must be known
 * again when the browser comes back is in a signed cookie; the nonce and the verifier are made from its random id with
 * Cardea's own key. The directory notes each id that was used, on all nodes: no response of a provider counts twice.
 */

import { createHmac, randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { nowSeconds } from '../../base/clock.ts'
import { isSameSecret } from '../../base/compare.ts'
import { messageOf, Refusal } from '../../base/errors.ts'
import { findMember, isJsonObject } from '../../base/json.ts'
import { type Account, withGivenRoles } from '../../directory/account.ts'
import { type Caller, PROGRAM } from '../../directory/caller.ts'
import type { Directory } from '../../directory/directory.ts'
import { isSameAccount } from '../../directory/external-accounts.ts'
import { withoutFactorSetup } from '../../directory/identity.ts'
import type { ExternalAccount } from '../../directory/users/user.ts'
import { findNumber } from '../../keys/document-claims.ts'
import type { GivenLink } from '../password-links/invited.ts'
import {
  claimsFactor,
  findAddress,
  findIssueTime,
  findRoles,
  findText,
  isFreshSignIn,
  type ProviderClaims,
} from './claims.ts'
import { createRunningLimit, type ResponseSender, rememberConnections } from './connections.ts'
import { logOut, requireSigned } from './log-out.ts'
import { checkFactor, mapRoles, type Provider } from './provider.ts'
import { findUser, NOT_LINKED, type ProviderTokenDeps, refuseProviderToken } from './tokens.ts'

export interface ProviderSignInDeps extends Pick<ProviderTokenDeps, 'providers' | 'factorRoles' | 'clock'> {
  readonly directory: Pick<
    Directory,
    'findAccount' | 'listLinked' | 'createLinked' | 'setLinkRoles' | 'useOnce' | 'isUsed' | 'signOut'
  >
  /** The URL at which browsers reach this server; empty: browsers cannot sign in at providers. */
  publicUrl(): string
  /** Signs cookies and makes nonces. Never leaves the server. */
  ownKey(): Uint8Array
  /** How many processes serve. */
  readonly processes: number
}

/** What a browser wanted when it was sent to the provider. */
export interface Intention {
  /** The path to go to afterwards. */
  readonly next?: string | undefined
  /** The session whose user links the account. Left out: the account signs in. */
  readonly link?: { readonly name: string; readonly session: string } | undefined
  /** The link with which the account is linked. */
  readonly passwordLink?: GivenLink | undefined
  /** Whether the user must prove itself to the provider again. */
  readonly isFresh?: boolean | undefined
}

interface State extends Intention {
  readonly id: string
  /** The callback that it is for: that of one provider, at this server. */
  readonly aud: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** The account that has proved itself, and what the browser wanted. The roles are mapped. */
export interface Arrival
  extends Omit<Intention, 'isFresh'>,
    Pick<ProviderClaims, 'name' | 'roles' | 'address' | 'hasFactor' | 'issuedAt'> {
  readonly provider: Provider
  readonly external: Omit<ExternalAccount, 'linkedAt'>
  /** Whether the user has just signed in there (`auth_time`). */
  readonly isFresh: boolean
}

/** The response of a provider, which a browser has brought. */
export interface ProviderResponse extends ResponseSender {
  /** That of the callback. */
  readonly query: string
  readonly cookie: string | undefined
}

export const STATE_SECONDS = 600

export type ProviderSignIn = ReturnType<typeof createProviderSignIn>

/** `callback` is the path to which providers send browsers back; their name is added to it. */
export function createProviderSignIn(deps: ProviderSignInDeps, callback: string) {
  const flow = createFlow(deps, callback)
  return {
    list: flow.list,
    /** Where to send the browser, and the cookie that it must bring back. */
    start: (name: string, intention: Intention) => start(flow.require(name), intention, flow),
    /** Checks what the provider sent with the browser. Throws a `Refusal`. */
    finish: (name: string, response: ProviderResponse) => finish(flow.require(name), response, flow),
    /** The user of an account that signs in, by the rule of its provider. Throws a `Refusal` if there is none. */
    findAccount: (arrival: Arrival): Promise<Account> => findAccount(arrival, deps),
    /** Throws a `Refusal` if a role of this user needs a second factor that the provider did not ask for. */
    requireFactor: (name: string, arrival: Arrival): Promise<Account> => requireFactor(name, arrival, deps),
    /** Throws a `Refusal` if one of these roles, of a user to be created, needs such a factor. */
    requireFactorOf: (roles: readonly string[], arrival: Arrival): void =>
      createFactorCheck(arrival, deps)([...roles, ...listGiven(arrival)]),
    /** Ends all sessions of the user that a logout token is about. Throws a `Refusal` if it is not valid, or was used. */
    logOut: (name: string, text: string) => logOut(text, flow.require(name), deps),
    /** Where the browser ends its session at the provider; `undefined`: the provider has no such page. */
    async findSignOut(name: string, path: string): Promise<string | undefined> {
      const { openid, config } = await flow.connect(flow.require(name))
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined
      return openid.buildEndSessionUrl(config, { post_logout_redirect_uri: flow.toUrl(path) }).href
    },
  }
}

/** Where providers send browsers back; `undefined`: nowhere. The page is not below a path. */
export function findPublicOrigin(publicUrl: string): string | undefined {
  const url = URL.parse(publicUrl)
  return url?.pathname === '/' ? url.origin : undefined
}

type Flow = ReturnType<typeof createFlow>

/** What the steps of a sign-in share. */
function createFlow(deps: ProviderSignInDeps, callback: string) {
  const { providers, directory, clock, publicUrl } = deps
  const byName = new Map([...providers.values()].map((provider) => [provider.name, provider]))
  const toUrl = (path: string): string => `${findPublicOrigin(publicUrl()) ?? ''}${path}`
  const list = (): readonly Provider[] =>
    findPublicOrigin(publicUrl()) === undefined ? [] : [...byName.values()].filter(({ client }) => client !== undefined)
  return {
    ...{ providers, directory, clock, toUrl },
    toCallback: (name: string): string => toUrl(`${callback}/${name}`),
    /** Those at which a browser can sign in as a user. */
    list,
    require(name: string): Provider {
      const provider = list().find((each) => each.name === name)
      if (!provider) throw new Refusal('not_found', { reason: 'Browsers cannot sign in at this provider.' })
      return provider
    },
    /** Cardea's own secret text for this use. */
    derive: (use: 'nonce' | 'verifier' | 'cookie', text: string): string =>
      createHmac('sha256', deps.ownKey()).update(`sign-in-${use}:${text}`).digest('base64url'),
    connect: rememberConnections(),
    limitRunning: createRunningLimit(deps.processes),
  }
}

async function start(provider: Provider, intention: Intention, { connect, derive, toCallback, clock }: Flow) {
  const { name, client } = provider
  const { openid, config } = await connect(provider)
  const id = randomBytes(32).toString('base64url')
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: toCallback(name),
    scope: client?.scopes.join(' ') ?? '',
    state: id,
    nonce: derive('nonce', id),
    code_challenge: await openid.calculatePKCECodeChallenge(derive('verifier', id)),
    code_challenge_method: 'S256',
    // `prompt` asks for it, and with `max_age` the provider must say when it was done
    ...(intention.isFresh && { prompt: 'login', max_age: '0' }),
  })
  const state: State = { ...intention, id, aud: toCallback(name), expiresAt: nowSeconds(clock) + STATE_SECONDS }
  const text = Buffer.from(JSON.stringify(state)).toString('base64url')
  return { url: url.href, cookie: `${text}.${derive('cookie', text)}` }
}

async function finish(provider: Provider, response: ProviderResponse, flow: Flow): Promise<Arrival> {
  const { name } = provider
  const state = readState(response.cookie ?? '', flow)
  const sent = new URLSearchParams(response.query)
  if (state?.aud !== flow.toCallback(name) || sent.get('state') !== state.id) throw refuseProviderToken(STALE)
  const issuers = sent.getAll('iss')
  const isOther = issuers.length > 1 || issuers.some((issuer) => flow.providers.get(issuer)?.name !== name)
  // nothing is stored for a response that cannot count
  if (isOther || sent.has('error') || !sent.get('code')) throw refuseProviderToken(REFUSED)
  return flow.limitRunning(name, response, () => redeem(provider, sent, state, flow))
}

async function redeem(provider: Provider, sent: URLSearchParams, state: State, flow: Flow): Promise<Arrival> {
  if (!(await flow.directory.useOnce(`sign-in:${state.id}`, state.expiresAt))) throw refuseProviderToken(STALE)
  const { openid, config } = await flow.connect(provider)
  const issuer = sent.get('iss')
  // the issuer of several tenants is that of no response: `openid-client` finds its own, and the ID token is compared below
  if (issuer !== null) sent.set('iss', config.serverMetadata().issuer)
  const url = new URL(`${flow.toCallback(provider.name)}?${sent}`)
  const checks = {
    expectedState: state.id,
    expectedNonce: flow.derive('nonce', state.id),
    pkceCodeVerifier: flow.derive('verifier', state.id),
    idTokenExpected: true,
  }
  const tokens = await openid.authorizationCodeGrant(config, url, checks).catch((error: unknown) => {
    throw toRefusal(error)
  })
  const found = await readIdToken(tokens.id_token ?? '', provider, flow)
  if (issuer !== null && issuer !== found.external.issuer) throw refuseProviderToken(REFUSED)
  if (state.isFresh && !found.isFresh) throw refuseProviderToken(NOT_FRESH)
  return { ...state, ...found, provider }
}

async function findAccount(arrival: Arrival, deps: ProviderSignInDeps): Promise<Account> {
  const { provider, external } = arrival
  const { directory } = deps
  const given = listGiven(arrival)
  const found = await findUser(provider, { ...external, ...arrival, roles: given }, deps)
  if (found instanceof Refusal) throw found
  const account = await requireAccount(found, directory)
  const link = account.links?.find((each) => isSameAccount(each, external))
  if (account.isAdmin || !link) throw refuseProviderToken(NOT_LINKED)
  const requireFactors = createFactorCheck(arrival, deps)
  const caller: Caller = { ...PROGRAM, mayWrite: ({ document }) => requireFactors([...document.roles, ...given]) }
  if (!isDeepStrictEqual(link.roles ?? [], given)) await directory.setLinkRoles(account.name, caller, external, given)
  return requireFactor(found, arrival, deps)
}

/** The roles that the provider gives. Those that it gave while it created users are removed. */
const listGiven = ({ provider, roles }: Arrival): readonly string[] => (provider.users === 'create' ? roles : [])

async function requireFactor(name: string, arrival: Arrival, deps: ProviderSignInDeps): Promise<Account> {
  const account = withoutFactorSetup(await requireAccount(name, deps.directory))
  const acting = withGivenRoles(account, listGiven(arrival))
  createFactorCheck(arrival, deps)(acting.roles)
  return acting
}

const createFactorCheck =
  ({ hasFactor }: Arrival, { factorRoles }: ProviderSignInDeps) =>
  (roles: readonly string[]): void => {
    const flaw = checkFactor({ roles, hasFactor }, factorRoles())
    if (flaw !== undefined) throw refuseProviderToken(flaw)
  }

async function requireAccount(name: string, directory: ProviderSignInDeps['directory']): Promise<Account> {
  const account = await directory.findAccount(name)
  if (!account) throw refuseProviderToken('the user is disabled')
  return account
}

const STALE = 'this sign-in has expired, was used already or began in another browser; start again'

function readState(cookie: string, { derive, clock }: Flow): State | undefined {
  const [text = '', signature = ''] = cookie.split('.')
  if (!isSameSecret(signature, derive('cookie', text))) return undefined
  // written by `start`
  const state = JSON.parse(Buffer.from(text, 'base64url').toString()) as State
  return nowSeconds(clock) < state.expiresAt ? state : undefined
}

/** `openid-client` wraps what `fetch` throws. If the provider replied with an error, its code is for the log. */
function toRefusal(error: unknown): Refusal {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof Refusal) return cause
  const code = isJsonObject(cause) ? findMember(cause, 'error') : undefined
  const isCode = typeof code === 'string' && OAUTH_CODE.test(code)
  const detail = isCode ? `${messageOf(error)}: ${code}` : messageOf(error)
  return new Refusal('token_refused', { reason: REFUSED, detail, cause: error })
}

/** Such as `invalid_client`. Other text of a provider could be anything. */
const OAUTH_CODE = /^[a-z_]{1,40}$/

const NOT_FRESH = 'the identity provider did not ask the user to sign in again, or does not say when (auth_time)'

const REFUSED = 'the response of the identity provider is not accepted; start again'

const ID_TOKEN_TYPES = [undefined, 'JWT']

/** `openid-client` has checked its claims; here its signature is, with the keys of this provider alone. */
async function readIdToken(text: string, provider: Provider, { providers, clock }: Flow) {
  const token = await requireSigned(text, provider, ID_TOKEN_TYPES)
  const { iss, sub } = token.claims
  if (typeof iss !== 'string' || typeof sub !== 'string' || providers.get(iss)?.name !== provider.name)
    throw refuseProviderToken(REFUSED)
  // `openid-client` compares it only in a token for several clients
  const client = findMember(token.claims, 'azp')
  if (client !== undefined && client !== provider.rules.clientId) throw refuseProviderToken(REFUSED)
  const issuedAt = findIssueTime(token.claims, provider.rules)
  if (issuedAt > nowSeconds(clock)) throw refuseProviderToken('the clock of the identity provider is ahead')
  const name = findText(token.claims, provider.rules.name) ?? sub
  const external = { provider: provider.name, issuer: iss, subject: sub }
  const roles = mapRoles(provider, findRoles(token.claims, provider.rules.roles))
  const hasFactor = claimsFactor(token.claims, provider.rules.factors)
  const { skewSeconds } = provider.rules
  const signedInAt = findNumber(token.claims, 'auth_time')
  const isFresh = isFreshSignIn(signedInAt, { skewSeconds, nowSeconds: nowSeconds(clock) })
  const address = findAddress(token.claims, provider.rules)
  return { external, name, roles, address, hasFactor, issuedAt, isFresh }
}
