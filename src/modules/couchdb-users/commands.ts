// `cardea directory adopt` and `release`.
import { setTimeout as pause } from 'node:timers/promises'
import type { CallOperation, GivenToCommand, ModuleCommand } from '../module.ts'

const LOOK_MS = 200
/** A server that makes no progress for 30 s has a problem: a process that was killed holds others up for 10 s. */
const MAX_IDLE_LOOKS = 150

const DRY_RUN = ['--dry-run', 'list what would change', ''] as const

export const ADOPT: ModuleCommand = {
  group: 'directory',
  name: 'adopt',
  description: 'write the users of Cardea to the CouchDB behind the document door, whose users they are from then on',
  options: [DRY_RUN, ['--replace', 'replace other documents that CouchDB has of these users', '']],
  async run(call, given) {
    const { dryRun, replace } = given.options
    const { phase } = await call('directory.source')
    if (phase !== 'none' && phase !== 'adopting')
      return { result: { phase }, text: ADOPTED, ...(!dryRun && (await waitFor(call, given, isFollowing))) }
    const plan = await planAll(call, given)
    const lines = describePlan(plan)
    if (dryRun) return { result: plan, text: [...lines, UNCHANGED].join('\n') }
    if (plan.replaced.length > 0 && !replace) return { result: plan, text: lines.join('\n'), problem: TO_REPLACE }
    await call('directory.adopt', { body: { replace: Boolean(replace) } })
    const problem = await waitFor(call, given, isFollowing)
    return { result: plan, text: [...lines, ...(problem ? [] : [ADOPTED])].join('\n'), ...problem }
  },
}

const isFollowing = ({ phase }: Source): boolean => phase === 'following'
const isOwn = ({ source }: Source): boolean => source === 'own'

const UNCHANGED = 'Nothing was changed.'
const ADOPTED = 'The users are in CouchDB.'
const TO_REPLACE = 'Nothing was changed. With --replace these documents are replaced by the users of Cardea.'

export const RELEASE: ModuleCommand = {
  group: 'directory',
  name: 'release',
  description: 'make the copy of the users in CouchDB the users of Cardea',
  options: [DRY_RUN, ['--now', 'do not wait for changes in CouchDB that are not copied, as when it is lost', '']],
  async run(call, given) {
    const { dryRun, now } = given.options
    const { source, leftOut } = await call('directory.source')
    if (source === 'own') return { result: { source }, text: `${RELEASED} ${UNCHANGED}` }
    const names = leftOut.map(({ document }) => document)
    const lines = describeNames('Users who cannot sign in and are disabled, or documents that are no users here', names)
    if (dryRun) return { result: { leftOut }, text: [...lines, UNCHANGED].join('\n') }
    await call('directory.release', { body: { now: Boolean(now) } })
    const problem = await waitFor(call, given, isOwn)
    return { result: { leftOut }, text: [...lines, ...(problem ? [] : [RELEASED])].join('\n'), ...problem }
  },
}

const RELEASED = 'The users are those of Cardea.'

type Source = Awaited<ReturnType<typeof readSource>>
const readSource = (call: CallOperation) => call('directory.source')

/** What the server says if it makes no progress. */
async function waitFor(call: CallOperation, { progress }: GivenToCommand, isDone: (source: Source) => boolean) {
  let last = ''
  for (let idle = 0; idle < MAX_IDLE_LOOKS; idle += 1) {
    const source = await readSource(call)
    if (isDone(source)) return undefined
    const { phase, done, pending, problem } = source
    const now = `${phase} ${done}`
    if (now !== last) [idle, last] = [0, now]
    progress({ done, total: done + pending, records: done })
    await pause(LOOK_MS)
    if (idle === MAX_IDLE_LOOKS - 1) return { problem: `The server goes on trying: ${problem ?? 'see cardea status'}.` }
  }
  return undefined
}

interface Plan {
  readonly checked: number
  readonly created: number
  readonly replaced: readonly string[]
  readonly kept: readonly string[]
  readonly held: readonly string[]
  readonly others: readonly string[]
}

async function planAll(call: CallOperation, { progress }: GivenToCommand): Promise<Plan> {
  const plan = { checked: 0, created: 0, replaced: [] as string[], kept: [] as string[], held: [] as string[] }
  let after: string | undefined
  do {
    const page = await call('directory.adoption', { query: { after } })
    plan.checked += page.checked
    plan.created += page.created
    plan.replaced.push(...page.replaced)
    plan.kept.push(...page.kept)
    plan.held.push(...page.held)
    progress({ done: 0, total: undefined, records: plan.checked })
    after = page.next
  } while (after !== undefined)
  return { ...plan, others: await listOthers(call) }
}

async function listOthers(call: CallOperation): Promise<readonly string[]> {
  const others: string[] = []
  let after: string | undefined
  do {
    const page = await call('directory.others', { query: { after } })
    others.push(...page.names)
    after = page.next
  } while (after !== undefined)
  return others
}

const describePlan = ({ checked, created, replaced, kept, held, others }: Plan): readonly string[] => [
  `Users: ${checked}. New in CouchDB: ${created}.`,
  ...describeNames('Other documents of these users in CouchDB, to be replaced', replaced),
  ...describeNames('CouchDB cannot verify their passwords, which stay with Cardea until they change', kept),
  ...describeNames('They are disabled, expire or must change the password, and get none in CouchDB until then', held),
  ...describeNames('Users of CouchDB who become users here', others),
]

const describeNames = (what: string, names: readonly string[]): readonly string[] =>
  names.length === 0 ? [] : [`${what}: ${names.length}: ${names.join(', ')}`]
