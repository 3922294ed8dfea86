/**
 * A module is one optional capability: a folder with its rows and its code. `src/modules.ts` lists all of them and adds
 * their rows to the tables of the core, which never imports one.
 */
import type { IncomingMessage } from 'node:http'
import type { Passkeys } from '../auth/passkey-sign-in.ts'
import type { Live } from '../base/live.ts'
import type { Config, ModuleOptions } from '../config/options.ts'
import type { NamedEntries, Settings } from '../config/settings.ts'
import type { ExternalSignIn } from '../dialects/admin-api/external-sign-in.ts'
import type { Operation } from '../dialects/admin-api/operation.ts'
import type { OperationName, OperationResult } from '../dialects/admin-api/operations.ts'
import type { AccessCheck } from '../dialects/document/explain-access.ts'
import type { DoorUpstream } from '../dialects/services.ts'
import type { Account } from '../directory/account.ts'
import type { DirectorySettings, RecordUserChange, UserSource } from '../directory/deps.ts'
import type { Directory } from '../directory/directory.ts'
import type { Identity } from '../directory/identity.ts'
import type { JobStore } from '../directory/store-port/jobs.ts'
import type { User } from '../directory/users/user.ts'
import type { Reply, RequestContext, Step } from '../http/request-context.ts'
import type { JobKinds } from '../kernel/jobs.ts'
import type { Kernel } from '../kernel/kernel.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import type { CheckStored } from '../live-config/settings-service.ts'
import type { HealthCheck } from '../observe/health.ts'
import type { EventRow } from '../observe/security-event-table.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { StoreRow } from '../store/create-store.ts'
import type { Engine } from '../store/engine.ts'

/**
 * The table of contents of a module. A module that adds rows to a table of types also extends its interface, such as
 * `EventRows`: without its rows in the list, `src/modules.ts` does not compile.
 */
export interface Module {
  /** The name of its folder. */
  readonly name: string
  /** The modules whose files it imports, or whose options it reads. */
  readonly needs?: readonly Module[]
  /** In the file `options.ts` of the module, which `src/module-options.ts` lists too. */
  readonly options?: ModuleOptions
  /** Kinds of security events; see `EventRows`. */
  readonly events?: Readonly<Record<string, EventRow>>
  /** Records changes of the field of users that the module knows. */
  readonly recordUserChange?: RecordUserChange
  /** Operations of the admin API; see `OperationRows`. */
  readonly operations?: Readonly<Record<string, Operation>>
  readonly store?: Omit<StoreRow, 'module'>
  /** Kinds of jobs by their names, which `putJobs` and `addJobs` add to the store. */
  readonly jobs?: (core: ModuleCore) => JobKinds
  /** Accounts at other servers that sign in as users. At most one module brings them. */
  readonly externalSignIn?: (core: ModuleCore) => Promise<ExternalSignIn>
  /** Keys of authenticators that sign in. At most one module brings them. */
  readonly passkeys?: (core: ModuleCore) => Promise<Passkeys>
  /** In how many ways of the module the user can sign in without a password. */
  readonly countWaysIn?: (user: User, settings: Settings) => number
  /** Why a request may not change an option: what the module has stored depends on it. */
  readonly checkStored?: CheckStored
  /** What the configuration of the module means for names and roles of users. */
  readonly accountRules?: (settings: Settings) => AccountRules
  /** Whether a verified address signs in, too. */
  readonly addressesSignIn?: (settings: Config) => boolean
  /** Another server that can have the users. At most one module brings it. */
  readonly userSource?: (core: SourceCore) => Promise<OpenedSource>
  /** Follows the work of each request; `undefined`: it is not wanted. At most one module brings it. */
  readonly tracing?: (core: StartedCore) => Promise<Tracing | undefined>
  /** What the health of a server has besides the parts of the core. */
  readonly health?: (core: ModuleCore) => readonly HealthCheck[]
  readonly onSignIn?: (core: ModuleCore) => OnSignIn
  /** Sentences for the operator who has just started the server. Must not throw. */
  readonly startNotes?: (core: ModuleCore) => Promise<readonly string[]>
  /** The name of the user's own database at the document door; `undefined`: it has none that it may use. */
  readonly findOwnDatabase?: (account: Account, settings: Config, statements: Engine) => Promise<string | undefined>
  /** Areas of `cardea check`. */
  readonly checks?: readonly ModuleCheck[]
  /** Commands of `cardea user`. */
  readonly userCommands?: readonly UserCommand[]
  readonly commands?: readonly ModuleCommand[]
  readonly documentDoor?: DocumentDoorRules
  /** Options of the sign-in page, which is public. */
  readonly signInPage?: (settings: Config) => object
  /** Members of the library; see `LibraryMembers`. */
  readonly library?: (run: RunOperation) => object
}

