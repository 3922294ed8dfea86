// `cardea directory adopt` and `release`.
import { setTimeout as pause } from 'node:timers/promises'
import { toPrintable } from '../../base/printable.ts'
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
    const { phase } = await readSource(call)
    const isBegun = phase !== 'none'
    const plan = isBegun ? undefined : await planAll(call, given)
    const lines = plan ? describePlan(plan) : []
    const result = plan ?? { phase }
    if (dryRun) return { result, text: [...lines, isBegun ? BEGUN : UNCHANGED].join('\n') }
    if (plan && plan.replaced.length > 0 && !replace) return { result, text: lines.join('\n'), problem: TO_REPLACE }
    await call('directory.adopt', { body: { replace: Boolean(replace) } })
    const problem = await waitFor(call, given, isAdopted)
    return { result, text: [...lines, ...(problem ? [] : [ADOPTED])].join('\n'), ...problem }
  },
}

const isAdopted = ({ phase, releasing }: Source): boolean => phase === 'following' && !releasing
const isOwn = ({ source }: Source): boolean => source === 'own'

const BEGUN = 'The users are in CouchDB, or being written there: nothing is to be decided. Nothing was changed.'
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
    const { source, leftOut } = await readSource(call)
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
  let source = await readSource(call)
  for (let idle = 0; idle < MAX_IDLE_LOOKS; idle += 1) {
    if (isDone(source)) return undefined
    const { phase, done, pending } = source
    const now = `${phase} ${done}`
    if (now !== last) [idle, last] = [0, now]
    progress({ done, total: done + pending, records: done })
    await pause(LOOK_MS)
    source = await readSource(call)
  }
  return { problem: `The server goes on trying: ${source.problem ?? 'see cardea status'}.` }
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
  let plan: Plan = { checked: 0, created: 0, replaced: [], kept: [], held: [], others: [] }
  for await (const page of listPages((query) => call('directory.adoption', { query }))) {
    plan = {
      ...plan,
      checked: plan.checked + page.checked,
      created: plan.created + page.created,
      replaced: [...plan.replaced, ...page.replaced],
      kept: [...plan.kept, ...page.kept],
      held: [...plan.held, ...page.held],
    }
    progress({ done: 0, total: undefined, records: plan.checked })
  }
  const others: string[] = []
  for await (const { names } of listPages((query) => call('directory.others', { query }))) others.push(...names)
  return { ...plan, others }
}

async function* listPages<P extends { readonly next?: string }>(read: (query: { after?: string }) => Promise<P>) {
  let page = await read({})
  for (;;) {
    yield page
    if (page.next === undefined) return
    page = await read({ after: page.next })
  }
}

const describePlan = ({ checked, created, replaced, kept, held, others }: Plan): readonly string[] => [
  `Users: ${checked}. New in CouchDB: ${created}.`,
  ...describeNames('Other documents of these users in CouchDB, to be replaced', replaced),
  ...describeNames('No password in CouchDB, which cannot verify the stored form', kept),
  ...describeNames('No password in CouchDB while they are disabled, expire or must change it', held),
  ...describeNames('Users of CouchDB who become users here', others),
]

/** More are in the output with `--json`. */
const MAX_NAMES = 20

function describeNames(what: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return []
  const more = names.length > MAX_NAMES ? `, and ${names.length - MAX_NAMES} more: see --json` : ''
  return [`${what}: ${names.length}: ${names.slice(0, MAX_NAMES).map(toPrintable).join(', ')}${more}`]
}
