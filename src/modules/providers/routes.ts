/**
 * Sign-in at identity providers, for the sign-in page. A provider sends the browser to the callback, which is the page
 * again: its script sends the response of the provider on. So cookies with `SameSite=Strict` arrive, and a page that a
 * browser only preloads changes nothing.
 */

import { MAX_SIGN_IN_BYTES } from '../../auth/door-sign-in.ts'
import { requireNoAction } from '../../auth/required-actions.ts'
import { SIGN_IN_COOKIE } from '../../auth/session/own-cookie.ts'
import { badRequest, Refusal, refusalText } from '../../base/errors.ts'
import { SIGN_IN_PREFIX } from '../../base/own-paths.ts'
import { requireTrusted, showIdentity } from '../../dialects/admin-api/account-sign-in.ts'
import type { ExternalRoutesDeps } from '../../dialects/admin-api/external-sign-in.ts'
import { readApiBody, requireValid, toApiReply } from '../../dialects/admin-api/json.ts'
import { flag, object, text } from '../../dialects/admin-api/schemas/schema.ts'
import { findNext } from '../../dialects/sign-in-redirect.ts'
import { identityOf } from '../../directory/identity.ts'
import type { SessionOpening } from '../../directory/sessions/session.ts'
import { toExternalKey } from '../../directory/users/user.ts'
import { readForm } from '../../http/form.ts'
import type { Handler, Reply, RequestBody, RequestContext, RequestIdentity, Route } from '../../http/request-context.ts'
import { linkByPasswordLink, requirePasswordLink } from '../password-links/link-account.ts'
import { type Arrival, type Intention, type ProviderSignIn, STATE_SECONDS } from './sign-in.ts'

export interface ProviderRoutesDeps extends ExternalRoutesDeps {
  readonly providerSignIn: ProviderSignIn
}

/** Where providers send browsers back to; the name of the provider follows. */
export const CALLBACK_PATH = `${SIGN_IN_PREFIX}/callback`

/** What security events call this way to sign in. */
const PROVIDER_ENDPOINT = 'provider'

export function providerRoutes(deps: ProviderRoutesDeps, showPage: Handler): readonly Route[] {
  const post =
    (handle: (context: RequestContext, provider: string, deps: ProviderRoutesDeps) => Promise<Reply>): Handler =>
    async (context, { provider = '' }) => {
      requireTrusted(context, [])
      return handle(context, provider, deps)
    }
  return [
    {
      path: `${SIGN_IN_PREFIX}/providers`,
      methods: { GET: () => toApiReply(200, { providers: listProviders(deps) }) },
    },
    { path: `${SIGN_IN_PREFIX}/providers/{provider}`, methods: { POST: post(start) } },
    { path: `${SIGN_IN_PREFIX}/providers/{provider}/sign-out`, methods: { POST: post(signOut) } },
    { path: `${CALLBACK_PATH}/{provider}`, methods: { GET: showPage, POST: post(finish) } },
    {
      path: `${SIGN_IN_PREFIX}/back-channel-logout/{provider}`,
      methods: { POST: (context, { provider = '' }) => endSessions(context, provider, deps) },
    },
  ]
}

/** Those at which browsers can sign in, for buttons. */
export const listProviders = ({ providerSignIn }: Pick<ProviderRoutesDeps, 'providerSignIn'>) =>
  providerSignIn.list().map(({ name, client }) => ({ name, label: client?.label ?? name }))

const START = object({
  'link?': flag(),
  'fresh?': flag('Let the provider ask the user to sign in again, as a proof for changes of the account.'),
  'current_password?': text(),
  'password_link?': text('The secret of a password link, or of an invitation.'),
  'name?': text('The name that an invited person has chosen.'),
  'invitation?': text('The former name of password_link.'),
})
const RESPONSE = object({ query: text('The query that the provider added to the callback.') })

/** Returns the URL at the provider. */
async function start(context: RequestContext, provider: string, deps: ProviderRoutesDeps): Promise<Reply> {
  const next = findNext(context)
  const body = requireValid(START, (await readApiBody(context, MAX_SIGN_IN_BYTES)) ?? {})
  const [secret, ...others] = [body.password_link, body.invitation].filter((each) => each !== undefined)
  if (others.length > 0 || (body.link && secret !== undefined))
    throw badRequest('Send link or password_link, not both, and password_link under one name.')
  const intention = {
    next,
    isFresh: body.fresh,
    link: body.link ? await requireLinkingUser(context, body.current_password, deps) : undefined,
    passwordLink: secret === undefined ? undefined : await requirePasswordLink(deps, secret, body.name),
  }
  const { url, cookie } = await deps.providerSignIn.start(provider, intention)
  return toApiReply(200, { url }, [SIGN_IN_COOKIE.render(cookie, context, STATE_SECONDS)])
}

