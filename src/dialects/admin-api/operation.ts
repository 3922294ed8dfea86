import type { SharedLimits } from '../../auth/limits/share.ts'
import type { PasskeyRequest } from '../../auth/passkey-sign-in.ts'
import type { SharedClock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { findMember, isJsonObject } from '../../base/json.ts'
import type { Account, DoorAccess } from '../../directory/account.ts'
import type { Caller } from '../../directory/caller.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Identity } from '../../directory/identity.ts'
import type { Audit } from '../../kernel/audit.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import type { PasswordRules } from '../../passwords/password-rules.ts'
import type { Engine } from '../../store/engine.ts'
import { readQuery, requireValid } from './json.ts'
import type { RunningServer, SettingsEditor } from './ports.ts'
import type { Guarded, Right } from './rights.ts'
import { mapOf, object, type Schema, text } from './schemas/schema.ts'
import type { ReloadResultView } from './schemas/system.ts'

/** One operation of the admin API, for a request or for a command that has opened the store itself. */
export interface Operation<Query = unknown, Body = unknown, Result = unknown, By = Caller> extends Guarded {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/_cardea/api`. */
  readonly path: string
  /** One sentence without a full stop. */
  readonly summary: string
  /** Absent: it has no parameters. */
  readonly query?: Schema<Query>
  /** Absent: the operation reads no body. */
  readonly body?: Schema<Body>
  /** Whether a request may leave the body out, which then has no members. */
  readonly isBodyOptional?: true
  /** The body of the response 200. */
  readonly reply: Schema<Result>
  run(deps: OperationDeps, call: Call<NoInfer<Query>, NoInfer<Body>, By>): NoInfer<Result> | Promise<NoInfer<Result>>
}

/** A row of the table. The compiler knows from its right and its schemas what `run` receives and returns. */
export function operation<Query, Body, Result, Allowed extends Right>(
  target: `${Operation['method']} /${string}`,
  allowed: Allowed,
  row: Omit<Operation<Query, Body, Result, CallerFor<Allowed>>, 'method' | 'path' | 'allowed'>,
): Operation<Query, Body, Result, CallerFor<Allowed>> {
  const [method, path] = target.split(' ') as [Operation['method'], string] // by the type of the target
  return { method, path, allowed, ...row }
}

const NO_QUERY = object({})

/** Checks query and body by the schemas of the operation, and runs it. */
export async function runOperation<Result>(
  row: Operation<unknown, unknown, Result>,
  deps: OperationDeps,
  request: UncheckedCall,
): Promise<Result> {
  const { query: parameters = NO_QUERY, body: schema, isBodyOptional } = row
  const query = readQuery(parameters, request.query)
  const sent = request.body === undefined && isBodyOptional ? {} : request.body
  const body = schema && requireValid(schema, sent)
  const requester = request.requester && withPasskey(request.requester, row, request.params, body)
  return row.run(deps, { ...request, query, body, ...(requester && { requester }) })
}

/** What a passkey has signed for this request replaces the current password, wherever the operation asks for it. */
function withPasskey(requester: Requester, row: Operation, params: Call['params'], body: unknown): Requester {
  const response = isJsonObject(body) ? findMember(body, 'current_passkey') : undefined
  if (response === undefined) return requester
  const target = `${row.method} ${row.path.replaceAll(/\{(\w+)\}/g, (_all, name) => params[name] ?? '')}`
  const prove = () => requester.requirePasskey(response, target)
  return { ...requester, requirePassword: prove, requireCurrentPassword: prove }
}

/** The values of all options: `src/modules/module.ts` says their type. */
// biome-ignore lint/suspicious/noEmptyInterface: extended there
export interface OptionValues {}

export interface OperationDeps {
  readonly directory: Directory
  readonly clock: SharedClock
  /** Runs the statements of modules with tables of their own. */
  readonly statements: Engine
  /** The URL at which users reach the console; empty: not configured. */
  publicUrl(): string
  readonly limits: SharedLimits
  readonly events: SecurityEvents
  readonly audit: Pick<Audit, 'list' | 'erase' | 'verify'>
  readonly settings: SettingsEditor
  /** The role of users who may manage other users; empty: there are none. */
  userAdminRole(): string
  /** Roles whose members need a second factor. */
  factorRoles(): readonly string[]
  /** What the account may do at each door, and why. */
  explainAccess(account: Account, database: string): readonly DoorAccess[]
  /** The name of the user's own database at the document door; `undefined`: it has none that it may use. */
  findOwnDatabase(account: Account): Promise<string | undefined>
  /** The rules for new passwords. */
  passwordRules(): PasswordRules
  /** For the operations of modules. */
  options(): OptionValues
  /** Left out for a command that has opened the store itself. */
  readonly server?: RunningServer
  /** Reads the whole configuration again. */
  reload(): Promise<ReloadResultView>
}

/** Parsed JSON and parameters, not checked yet. */
export type UncheckedCall = Call<URLSearchParams>

export interface Call<Query = unknown, Body = unknown, By = Caller> {
  /** The values of `{name}` in the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  readonly caller: By
  /** Left out for a command that has opened the store itself. */
  readonly requester?: Requester
}

/**
 * The caller of an operation that user administrators may call. Writes do not accept it: `toManager` makes a `Caller`
 * that checks the user with every write.
 */
export type UserAdminCaller = Omit<Caller, 'confirm' | 'mayWrite'>

/** What an operation receives that user administrators may call. */
export type ManagedCall<Query = unknown, Body = unknown> = Call<Query, Body, UserAdminCaller>

type CallerFor<Allowed extends Right> = Allowed extends 'userAdmin' ? UserAdminCaller : Caller

/** Who sent the request. */
export interface Requester {
  /** `null`: the owner of the process at its socket, or a superuser token. */
  readonly name: string | null
  readonly identity: Identity
  readonly right: Right
  /** How it reached the server. */
  readonly client: PasskeyRequest['client']
  /** The session of the request, if it has one. */
  readonly sessionId: string | undefined
  /** Whether it is the owner of the process, at its socket. */
  readonly isOwner: boolean
  /**
   * Whether the account of its name is its own. Otherwise another issuer or a proxy has given the name. An administrator may
   * use every account.
   */
  readonly hasAccount: boolean
  /** Throws unless the credential has proved the password recently and `current`, if it was sent, is that password. */
  requirePassword(current: string | undefined): Promise<void>
  /** Like `requirePassword`, but a session needs `current` even if it proved the password recently. */
  requireCurrentPassword(current: string | undefined): Promise<void>
  /** Creates a user within the limits of sign-up for its client. */
  signUp<T>(create: () => Promise<T>): Promise<T>
  /** Throws unless a passkey of the account has signed the response just now, for this target. */
  requirePasskey(response: unknown, target: string): Promise<void>
  /** Whether a passkey has opened the session, or signed this request. */
  hasUsedPasskey(): boolean
  /** Gives a browser a new session, after its own has ended with a new password. */
  reopenSession(): Promise<void>
}

/** The name in the path. */
export const nameOf = ({ params }: ManagedCall): string => params['name'] ?? ''

/** The name of the caller's own account. The owner of the process, superuser tokens and asserted users have none. */
export function requireAccountName({ requester }: ManagedCall): string {
  if (requester?.hasAccount && requester.name !== null) return requester.name
  throw new Refusal('forbidden', { reason: 'This credential belongs to no account.' })
}

/** The member of a body that holds the current password, for sessions that have not proved it recently. */
export const CURRENT_PASSWORD = {
  'current_password?': text('The password of the caller, to change its own account in an older session.'),
  'current_passkey?': mapOf(
    {},
    'What a passkey has signed for this request, in place of the password: see `/account/passkeys/proof-options`.',
  ),
}

/** For operations that read nothing else. */
export const PROOF = { body: object(CURRENT_PASSWORD), isBodyOptional: true } as const

/** For changes of the caller's own account. Other accounts may be changed with any credential of an administrator. */
export async function requireOwnPassword(
  { requester }: ManagedCall,
  name: string,
  current: string | undefined,
): Promise<void> {
  if (requester?.name === name) await requester.requirePassword(current)
}

/** For what a command on the server has done and only says so: an administrator could say anything. */
export function requireOwner(requester: Requester | undefined): void {
  if (requester && !requester.isOwner)
    throw new Refusal('forbidden', { reason: 'Only a command on the server can record this.' })
}

/** For operations that make sense only while a server runs. */
export function requireServer({ server }: OperationDeps): RunningServer {
  if (!server) throw new Refusal('not_serving')
  return server
}
