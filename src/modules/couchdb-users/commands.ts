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
    const { source, phase } = await call('directory.source')
    if (phase !== 'none' && phase !== 'adopting')
      return { ...DONE, ...(!dryRun && (await waitFor(call, given, isFollowing))) }
    const plan = await planAll(call, given)
    const text = [...describePlan(plan), ...(dryRun ? [source === 'own' ? TO_ADOPT : 'Nothing was changed.'] : [])]
    if (dryRun) return { result: plan, text: text.join('\n') }
    if (plan.replaced.length > 0 && !replace && source === 'couchdb')
      return { result: plan, text: text.join('\n'), problem: TO_REPLACE }
    await call('directory.adopt', { body: { replace: Boolean(replace) } })
    const problem = await waitFor(call, given, isFollowing)
    return {
      result: plan,
      text: [...text, ...(problem ? [] : ['Done: the users are in CouchDB.'])].join('\n'),
      ...problem,
    }
  },
}

const isFollowing = ({ phase }: Source): boolean => phase === 'following'

const TO_ADOPT =
  'To do it: set directory.source = couchdb, restart the server, and run cardea directory adopt. Users cannot sign in from the restart until it is done.'
const TO_REPLACE = 'Nothing was changed. With --replace these documents are replaced by the users of Cardea.'
const DONE = { result: { phase: 'following' }, text: 'The users are in CouchDB.' } as const

export const RELEASE: ModuleCommand = {
  group: 'directory',
  name: 'release',
  description: 'see that the copy of the users in CouchDB is complete, before it becomes the users of Cardea',
  options: [DRY_RUN],
  async run(call, given) {
    const { source } = await call('directory.source')
    if (source === 'own') return { result: { source }, text: 'The users are those of Cardea. Nothing was changed.' }
    const isComplete = async () => (await call('directory.copy')).isComplete
    const problem = given.options['dryRun'] ? undefined : await waitFor(call, given, isComplete)
    const { leftOut } = await call('directory.source')
    const lines = [
      ...describeNames(
        'Users who cannot sign in and will be disabled, or documents that are no users here',
        listIds(leftOut),
      ),
      ...(problem ? [] : [TO_RELEASE]),
    ]
    return { result: { leftOut }, text: lines.join('\n'), ...problem }
  },
}

const TO_RELEASE =
  'To do it: set directory.source = own, and restart the server. The users keep ids, passwords, sessions and grants; CouchDB is not changed.'

const listIds = (documents: Source['leftOut']): readonly string[] => documents.map(({ document }) => document)

type Source = Awaited<ReturnType<typeof readSource>>
const readSource = (call: CallOperation) => call('directory.source')

/** What the server says if it makes no progress. */
async function waitFor(
  call: CallOperation,
  { progress }: GivenToCommand,
  isDone: (source: Source) => boolean | Promise<boolean>,
) {
  let last = ''
  for (let idle = 0; idle < MAX_IDLE_LOOKS; idle += 1) {
    const source = await readSource(call)
    if (await isDone(source)) return undefined
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
