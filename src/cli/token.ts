import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import { nowSeconds, readUtcTime, renderUtcTime, SYSTEM_CLOCK } from '../base/clock.ts'
import { toPrintable } from '../base/printable.ts'
import type { OperationResult } from '../dialects/admin-api/operations.ts'
import { type Context, commandError, usageError } from './context.ts'
import { addManaged, type JsonOption, type ManageOptions, parseName, perform, readDuration } from './manage.ts'
import { loadSettingsOf } from './own-settings.ts'
import { readTypedSecret } from './passwords.ts'
import { renderTable } from './table.ts'
import { createToken, type ShownToken, showToken, withSecretProblems } from './token-tools.ts'

interface CreateOptions {
  readonly user?: string
  readonly superuser?: boolean
  readonly serverId: string
  readonly expires: number
  readonly paths?: readonly string[]
}

/** `cardea token`: tokens of the multi-model door, made with its secret. No server is needed. */
export function tokenCommand(context: Context): Command {
  const command = new Command('token').description('make and look at tokens; list and revoke access tokens')
  const making = (name: string, description: string, render: (token: string) => string) =>
    command
      .command(name)
      .description(description)
      .addOption(new Option('--user <name>', 'a token of this user').argParser(parseName).conflicts('superuser'))
      .option('--superuser', 'a token above all users')
      .addOption(new Option('--server-id <text>', 'what a superuser token calls its holder').default('cardea'))
      .addOption(
        new Option(
          '--expires <time>',
          'how long it is valid (90s, 15m, 1h, 30d), or until when (a day or a time in UTC), or never',
        )
          .argParser(readLifetime)
          .default(3600, '1h'),
      )
      .option('--paths <paths>', 'the only paths it is good for, with commas between', readPaths)
      .action((options: CreateOptions) => withSecretProblems(() => create(context, options, render)))
  making('create', 'print a token', (token) => token)
  making('header', 'print a token as the header it is sent in', (token) => `Authorization: bearer ${token}`)
  command
    .command('show')
    .description('decode a token, verify it, and say what is wrong with it')
    .addArgument(new Argument('[token]', 'read from standard input unless given'))
    .option('--json', 'print JSON')
    .action((token: string | undefined, options: JsonOption) => withSecretProblems(() => show(context, token, options)))
  addAccessTokens(command, context)
  return command
}

/** Access tokens are extra passwords of a user, kept in the directory. */
function addAccessTokens(command: Command, context: Context): void {
  const ofUser = (name: string, description: string) =>
    addManaged(command, name, description).addArgument(new Argument('<user>', 'whose').argParser(parseName))
  ofUser('list', 'print the access tokens of a user').action((name: string, options: ManageOptions) =>
    perform(context, options, (control) => control.call('user.tokens', { params: { name } }), {
      render: ({ tokens }) => (tokens.length === 0 ? `${name} has no access tokens.` : renderTokens(tokens)),
      explanations: [['not_found', `There is no user ${name}.`]],
    }),
  )
  ofUser('revoke', 'remove an access token of a user; what it has opened ends')
    .argument('<token>', 'its name, as list prints it')
    .action((name: string, id: string, options: ManageOptions) =>
      perform(context, options, (control) => control.call('user.remove-token', { params: { name, id } }), {
        render: () => `The access token ${id} of ${name} is revoked.`,
        explanations: [['not_found', `${name} has no access token ${id}.`]],
      }),
    )
}

const renderTokens = (tokens: OperationResult<'user.tokens'>['tokens']): string =>
  renderTable(
    ['NAME', 'ACTIVE', 'EXPIRES', 'LAST USED', 'DATABASES', 'SERVICES'],
    tokens.map(({ name, isActive, expiresAt, usedAt, databases = [], services = [], access }) => [
      name,
      isActive ? 'yes' : 'no',
      renderUtcTime(expiresAt),
      usedAt === undefined ? 'never' : renderUtcTime(usedAt),
      databases.join(',') + (access ? ' (read only)' : ''),
      services.join(','),
    ]),
  )

/** In seconds from now. Infinite: never expires. */
function readLifetime(text: string): number {
  if (text === 'never') return Number.POSITIVE_INFINITY
  const until = readUtcTime(text)
  const seconds = until === undefined ? readDuration(text) : until - nowSeconds(SYSTEM_CLOCK)
  if (seconds === undefined)
    throw new InvalidArgumentError('A duration such as 90s, 15m, 1h or 30d, a time such as 2030-12-31, or never.')
  if (seconds <= 0) throw new InvalidArgumentError('This time has passed.')
  return seconds
}

function readPaths(text: string): readonly string[] {
  const paths = text.split(',').map((path) => path.trim())
  if (paths.every((path) => path.startsWith('/'))) return paths
  throw new InvalidArgumentError('Paths begin with a slash.')
}

async function create(context: Context, options: CreateOptions, render: (token: string) => string): Promise<void> {
  const { user, superuser = false, serverId, expires, paths = [] } = options
  if (user === undefined && !superuser) throw usageError('Whose token? Give --user NAME or --superuser.')
  const { values } = loadSettingsOf(context)
  const isEndless = expires === Number.POSITIVE_INFINITY
  const lifetimeSeconds = isEndless ? undefined : expires
  const token = { user, serverId, lifetimeSeconds, paths, nowSeconds: nowSeconds(SYSTEM_CLOCK) }
  context.print(render(await createToken(values, token)))
  if (isEndless) context.printError('warning: this token never ends, except with the secret that signed it')
}

async function show(context: Context, given: string | undefined, { json }: JsonOption): Promise<void> {
  const isPiped = given === undefined || given === '-'
  const text = isPiped
    ? await readTypedSecret({ what: 'Token', fromInput: true, flag: 'standard input', isNew: false })
    : given
  // a whole header is accepted too
  const shown = await showToken(
    loadSettingsOf(context).values,
    text.trim().replace(PREFIX, ''),
    nowSeconds(SYSTEM_CLOCK),
  )
  context.print(json ? JSON.stringify(toJson(shown), undefined, 2) : render(shown))
  if (shown.problem !== undefined) throw commandError(json ? '' : `Not good: ${shown.problem}.`)
}

const PREFIX = /^(?:authorization: *)?bearer +/i

const toJson = ({ header, claims, problem }: ShownToken): object => ({
  header,
  claims,
  ...Object.fromEntries(listTimes(claims).map(([name, time]) => [TIMES[name], time])),
  isGood: problem === undefined,
  ...(problem === undefined ? {} : { problem }),
})

function render({ header, claims, problem }: ShownToken): string {
  const part = (name: string, value: unknown) =>
    `${name} ${value === undefined ? 'cannot be read' : toPrintable(JSON.stringify(value)).replaceAll(',"', ', "')}`
  const lines = [
    part('header', header),
    part('claims', claims),
    ...listTimes(claims).map(([name, time]) => `${name}    ${time}`),
  ]
  if (problem !== undefined) return lines.join('\n')
  return [...lines, 'Signature and claims are valid. Only a server knows whether the token was revoked.'].join('\n')
}

/** The claims that are times, and what `--json` calls them. */
const TIMES: Readonly<Record<string, string>> = { iat: 'issuedAt', exp: 'expiresAt' }

const listTimes = (claims: unknown): readonly (readonly [name: string, time: string])[] =>
  Object.entries(Object(claims)).flatMap(([name, seconds]) =>
    Object.hasOwn(TIMES, name) && typeof seconds === 'number' && Math.abs(seconds) < 8e12
      ? [[name, new Date(seconds * 1000).toISOString()] as const]
      : [],
  )
