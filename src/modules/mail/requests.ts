/**
 * Requests for messages. Each adds one job to the queue, whether its address has an account or not: the job looks, so the
 * reply and its time are the same. The number of requests is limited, for one mailbox and for one client, and not that of
 * messages, so that a refusal says nothing either. The store counts for all nodes, by digests.
 */
import { nowSeconds } from '../../base/clock.ts'
import { digestHex } from '../../base/encoding.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import { toPeerKey } from '../../base/peer-key.ts'
import type { Call, OperationDeps } from '../../dialects/admin-api/operation.ts'
import type { Job, NewJob } from '../../directory/store-port/jobs.ts'
import { type Engine, numberOf, type OneStep, one, type Row, type StoreSteps } from '../../store/engine.ts'
import { lockCounters } from '../../store/operations/changes.ts'
import { putJobs } from '../../store/operations/jobs.ts'
import { toStatements } from '../../store/statements.ts'
import { removeJobs, toKeyEnd } from './queue.ts'
import { isMailOn, type MailSettings } from './settings.ts'

const STATEMENTS = toStatements(
  {
    findRequests: 'SELECT requests, until FROM cardea_mail_requests WHERE key = $1 AND until > $2',
    addRequest: `INSERT INTO cardea_mail_requests (key, requests, until) VALUES ($1, 1, $2)
      ON CONFLICT (key) DO UPDATE SET requests = cardea_mail_requests.requests + 1 RETURNING requests`,
    purgeRequests: 'DELETE FROM cardea_mail_requests WHERE until <= $1 RETURNING key',
  },
  'mail.',
)

const HOUR_SECONDS = 3600

interface MailRequest {
  /** Who gets the message. */
  readonly address: string
  /** The address of the client; `undefined`: the program itself, which is not limited. */
  readonly peer: string | undefined
  /** In seconds since the epoch. */
  readonly now: number
  /** Left out: it is only counted. */
  readonly job?: NewJob | undefined
}

/** Counts a request for a message to the address, and adds the job. Throws `too_many_requests`. */
export async function countRequest(
  deps: Pick<OperationDeps, 'statements' | 'clock' | 'options'>,
  { caller }: Pick<Call, 'caller'>,
  address: string,
  job: NewJob | undefined,
): Promise<void> {
  const options = requireMailOn(deps)
  await addRequest(deps.statements, { address, peer: caller.peer, now: nowSeconds(deps.clock), job }, options)
}

/** For an administrator, whom requests of strangers for the same mailbox must not keep from sending. */
export async function addUncounted(deps: Pick<OperationDeps, 'statements' | 'options'>, job: NewJob): Promise<void> {
  requireMailOn(deps)
  await deps.statements.transact(function* () {
    yield* lockCounters()
    yield* replaceJob(job)
  })
}

function requireMailOn({ options }: Pick<OperationDeps, 'options'>): MailSettings {
  const settings = options()
  if (!isMailOn(settings)) throw badRequest('This server sends no messages: mail.url is empty.')
  return settings
}

/** Where several wait, the link of the last one is the valid one. */
function* replaceJob(job: NewJob): StoreSteps<void> {
  if (job.kind === 'mail.verify-address') yield* removeJobs(job.kind, job.key, toKeyEnd(job.key))
  yield* putJobs([job])
}

/** In one transaction. */
export async function addRequest(engine: Engine, request: MailRequest, settings: MailSettings): Promise<void> {
  const { now, job } = request
  const counters = listCounters(request, settings)
  // without a lock: a client that has reached its limit must not keep others waiting
  for (const { find, limit } of counters) requireBelow(await engine.ask(find), limit, now)
  await engine.transact(function* () {
    yield* lockCounters()
    for (const { find, limit } of counters) requireBelow(yield find, limit, now)
    yield one(STATEMENTS.purgeRequests, now)
    for (const { key } of counters) yield one(STATEMENTS.addRequest, key, now + HOUR_SECONDS)
    if (job) yield* replaceJob(job)
  })
}

/** Returns how many attempts of the job had an uncertain outcome, with this one. */
export async function countUncertain(engine: Engine, { id, begunMs }: Job, now: number): Promise<number> {
  const key = digestHex('sha256', `uncertain ${id} ${begunMs}`)
  const [row] = await engine.ask(one(STATEMENTS.addRequest, key, now + UNCERTAIN_SECONDS))
  return row ? numberOf(row, 'requests') : 0
}

/** Longer than a message is tried. */
const UNCERTAIN_SECONDS = 2 * 86_400

interface Counter {
  readonly key: string
  readonly find: OneStep
  /** 0: none. */
  readonly limit: number
}

function listCounters({ address, peer, now }: MailRequest, { mail }: MailSettings): readonly Counter[] {
  const toCounter = (text: string, limit: number): Counter => {
    const key = digestHex('sha256', text)
    return { key, limit, find: one(STATEMENTS.findRequests, key, now) }
  }
  const client = peer === undefined ? undefined : toPeerKey(peer)
  return [
    toCounter(`mailbox ${toMailbox(address)}`, mail['mailbox-requests-per-hour']),
    ...(client === undefined ? [] : [toCounter(`client ${client}`, mail['client-requests-per-hour'])]),
  ]
}

/** Equal for addresses that many servers deliver to the same person: `ann+shop@…` and `a.nn@…` are a mailbox of `ann`. */
function toMailbox(address: string): string {
  const [local = '', domain = ''] = address.toLowerCase().split('@')
  return `${local.replace(/\+.*$/, '').replaceAll('.', '')}@${domain}`
}

function requireBelow([row]: readonly Row[], limit: number, now: number): void {
  if (!row || limit === 0 || numberOf(row, 'requests') < limit) return
  const reason = 'Too many messages were asked for; try again later.'
  throw new Refusal('too_many_requests', { reason, retryAfterSeconds: numberOf(row, 'until') - now })
}