/** The session of a user who may link an account. Its user has just typed the password. */
async function requireLinkingUser(
  context: RequestContext,
  current: string | undefined,
  { directory, requireCurrentPassword }: ProviderRoutesDeps,
): Promise<NonNullable<Intention['link']>> {
  const { authenticated } = context
  const { name } = identityOf(context)
  const session = authenticated?.credential?.session
  if (name === null || !session) throw new Refusal('authentication_required')
  requireNoAction(identityOf(context))
  if (directory.isAdministrator(name)) throw new Refusal('forbidden', { reason: 'An administrator has no such links.' })
  await requireCurrentPassword(context, current)
  return { name, session: session.id }
}

const finish = (context: RequestContext, provider: string, deps: ProviderRoutesDeps): Promise<Reply> =>
  deps.limitArrivals(context, provider, () => arrive(context, provider, deps))

async function arrive(context: RequestContext, provider: string, deps: ProviderRoutesDeps): Promise<Reply> {
  const { query } = requireValid(RESPONSE, await readApiBody(context, MAX_SIGN_IN_BYTES))
  let arrival: Arrival | undefined
  try {
    const sender = { peer: context.client.address, signal: context.signal }
    arrival = await deps.providerSignIn.finish(provider, { ...sender, query, cookie: SIGN_IN_COOKIE.find(context) })
    const { identity, headers } = await (arrival.link ? link(context, arrival, deps) : signIn(context, arrival, deps))
    const reply = {
      ...showIdentity(identity),
      linked: (arrival.link ?? arrival.passwordLink) !== undefined,
      ...(arrival.next !== undefined && { next: arrival.next }),
    }
    return toApiReply(200, reply, [...headers, SIGN_IN_COOKIE.render('', context, 0)])
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const reason = error.detail ?? refusalText(error)
    const [subject] = arrival ? await deps.directory.listLinked(arrival.external) : []
    const refused = { subject, reason: `[provider:${provider}] ${reason}`, handler: PROVIDER_ENDPOINT }
    deps.events.record('sign-in.refused', refused)
    // the user of the browser must know what to do
    if (error.code !== 'token_refused') throw error
    throw new Refusal('forbidden', { reason: `The sign-in was refused: ${refusalText(error)}.`, cause: error })
  }
}

/** The provider has proved the account, but not the password of the user here. */
async function signIn(context: RequestContext, arrival: Arrival, deps: ProviderRoutesDeps) {
  const { providerSignIn, openSession } = deps
  const { passwordLink, external } = arrival
  if (passwordLink !== undefined) {
    const use = { chosen: passwordLink, account: external, peer: context.client.address }
    await linkByPasswordLink(deps, use, {
      requireUser: (name) => providerSignIn.requireFactor(name, arrival),
      requireRoles: (roles) => providerSignIn.requireFactorOf(roles, arrival),
    })
  }
  const account = await providerSignIn.findAccount(arrival)
  const proof = { account: toExternalKey(external), isFresh: arrival.isFresh }
  const opening: SessionOpening = { hasPassword: false, hasFactor: arrival.hasFactor, external: proof }
  const { header } = await openSession(account, context, opening)
  return { identity: account, headers: [header] }
}

/** Only in the session that began: its user has proved the password. */
async function link(context: RequestIdentity, { external, link: owner }: Arrival, { directory }: ProviderRoutesDeps) {
  const identity = identityOf(context)
  const { name } = identity
  const session = context.authenticated?.credential?.session
  if (name === null || name !== owner?.name || session?.id !== owner.session)
    throw new Refusal('forbidden', { reason: 'Another user is signed in now. Start again.' })
  await directory.linkAccount(name, context, external)
  return { identity, headers: [] }
}

/** Returns the URL at the provider, or null if it has none. */
const signOut = async (_context: RequestContext, provider: string, deps: ProviderRoutesDeps): Promise<Reply> =>
  toApiReply(200, { url: (await deps.providerSignIn.findSignOut(provider, SIGN_IN_PREFIX)) ?? null })

/** For the provider itself: a user has signed out there. All sessions and tokens of the linked user end. */
async function endSessions(context: RequestBody, provider: string, { providerSignIn }: ProviderRoutesDeps) {
  const token = (await readForm(context, MAX_SIGN_IN_BYTES)).get('logout_token') ?? ''
  await providerSignIn.logOut(provider, token)
  return { status: 200, headers: [] }
}
