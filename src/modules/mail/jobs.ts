/**
 * The messages as jobs of the store. A job knows an address or a name, and looks when it runs: what a message contains is
 * not stored, so neither is the secret of its link. If the process ends between sending and noting that, the message is
 * sent again, with another link that ends the first.
 */
import { nowSeconds } from '../../base/clock.ts'
import type { Job } from '../../directory/store-port/jobs.ts'
import { listForms, toAddressKey } from '../../directory/users/address.ts'
import { isExpired, type User } from '../../directory/users/user.ts'
import type { JobKind, JobKinds } from '../../kernel/jobs.ts'
import { isUsable } from '../../passwords/schemes.ts'
import { one, type StoreSteps } from '../../store/engine.ts'
import { lockCounters } from '../../store/operations/changes.ts'
import { toStatements } from '../../store/statements.ts'
import type { ModuleCore } from '../module.ts'
import { INVITATION } from '../password-links/invited.ts'
import { createLink, createLinkFor, type LinkPurpose, RESET_PASSWORD } from '../password-links/links.ts'
import { CONFIRM_ADDRESS, renderConfirmation } from './addresses.ts'
import { NEW_USER, toInvitationLink } from './invitations.ts'
import { MESSAGES } from './messages.ts'
import { isSubject, NOTICE_JOB, type Notice, TAKE_BACK } from './notices.ts'
import type { MailJob, MailPayload } from './queue.ts'
import { countUncertain } from './requests.ts'
import { type MailMessage, NotSentError, sendMessage } from './send.ts'
import { doAddressesSignIn, isMailOn } from './settings.ts'
import { SIGN_UP, toSignUpLink } from './sign-up.ts'

/** What to send; `undefined`: nothing. */
type Prepare = (core: ModuleCore, payload: MailPayload, job: Job) => Promise<Prepared | undefined>