/** Keeps the types of its rows. */
export const defineModule = <const M extends Module>(module: M): M => module

export type Intersection<U> = [U] extends [never]
  ? object
  : (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void
    ? I
    : never

/** The rows of all modules as one type, so that a row which a module declares and the list lacks does not compile. */
export type Merged<M, K extends string> = Intersection<M extends { readonly [N in K]: infer Rows } ? Rows : never>

/** What the core gives to a module that runs in a server. */
export interface ModuleCore {
  readonly liveConfig: LiveConfig
  readonly config: Live<Config>
  readonly directory: Directory
  readonly kernel: Kernel
  /** The databases behind the doors; `undefined`: none is configured. */
  readonly gateway: { readonly find: FindDatabase }
}

/** What there is before the directory is opened. */
export type StartedCore = Pick<ModuleCore, 'config' | 'kernel'>

/** What another server that can have the users is opened with. */
export interface SourceCore extends StartedCore {
  /** Finds none before the doors are built. */
  findDatabase(door: string): ReturnType<FindDatabase> | Promise<ReturnType<FindDatabase>>
  /** There is no server, only a command. */
  readonly isCommand: boolean
}

export interface OpenedSource extends UserSource {
  /** Parts of the health, as long as it has the users. */
  listChecks(): readonly HealthCheck[]
  /** Keeps the copy in the store up to date, until `stop`. */
  start(directory: Directory): { stop(): Promise<void> }
}

declare module '../dialects/admin-api/operation.ts' {
  interface OptionValues extends Config, NamedEntries {}
}

/** Called when a user has opened a session, before the reply, which waits for it. */
export type OnSignIn = (account: Account) => Promise<void>

export type AccountRules = Pick<DirectorySettings, 'reservedPrefixes' | 'roleIssuers'>

export interface Finding {
  readonly level: 'ok' | 'warning' | 'problem'
  readonly message: string
  /** What to do about it. */
  readonly advice?: string
  /** The users that the message is about. */
  readonly names?: readonly string[]
}

/** What a check looks at besides the settings. */
export interface CheckedWith {
  /** There is a store that can be read. */
  readonly hasStore: boolean
  /** The database behind a door. */
  readonly findDatabase: FindDatabase
  readonly flags: CheckFlags
}

/** What flags of the checks were given, by their names in camel case. */
export type CheckFlags = Readonly<Record<string, string | undefined>>

export interface ModuleCheck {
  readonly name: string
  /** With its help. */
  readonly flag?: readonly [flag: string, help: string]
  isConfigured(settings: Settings, flags: CheckFlags): boolean
  find(settings: Settings, given: CheckedWith): Promise<readonly Finding[]>
  /** What to print without a finding. */
  readonly ok: string
}

/** `cardea user <name> <user>`, which runs one operation for the user. */
export interface UserCommand<N extends OperationName = OperationName> {
  readonly name: string
  readonly description: string
  readonly operation: N
  /** After the name of the user, each with its help. */
  readonly arguments?: readonly (readonly [flags: string, help: string])[]
  /** Left out: the operation needs the name only. */
  toInput?(...given: readonly string[]): {
    readonly params?: Readonly<Record<string, string>>
    readonly body?: object
  }
  /** Whether the body has the name of the user, too. */
  readonly namesUser?: true
  print(result: OperationResult<N>, user: string): string
  /** Printed on standard error. */
  note?(result: OperationResult<N>): string
  /** Whether the reason of a conflict is shown as it is. */
  readonly explainsConflict?: true
}

/** `cardea <group> <name>`, at a running server. A row of `src/cli/program.ts` has its group. */
export interface ModuleCommand {
  readonly group: string
  readonly name: string
  readonly description: string
  /** Each with its help. */
  readonly arguments?: readonly (readonly [flags: string, help: string])[]
  readonly options?: readonly (readonly [flags: string, help: string, otherwise: string])[]
  run(call: CallOperation, given: GivenToCommand): Promise<CommandResult>
}

export interface GivenToCommand {
  readonly arguments: readonly string[]
  readonly options: Readonly<Record<string, string>>
  progress(state: CommandProgress): void
}

export type CallOperation = <N extends OperationName>(
  name: N,
  input?: {
    readonly params?: Readonly<Record<string, string>>
    readonly query?: Readonly<Record<string, string | undefined>>
    readonly body?: object
  },
) => Promise<OperationResult<N>>

/** `records` is shown as the count. Without a total, how far it is stays open. */
interface CommandProgress {
  readonly done: number
  readonly total: number | undefined
  readonly records: number
}

/** What is printed with and without `--json`. */
interface CommandResult {
  readonly result: object
  readonly text: string
  /** Why the command has failed: printed on standard error. */
  readonly problem?: string
}

/** What a module decides about requests to the document door. */
export interface DocumentDoorRules {
  /** Steps that follow authentication. What they reply to needs no right of the door. */
  createReplies?(core: DocumentDoorCore): readonly Step[]
  /** Steps that follow the check of the door's own rights. */
  createSteps?(core: DocumentDoorCore): readonly Step[]
  /** Watches requests that are forwarded to the database. */
  createWatch?(core: DocumentDoorCore): WatchForwarded
  /** They keep the limits of read-only access tokens. Without such a module the door refuses these. */
  readonly knowsReads?: true
  /** Makes these decisions without a request, to explain what an account may do. */
  explain?(settings: Config): AccessCheck
}

/** Called before a request is forwarded; what it returns is called with the reply, before that is sent. */
export type WatchForwarded = (context: RequestContext) => ((reply: Reply) => void) | undefined

/** What the core gives to steps of the document door. */
export interface DocumentDoorCore {
  settings(): Config
  readonly database: AskedDatabase
  readonly directory: Pick<Directory, 'peekAccount' | 'findAccount'>
  readonly store: Pick<JobStore, 'hasJob'> & { readonly statements: Engine }
  readonly events: SecurityEvents
}

/** The database behind a door. A module forwards requests to it, and sends some of its own. */
export interface AskedDatabase extends DoorUpstream {
  askAs(
    identity: Identity,
    request: {
      readonly path: string
      readonly method?: 'POST' | 'PUT' | 'DELETE'
      readonly body?: unknown
      readonly maxBytes?: number
      readonly timeoutMs?: number
      readonly signal?: AbortSignal
    },
  ): Promise<{ readonly status: number; readonly body: unknown; readonly isTooLarge?: boolean }>
}

export type FindDatabase = (door: string) => Pick<AskedDatabase, 'askAs'> | undefined

/** What modules add to the library. */
// biome-ignore lint/suspicious/noEmptyInterface: modules extend it
export interface LibraryMembers {}

/** The client of a call. */
export interface ClientOptions {
  /** The request that led to it. Failed attempts count for the address of its client. */
  readonly request?: IncomingMessage | Request
  /** The address of the client. Required if the request is a web `Request`. */
  readonly peer?: string
}

/** What a function of the library gives to an operation. */
export interface OperationInput {
  /** The user that the program acts for. Left out: it acts for itself. */
  readonly user?: string
  readonly params?: Readonly<Record<string, string>>
  readonly body?: () => object
  readonly from?: ClientOptions | undefined
  /** The function that the program has called with `from`, for error messages. */
  readonly calledAs?: string
}

export type RunOperation = <R>(row: Operation<unknown, unknown, R>, input: OperationInput) => Promise<R>
