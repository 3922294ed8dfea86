import { Argument, type Command } from 'commander'
import type { ShownSession } from '../dialects/admin-api/users/sessions.ts'
import type { Context } from './context.ts'
import { type ManageOptions, manage, readName, report } from './manage.ts'
import { renderTable } from './table.ts'

const NAME = new Argument('<name>', 'of the user or administrator').argParser(readName)

/** `cardea user sessions` and `end-session`. */
export function addSessions(sub: (name: string, description: string) => Command, context: Context): void {
  sub('sessions', 'print the sessions of a user, the newest first')
    .addArgument(NAME)
    .action((name: string, options: ManageOptions) => list(context, name, options))
  sub('end-session', 'end one session of a user')
    .addArgument(NAME)
    .argument('<id>', 'as sessions prints it')
    .action((name: string, id: string, options: ManageOptions) => end(context, { name, id }, options))
}

async function list(context: Context, name: string, options: ManageOptions): Promise<void> {
  const { sessions } = await manage(
    context,
    options,
    (control) => control.call('user.sessions', { params: { name } }),
    {
      explanations: new Map([['not_found', `There is no user ${name}.`]]),
    },
  )
  const render = () => (sessions.length === 0 ? `${name} has no sessions.` : renderTable(HEADINGS, sessions.map(toRow)))
  report(context, options, sessions, render)
}

const HEADINGS = ['ID', 'DOOR', 'OPENED', 'LAST USED', 'ADDRESS', 'CLIENT']

const toRow = ({ id, door, createdAt, seenAt, peer, userAgent }: ShownSession): readonly string[] => [
  id,
  door,
  toTime(createdAt),
  toTime(seenAt),
  peer,
  userAgent,
]

const toTime = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

interface Target extends Readonly<Record<string, string>> {
  readonly name: string
  readonly id: string
}

async function end(context: Context, params: Target, options: ManageOptions): Promise<void> {
  const ended = await manage(context, options, (control) => control.call('user.end-session', { params }), {
    explanations: new Map([['not_found', `${params.name} has no session ${params.id}.`]]),
  })
  report(context, options, ended, () => `The session of ${params.name} at the door ${ended.door} has ended.`)
}