interface Prepared extends MailMessage {
  /** The user, for the security event. */
  readonly subject: string
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** Servers look at a message before they accept it. */
const MAX_SEND_MS = MINUTE_MS
/** A server that does not say whether it accepted the message may have done so. */
const MAX_UNCERTAIN = 3

const STATEMENTS = toStatements(
  { findJob: 'SELECT id FROM cardea_jobs WHERE id = $1 AND kind = $2 AND key = $3 AND payload = $4' },
  'mail.',
)

const PREPARE: Readonly<Record<MailJob | typeof NOTICE_JOB, Prepare>> = {
  'mail.password-reset': prepareReset,
  'mail.verify-address': prepareVerification,
  'mail.sign-up': prepareSignUp,
  'mail.invitation': prepareInvitation,
  [NOTICE_JOB]: prepareNotice,
}

export const createMailJobs = (core: ModuleCore): JobKinds =>
  Object.fromEntries(Object.entries(PREPARE).map(([kind, prepare]) => [kind, createKind(core, prepare)]))

function createKind(core: ModuleCore, prepare: Prepare): JobKind {
  const { events } = core.kernel
  return {
    isUsed: () => isMailOn(core.config.get()),
    maxRunMs: MAX_SEND_MS,
    async run(job, signal) {
      const settings = core.config.get()
      const prepared = isMailOn(settings) ? await prepare(core, readPayload(job), job) : undefined
      if (!prepared) return
      const { subject, ...message } = prepared
      const named = { subject, message: message.name }
      try {
        await sendMessage(settings, message, signal)
        events.record('mail.sent', named)
      } catch (error) {
        if (!(error instanceof NotSentError) || !(await isLast(core, job, error))) throw error
        events.record('mail.rejected', { ...named, reason: error.message })
      }
    },
    // 10 s, then twice as long each time, up to 15 minutes
    backOffMs: (attempts) => Math.min(5000 * 2 ** Math.min(attempts, 10), 15 * MINUTE_MS),
    giveUpAfterMs: DAY_MS,
    async giveUp(job, reason) {
      events.record('mail.given-up', { message: job.kind, reason })
    },
  }
}

/** Only attempts count that the mail server may have accepted. Others, such as refused connections, may be many. */
async function isLast({ kernel: { store, clock } }: ModuleCore, job: Job, { isFinal, isUncertain }: NotSentError) {
  if (isFinal || !isUncertain) return isFinal
  return (await countUncertain(store.statements, job, nowSeconds(clock))) >= MAX_UNCERTAIN
}

// the module has written it
const readPayload = ({ payload }: Job): MailPayload => JSON.parse(payload) as MailPayload
const readNotice = ({ payload }: Job): Notice => JSON.parse(payload) as Notice

async function prepareReset(core: ModuleCore, { address }: MailPayload): Promise<Prepared | undefined> {
  const user = await core.directory.findAddressOwner(address)
  if (!user || !canSignIn(core, user)) return undefined
  const receiver = toReceiver(user, address)
  if (isUsable(user.password))
    return { ...receiver, name: 'password-reset', ...(await prepareLink(core, RESET_PASSWORD, user)) }
  const providers = [...new Set((user.links ?? []).map(({ provider }) => provider))].join(', ')
  return providers === '' ? undefined : { ...receiver, name: 'no-password', values: { user: user.name, providers } }
}

/** As it was verified: the request may have it in another case, which could be the mailbox of another person. */
const toReceiver = ({ name, address }: User, given: string) => ({
  subject: name,
  to: address && toAddressKey(address.text) === toAddressKey(given) ? address.text : given,
})

async function prepareVerification(
  core: ModuleCore,
  { name = '', address, version, isOwn = false }: MailPayload,
  job: Job,
): Promise<Prepared | undefined> {
  const user = await core.directory.findUser(name)
  if (!user || !canSignIn(core, user) || CONFIRM_ADDRESS.toVersion(user) !== version) return undefined
  const owner = { name, version, data: renderConfirmation({ address, isOwn }) }
  const link = await createLinkFor(toLinkDeps(core), CONFIRM_ADDRESS, owner, () => isWaiting(job))
  if (!link) return undefined
  const values = { ...toValues(CONFIRM_ADDRESS, link), user: name }
  return { subject: name, to: address, name: 'verify-address', values }
}

/** An address that has an account gets a message that says so. The reply to the request does not. */
async function prepareSignUp(core: ModuleCore, { name = '', address }: MailPayload): Promise<Prepared | undefined> {
  const owner = await findAccountOf(core, name, address)
  if (owner) return { ...toReceiver(owner, address), name: 'has-account', values: { user: owner.name } }
  if (core.directory.isAdministrator(name)) return undefined
  const link = await createLinkFor(toLinkDeps(core), SIGN_UP, toSignUpLink({ name, address }))
  return link && { subject: NEW_USER, to: address, name: 'sign-up', values: toValues(SIGN_UP, link) }
}

/** The user who has verified the address, or whose name is the address. */
async function findAccountOf({ directory, config }: ModuleCore, name: string, address: string) {
  const owner = await directory.findAddressOwner(address)
  if (owner) return owner
  // where addresses sign in, no other user can verify one that is a name
  const isName = name.includes('@') || doAddressesSignIn(config.get())
  for (const each of isName ? [name, ...listForms(address)] : []) {
    const user = each.includes('@') ? await directory.findUser(each) : undefined
    if (user) return user
  }
  return undefined
}

async function prepareInvitation(core: ModuleCore, { address, invitation }: MailPayload, job: Job) {
  if (!invitation || (await core.directory.findAddressOwner(address))) return undefined
  const purpose = { ...INVITATION, lifetimeSeconds: core.config.get().mail['invitation-days'] * 86_400 }
  const link = await createLinkFor(toLinkDeps(core), purpose, toInvitationLink(invitation), () => isWaiting(job))
  const name = 'invitation' as const
  return link && { subject: invitation.name ?? NEW_USER, to: address, name, values: toValues(purpose, link) }
}

async function prepareNotice(core: ModuleCore, _payload: MailPayload, job: Job): Promise<Prepared | undefined> {
  const notice = readNotice(job)
  const { name, address, message, at } = notice
  const user = await core.directory.findUser(name)
  if (!user || !isSubject(user, notice)) return undefined
  const about = { subject: name, to: address, name: message }
  if (!('action' in MESSAGES[message])) return { ...about, values: { user: name } }
  const owner = { name: job.key, data: job.payload, from: at }
  const link = await createLinkFor(toLinkDeps(core), TAKE_BACK, owner, () => isWaiting(job))
  return link && { ...about, values: { user: name, ...toValues(TAKE_BACK, link) } }
}

/**
 * Whether the job is still in the store: a later change may have removed it. All of it is compared, because a later job
 * can have its id: ids begin again when the queue is empty.
 */
function* isWaiting({ id, kind, key, payload }: Job): StoreSteps<boolean> {
  yield* lockCounters()
  return (yield one(STATEMENTS.findJob, id, kind, key, payload)).length > 0
}

const canSignIn = ({ directory, kernel }: ModuleCore, user: User): boolean =>
  user.isActive && !isExpired(user, nowSeconds(kernel.clock)) && !directory.isAdministrator(user.name)

async function prepareLink(core: ModuleCore, purpose: LinkPurpose, user: User) {
  const link = await createLink(toLinkDeps(core), purpose, user)
  return { values: { user: user.name, ...toValues(purpose, link) } }
}

const toLinkDeps = ({ kernel: { store, clock }, config }: ModuleCore) => ({
  statements: store.statements,
  clock,
  publicUrl: () => config.get().console['public-url'],
})

const toValues = (purpose: Lifetime, { url, token }: { readonly url: string; readonly token: string }) => ({
  link: url,
  token,
  lifetime: describeLifetime(purpose),
})

type Lifetime = Pick<LinkPurpose, 'lifetimeSeconds'>

const describeLifetime = ({ lifetimeSeconds: seconds }: Lifetime): string =>
  LIFETIMES.find(([unit]) => seconds >= 2 * unit)?.[1](seconds) ?? `${seconds} seconds`

const LIFETIMES: readonly (readonly [unit: number, describe: (seconds: number) => string])[] = [
  [86_400, (seconds) => `${seconds / 86_400} days`],
  [3600, (seconds) => `${seconds / 3600} hours`],
  [60, (seconds) => `${seconds / 60} minutes`],
]
