/** Every module, and the tables of the core with their rows. */

import { NO_PASSKEYS, type Passkeys } from './auth/passkey-sign-in.ts'
import type { Config } from './config/options.ts'
import type { Settings } from './config/settings.ts'
import { type ExternalSignIn, NO_EXTERNAL_SIGN_IN } from './dialects/admin-api/external-sign-in.ts'
import { createCoreOperations, type OperationTable } from './dialects/admin-api/operations.ts'
import type { AccessCheck } from './dialects/document/explain-access.ts'
import { REFUSE_READ_ONLY } from './dialects/document/steps.ts'
import type { Account } from './directory/account.ts'
import type { RecordUserChange } from './directory/deps.ts'
import type { User } from './directory/users/user.ts'
import type { Reply, RequestContext, Step } from './http/request-context.ts'
import type { JobKinds } from './kernel/jobs.ts'
import type { KernelRows } from './kernel/kernel.ts'
import type { CheckStored } from './live-config/settings-service.ts'
import { couchdbUsers } from './modules/couchdb-users/index.ts'
import { documentGrants } from './modules/document-grants/index.ts'
import { livesync } from './modules/livesync/index.ts'
import { mail } from './modules/mail/index.ts'
import type {
  AccountRules,
  AskedDatabase,
  DocumentDoorCore,
  Intersection,
  LibraryMembers,
  Merged,
  Module,
  ModuleCheck,
  ModuleCommand,
  ModuleCore,
  OnSignIn,
  OpenedSource,
  RunOperation,
  SourceCore,
  StartedCore,
  UserCommand,
} from './modules/module.ts'
import { passkeys } from './modules/passkeys/index.ts'
import { passwordLinks } from './modules/password-links/index.ts'
import { providers } from './modules/providers/index.ts'
import { tracing } from './modules/tracing/index.ts'
import { userDatabases } from './modules/user-databases/index.ts'
import { writeAudit } from './modules/write-audit/index.ts'
import type { HealthCheck } from './observe/health.ts'
import { CORE_EVENTS, type EventTable } from './observe/security-event-table.ts'
import type { Tracing } from './observe/tracing.ts'
import type { Engine } from './store/engine.ts'

// programs that import the package see the rows of modules only if its declarations name them
export type {} from './module-options.ts'
export type {} from './modules/couchdb-users/index.ts'
export type {} from './modules/document-grants/index.ts'
export type {} from './modules/mail/index.ts'
export type { Invitation, Mail, OwnedAddress } from './modules/mail/library.ts'
export type {} from './modules/passkeys/index.ts'
export type {} from './modules/password-links/index.ts'
export type { PasswordLink, PasswordLinks } from './modules/password-links/library.ts'
export type {} from './modules/providers/index.ts'
export type {} from './modules/providers/options.ts'
export type {} from './modules/user-databases/index.ts'
export type {} from './modules/write-audit/index.ts'

/** A module comes after those that it needs. */
const LIST = [
  passwordLinks,
  providers,
  userDatabases,
  documentGrants,
  livesync,
  mail,
  writeAudit,
  passkeys,
  couchdbUsers,
  tracing,
] as const satisfies readonly Module[]

/** For code that needs no types of single rows. */
export const MODULES: readonly Module[] = LIST

type MembersOf<M> = M extends { library(run: RunOperation): infer Members } ? Members : never

/** A member that at most one module has. */
const findOnly = <K extends keyof Module>(member: K): Module[K] | undefined =>
  MODULES.find((module) => module[member])?.[member]

/** The rows of all modules for one table. */
const mergeRows = <K extends 'events' | 'operations'>(kind: K) =>
  Object.assign({}, ...MODULES.map((module) => module[kind])) as Merged<(typeof LIST)[number], K>

export const SECURITY_EVENTS: EventTable = { ...CORE_EVENTS, ...mergeRows('events') }

export const OPERATIONS: OperationTable = { ...createCoreOperations(SECURITY_EVENTS), ...mergeRows('operations') }

export const KERNEL_ROWS: KernelRows = {
  events: SECURITY_EVENTS,
  store: MODULES.map(({ name, store }) => ({ module: name, ...store })),
}

export const recordFurther: RecordUserChange = (...change) => {
  for (const module of MODULES) module.recordUserChange?.(...change)
}

export const openExternalSignIn = async (core: ModuleCore): Promise<ExternalSignIn> =>
  (await findOnly('externalSignIn')?.(core)) ?? NO_EXTERNAL_SIGN_IN

export const openJobKinds = (core: ModuleCore): JobKinds =>
  Object.assign({}, ...MODULES.map(({ jobs }) => jobs?.(core)))

