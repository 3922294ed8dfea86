import { resolve } from 'node:path'
import { Argument, Command, InvalidArgumentError } from 'commander'
import type { Config } from '../config/options.ts'
import {
  createSecretFile,
  type ListedSecret,
  SECRET_BYTES,
  type SecretKind,
  SecretProblem,
} from '../keys/new-secret.ts'
import { type RotationStep, stepRotation } from '../keys/rotate-secret.ts'
import type { Context } from './context.ts'
import { printJson } from './json-output.ts'
import { addManaged, CA_OPTION, collect, type JsonOption, type ManageOptions, manage, perform } from './manage.ts'
import { loadSettingsOf } from './own-settings.ts'
import { AFTER, BEFORE, createReloader, type ReloadOptions } from './reload-secrets.ts'
import { renderTable } from './table.ts'
import { listSecrets, withSecretProblems } from './token-tools.ts'

interface CreateOptions extends JsonOption {
  readonly ec?: boolean
  readonly length?: number
}

interface RotateOptions extends JsonOption, ReloadOptions {
  readonly force?: boolean
}

/** `cardea secret`: the secrets that sign and verify tokens of the multi-model door and cookies of the document door. */
export function secretCommand(context: Context): Command {
  const command = new Command('secret').description('manage the secrets of tokens and cookies')
  const sub = (name: string, description: string) =>
    command.command(name).description(description).option('--json', 'print JSON')
  sub('create', 'write a new secret into a file of its own, readable by its owner alone')
    .addArgument(new Argument('<file>', 'where; one that exists is not overwritten'))
    .option('--length <bytes>', `random bytes, ${SECRET_BYTES.least} to ${SECRET_BYTES.most}`, readLength)
    .option('--ec', 'a private key for ES256 instead')
    .action((file: string, options: CreateOptions) => withSecretProblems(() => create(context, file, options)))
  sub('list', 'print which secrets a server with this configuration loads, by their hashes').action(
    (options: JsonOption) => withSecretProblems(() => list(context, options)),
  )
  sub('rotate', 'take the next step of exchanging the secret that signs; run it again for the one after')
    .option('--reload <url>', 'a multi-model door that reloads the folder; may be repeated', collect)
    .option(...CA_OPTION)
    .option('--force', 'remove the old secret although tokens it signed may be alive')
    .action((options: RotateOptions) => withSecretProblems(() => rotate(context, options)))
  addManaged(command, 'replace', 'replace chttpd_auth.secret, which signs cookies and proxy tokens, by a random one')
    .option('--now', 'refuse cookies made with the old secret at once, as for a secret that leaked')
    .action((options: ReplaceOptions) => replace(context, options))
  return command
}

interface ReplaceOptions extends ManageOptions {
  readonly now?: boolean
}

/** Stores a random secret for every node. It is never shown; for a proxy, set a known one with `config set`. */
async function replace(context: Context, options: ReplaceOptions): Promise<void> {
  const { now = false } = options
  const grace = now ? 'are refused from now on' : 'verify for one more chttpd_auth.timeout, at most an hour'
  await perform(context, options, (control) => control.call('secret.replace', { body: { now } }), {
    render: () => `chttpd_auth.secret is replaced. Cookies made with the old one ${grace}.\n${PROXIES}`,
  })
}

const PROXIES =
  'Proxy tokens made with it are refused. A proxy needs the secret: set one both know with cardea config set chttpd_auth.secret.'

function readLength(text: string): number {
  const bytes = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (bytes >= SECRET_BYTES.least && bytes <= SECRET_BYTES.most) return bytes
  throw new InvalidArgumentError(`A number from ${SECRET_BYTES.least} to ${SECRET_BYTES.most}.`)
}

async function create(context: Context, file: string, { ec, length, json }: CreateOptions): Promise<void> {
  const kind: SecretKind = ec ? 'ES256' : 'HS256'
  const made = createSecretFile(resolve(context.cwd, file), kind, length)
  context.print(json ? JSON.stringify(made, undefined, 2) : `Made ${file} (${kind}), sha256 ${made.sha256}.`)
}

async function list(context: Context, { json }: JsonOption): Promise<void> {
  const secrets = await listSecrets(loadSettingsOf(context).values)
  if (json) printJson(context, secrets)
  else if (secrets.length === 0) context.print('None is configured: a server makes one at random at each start.')
  else context.print(renderTable(['NAME', 'USE', 'KIND', 'SHA256'], secrets.map(toRow)))
}

const toRow = ({ name, use, kind, sha256 }: ListedSecret): readonly string[] => [name, use, kind ?? '-', sha256]

async function rotate(context: Context, { force = false, json = false, ...servers }: RotateOptions): Promise<void> {
  const { values } = loadSettingsOf(context)
  const folder = values.server['jwt-secret-folder']
  if (folder === '')
    throw new SecretProblem('Only secrets in a folder can be exchanged: see --server.jwt-secret-folder.')
  const reloadServers = await createReloader(context, values, servers)
  await reloadServers(BEFORE)
  const options = {
    nowSeconds: Math.floor(Date.now() / 1000),
    // how long a token can live that a server with this configuration signs
    lifetimeSeconds: Math.max(values.server['session-timeout'], values.auth['maximal-jwt-expiry-time']),
    isForced: force,
  }
  const step = await recordStep(context, { json }, () => stepRotation(folder, options))
  const secrets = await listSecrets(values)
  if (json) printJson(context, { ...step, secrets })
  else context.print(renderStep(step, servers.reload !== undefined, values))
  if (step.kind !== 'waiting') await reloadServers(AFTER)
}

/** The running server, if there is one, is the owner of the audit trail. */
const recordStep = (
  context: Context,
  options: JsonOption,
  takeStep: () => Promise<RotationStep>,
): Promise<RotationStep> =>
  manage(context, options, async (control) => {
    await control.call('secret.record-step', { body: {} })
    const step = await takeStep()
    const { kind, file } = step
    if (kind !== 'waiting') await control.call('secret.record-step', { body: { step: kind, file } })
    return step
  })

function renderStep(step: RotationStep, isReloaded: boolean, { server }: Config): string {
  if (step.kind === 'waiting')
    return `Nothing was changed: tokens signed with ${step.file} may live until ${new Date(step.until * 1000).toISOString()}. Run this again then, or with --force.`
  const done = DONE[step.kind](step.file)
  if (isReloaded) return done
  const how = server['jwt-secret-watch']
    ? 'Servers that watch the folder (server.jwt-secret-watch) load it by themselves; wait until each has.'
    : 'Now let every server load it: POST /_admin/server/jwt with a superuser token, or --reload URL here.'
  return `${done}\n${how}`
}

const DONE = {
  added: (file: string) => `1 of 3: added ${file}. It verifies; the old secret still signs.`,
  activated: (file: string) => `2 of 3: ${file} is the first now. It signs; the old secret still verifies.`,
  removed: (file: string) => `3 of 3: removed ${file}. What it signed is refused from now on.`,
}