export const listModuleHealth = (core: ModuleCore): readonly HealthCheck[] =>
  MODULES.flatMap(({ health }) => health?.(core) ?? [])

/** Called with each user that has opened a session. */
export function createOnSignIn(core: ModuleCore): OnSignIn {
  const called = MODULES.flatMap(({ onSignIn }) => onSignIn?.(core) ?? [])
  return async (account) => {
    for (const call of called) await call(account)
  }
}

export const listStartNotes = async (core: ModuleCore): Promise<readonly string[]> =>
  (await Promise.all(MODULES.map(({ startNotes }) => startNotes?.(core) ?? []))).flat()

export const findUserDatabase = async (
  account: Account,
  settings: Config,
  statements: Engine,
): Promise<string | undefined> => findOnly('findOwnDatabase')?.(account, settings, statements)

export const openUserSource = async (core: SourceCore): Promise<OpenedSource | undefined> =>
  findOnly('userSource')?.(core)

/** `undefined`: requests are not traced. */
export const openTracing = async (core: StartedCore): Promise<Tracing | undefined> => findOnly('tracing')?.(core)

export const openPasskeys = async (core: ModuleCore): Promise<Passkeys> =>
  (await findOnly('passkeys')?.(core)) ?? NO_PASSKEYS

export const toAccountRules = (settings: Settings): AccountRules =>
  findOnly('accountRules')?.(settings) ?? { reservedPrefixes: [], roleIssuers: new Map() }

export const checkStored: CheckStored = async (...change) => {
  for (const module of MODULES) {
    const problem = await module.checkStored?.(...change)
    if (problem !== undefined) return problem
  }
  return undefined
}

export const countWaysIn = (user: User, settings: Settings): number =>
  MODULES.reduce((count, module) => count + (module.countWaysIn?.(user, settings) ?? 0), 0)

export const areAddressesNames = (settings: Config): boolean =>
  MODULES.some(({ addressesSignIn }) => addressesSignIn?.(settings))

export const toSignInOptions = (settings: Config): object =>
  Object.assign({}, ...MODULES.map(({ signInPage }) => signInPage?.(settings)))

export const MODULE_CHECKS: readonly ModuleCheck[] = MODULES.flatMap(({ checks = [] }) => checks)

export const USER_COMMANDS: readonly UserCommand[] = MODULES.flatMap(({ userCommands = [] }) => userCommands)

export const MODULE_COMMANDS: readonly ModuleCommand[] = MODULES.flatMap(({ commands = [] }) => commands)

const DOCUMENT_DOOR = MODULES.flatMap(({ documentDoor }) => documentDoor ?? [])

export const createDocumentChecks = (core: DocumentDoorCore): readonly Step[] => [
  ...(DOCUMENT_DOOR.some(({ knowsReads }) => knowsReads) ? [] : [REFUSE_READ_ONLY]),
  ...DOCUMENT_DOOR.flatMap(({ createSteps }) => createSteps?.(core) ?? []),
]

export const createDocumentReplies = (core: DocumentDoorCore): readonly Step[] =>
  DOCUMENT_DOOR.flatMap(({ createReplies }) => createReplies?.(core) ?? [])

/** With a database that modules watch: they see each request that is forwarded to it. */
export function watchForwarded(core: DocumentDoorCore): DocumentDoorCore {
  const { database } = core
  const watches = DOCUMENT_DOOR.flatMap(({ createWatch }) => createWatch?.(core) ?? [])
  const forward: AskedDatabase['forward'] = (context, target) =>
    watched(context, () => database.forward(context, target))
  const forwardWhole: AskedDatabase['forwardWhole'] = (context, maxBytes, body) =>
    watched(context, () => database.forwardWhole(context, maxBytes, body))
  return { ...core, database: { ...database, forward, forwardWhole } }
  function watched(context: RequestContext, forward: () => Promise<Reply>): Promise<Reply> {
    const watching = watches.flatMap((watch) => watch(context) ?? [])
    const forwarded = forward()
    if (watching.length === 0) return forwarded
    return forwarded.then((reply) => {
      for (const onReply of watching) onReply(reply)
      return reply
    })
  }
}

export const explainDocumentChecks = (settings: Config): readonly AccessCheck[] =>
  DOCUMENT_DOOR.flatMap(({ explain }) => explain?.(settings) ?? [])

export const createLibraryMembers = (run: RunOperation): LibraryMembers =>
  Object.assign({}, ...MODULES.map(({ library }) => library?.(run))) as Intersection<MembersOf<(typeof LIST)[number]>>
