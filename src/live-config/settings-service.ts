import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { CONTROL_DOOR } from '../auth/socket-owner.ts'
import { type ErrorCode, isClientError, Refusal } from '../base/errors.ts'
import { type ChangeProblem, checkChange } from '../config/change.ts'
import { toShownText } from '../config/describe.ts'
import type { RuntimeEntry } from '../config/layers.ts'
import type { Config, Rule } from '../config/options.ts'
import { withSuggestion } from '../config/problems.ts'
import { type Caller, requireChange } from '../directory/caller.ts'
import type { Position } from '../directory/store-port/changes.ts'
import type { LiveConfig } from './live-config.ts'
import { recordOptionChanges } from './option-events.ts'
import type { ReloadReport } from './reload.ts'
import { noteDrop, type RuntimeLayer } from './stored-layer.ts'

export interface ChangeMode {
  /** For this server only, until it ends or reloads its configuration. */
  readonly isVolatile?: boolean
  /** For the cookie secret: every node rejects cookies of earlier secrets at once. */
  readonly isImmediate?: boolean
  /** Unsetting an option that was not set at run time is `option_not_found`, even if a lower layer sets it. */
  readonly isStrict?: boolean
  /** Writes only if no option of the section was set at run time since this position of the store. */
  readonly unchangedSince?: Position
}

/**
 * Why a request may not make a change, although it is valid: stored data would become unusable. An operator at the command
 * line on the server may intend that. `get` and `kernel` show the configuration with the change.
 */
export type CheckStored = (
  change: { readonly before: Config; readonly after: Config },
  liveConfig: Pick<LiveConfig, 'get' | 'kernel'>,
) => Promise<string | undefined>

/** An option and its new value, as the client wrote it. */
export type SetEntry = RuntimeEntry & { readonly text: string }

/**
 * Changes the configuration of a running server. When a call returns, the change is applied or waits for a restart.
 * Returned values are the configured ones, with secrets masked.
 */
export function createSettingsService(liveConfig: LiveConfig, checkStored?: CheckStored) {
  const layerOf = ({ isVolatile = false }: ChangeMode = {}) =>
    isVolatile ? liveConfig.runtime.volatile : liveConfig.runtime
  return {
    list: () => listShown(liveConfig),
    /** Returns the previous value; `''` if there was none. */
    async set(setting: SetEntry, caller: Caller, options?: ChangeMode): Promise<string> {
      requireValid(liveConfig, setting)
      await requireAllowed(liveConfig, setting, caller, checkStored)
      const before = findShown(liveConfig, setting.section, setting.key) ?? ''
      await requireChange(caller, liveConfig.kernel.events)
      if (options?.isImmediate) await dropEarlier(layerOf(options), setting)
      await applyChange(liveConfig, layerOf(options), setting, options?.unchangedSince)
      return before
    },
    /** Returns to the value of the layers below. Throws `option_not_found` if nothing is set. */
    async unset(section: string, key: string, caller: Caller, options?: ChangeMode): Promise<string> {
      requireValid(liveConfig, { section, key, text: undefined })
      const before = findShown(liveConfig, section, key)
      const isThere = !options?.isStrict || (await findIn(layerOf(options), section, key)) !== undefined
      if (before === undefined || !isThere) throw new Refusal('option_not_found')
      await requireAllowed(liveConfig, { section, key, text: undefined }, caller, checkStored)
      await requireChange(caller, liveConfig.kernel.events)
      await applyChange(liveConfig, layerOf(options), { section, key, text: undefined })
      return before
    },
    async reload(): Promise<void> {
      requireApplied(await liveConfig.reload())
    },
  }
}

function findShown(liveConfig: LiveConfig, section: string, key: string): string | undefined {
  const { entries, table } = liveConfig.get().configured
  const entry = entries.find((candidate) => candidate.section === section && candidate.key === key)
  return entry && toShownText(table, entry)
}

function requireValid(liveConfig: LiveConfig, entry: RuntimeEntry): void {
  const problem = checkEntry(liveConfig, entry)
  if (problem) throw new Refusal(CODES[problem.kind], { reason: withSuggestion(problem.message, problem.nearest) })
}

/** Why the change would be refused, in words; `undefined`: it would not. */
export async function findChangeProblem(
  liveConfig: LiveConfig,
  entry: RuntimeEntry,
  caller: Caller,
  checkStored?: CheckStored,
) {
  const problem = checkEntry(liveConfig, entry)
  return problem ? withSuggestion(problem.message, problem.nearest) : checkTried(liveConfig, entry, caller, checkStored)
}

async function requireAllowed(...change: Parameters<typeof checkTried>): Promise<void> {
  const reason = await checkTried(...change)
  if (reason !== undefined) throw new Refusal('option_refused', { reason })
}

/** Under these a credential of the request may have expired. Its client signs in again, and then undoes the change. */
const EXPIRIES: readonly string[] = ['chttpd_auth.timeout', 'chttpd_auth.max_lifetime', 'admin.session-timeout']

/**
 * Tries the change and returns why a request may not make it: the same request would then be refused and could not undo
 * it, or stored data would become unusable.
 */
async function checkTried(liveConfig: LiveConfig, entry: RuntimeEntry, caller: Caller, checkStored?: CheckStored) {
  const { values: before, table } = liveConfig.get().configured
  const name = table.find(entry.section, entry.key)?.name ?? ''
  if (caller.door === undefined || EXPIRIES.includes(name)) return undefined
  let reason: string | undefined
  await liveConfig.tryChange(entry, async () => {
    const after = liveConfig.get().settings.values
    reason = await findLockout(caller, after, before)
    if (caller.door !== CONTROL_DOOR) reason ??= await checkStored?.({ before, after }, liveConfig)
  })
  return reason
}

/** Why the request could not undo the change, under which this runs. */
async function findLockout(caller: Caller, after: Config, before: Config): Promise<string | undefined> {
  const why = (await findListenerProblem(caller, after, before)) ?? (await findRefusal(caller))
  return why === undefined
    ? undefined
    : `With this change the server would refuse this request, and one to undo the change: ${why} Change other options first, or use the command line on the server`
}

async function findRefusal(caller: Caller): Promise<string | undefined> {
  try {
    await caller.repeat?.()
    return undefined
  } catch (error) {
    if (error instanceof Refusal && isClientError(error)) return error.reason ?? error.message
    throw error
  }
}

/** Whether the change closes the listener of the request, moves it away, or lets it expect other bytes. */
async function findListenerProblem({ door = '', localAddress }: Caller, next: Config, before: Config) {
  if (door === 'document' && isDocumentOpen(before) && !isDocumentOpen(next))
    return 'The document door would be closed.'
  if (door === 'document' && localAddress !== undefined) {
    const [receivesNext, receivesNow] = await Promise.all(
      [next, before].map(({ chttpd }) => receives(chttpd.bind_address, localAddress)),
    )
    if (receivesNow && !receivesNext)
      return `The document door would no longer listen on ${localAddress} (chttpd.bind_address).`
  }
  const isSame = next.door['proxy-protocol'].includes(door) === before.door['proxy-protocol'].includes(door)
  return isSame ? undefined : 'The listener would expect other connections (door.proxy-protocol).'
}

const isDocumentOpen = ({ chttpd, ssl }: Config): boolean =>
  chttpd.port !== 'none' || (ssl.enable && ssl.port !== 'none')

/** Whether a listener with this `chttpd.bind_address` receives connections to the address. */
async function receives(bound: string, address: string): Promise<boolean> {
  if (bound === 'any') return true
  const { address: host } = await lookup(bound)
  if (isSameAddress(host, '::')) return true
  return host === '0.0.0.0' ? isIP(address) === 4 : isSameAddress(host, address)
}

function checkEntry(liveConfig: LiveConfig, { section, key, text }: RuntimeEntry): ChangeProblem | undefined {
  const { configured } = liveConfig.get()
  const secret = { about: ['chttpd_auth.secret'], check: liveConfig.secrets.check } as const
  const rules = [...configured.rules, OWN_ADDRESS, secret]
  return checkChange({ ...configured, rules }, section, key, text)
}

/** For changes at run time: in the store, an address that the machine does not have would prevent the next start. */
const OWN_ADDRESS: Rule = {
  about: ['chttpd.bind_address'],
  kind: 'bad-value',
  check({ values }) {
    const { bind_address: address } = values.chttpd
    if (isIP(address) === 0 || isOwn(address)) return undefined
    return `chttpd.bind_address: this machine does not have the address ${address}, so the next start would fail`
  },
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

function isOwn(address: string): boolean {
  const own = new BlockList()
  own.addSubnet('127.0.0.0', 8)
  const found = Object.values(networkInterfaces()).flatMap((each = []) => each.map((one) => one.address))
  for (const each of ['0.0.0.0', '::', '::1', ...found]) own.addAddress(each, familyOf(each))
  return own.check(withoutZone(address), familyOf(address))
}

/** IPv6 addresses have several forms. */
function isSameAddress(one: string, other: string): boolean {
  const list = new BlockList()
  list.addAddress(withoutZone(one), familyOf(one))
  return list.check(withoutZone(other), familyOf(other))
}

/** The zone of a link-local address names the interface. */
const withoutZone = (address: string): string => address.replace(/%.*/, '')

/** A change that cannot be applied is undone: in the store, it would prevent the next start of every node. */
async function applyChange(
  liveConfig: LiveConfig,
  into: RuntimeLayer,
  entry: RuntimeEntry,
  unchangedSince?: Position,
): Promise<void> {
  const { section, key } = entry
  const before = await findIn(into, section, key)
  const { configured } = liveConfig.get()
  await put(into, entry, unchangedSince)
  const report = await liveConfig.refresh()
  if (report.isApplied) {
    const name = configured.table.find(section, key)?.name ?? `${section}.${key}`
    recordOptionChanges(liveConfig.kernel.events, [name], configured, liveConfig.get().configured)
    return
  }
  await (before ? put(into, before) : into.forget(section, key))
  await liveConfig.refresh()
  requireApplied(report)
}

function dropEarlier(into: RuntimeLayer, { section, key, text }: SetEntry): Promise<void> {
  if (section === 'chttpd_auth' && key === 'secret') return noteDrop(into, text)
  throw new Refusal('option_refused', { reason: 'Only chttpd_auth.secret can be replaced with immediate effect' })
}

/** The entry of a layer; `undefined`: it has none. */
export const findIn = async (into: RuntimeLayer, section: string, key: string): Promise<RuntimeEntry | undefined> =>
  (await into.list()).find((entry) => entry.section === section && entry.key === key)

const put = (into: RuntimeLayer, { section, key, text }: RuntimeEntry, unchangedSince?: Position): Promise<void> =>
  text === undefined ? into.unset(section, key) : into.set(section, key, text, unchangedSince)

/** By section, then key: what was set, in files, at run time, in the environment or by flags. */
function listShown(liveConfig: LiveConfig): Record<string, Record<string, string>> {
  const sections: Record<string, Record<string, string>> = Object.create(null)
  const { entries, table } = liveConfig.get().configured
  for (const entry of entries) {
    const section = sections[entry.section] ?? Object.create(null)
    section[entry.key] = toShownText(table, entry)
    sections[entry.section] = section
  }
  return sections
}

function requireApplied({ isApplied, problems }: ReloadReport): void {
  if (!isApplied)
    throw new Refusal('bad_request', { reason: `The configuration was not applied. ${problems.join(' ')}` })
}

const CODES: Readonly<Record<ChangeProblem['kind'], ErrorCode>> = {
  'invalid-section': 'bad_request',
  'invalid-key': 'bad_request',
  'invalid-value': 'option_refused',
  'unknown-option': 'option_unknown',
  'bad-value': 'option_refused',
  conflict: 'option_refused',
  masked: 'option_refused',
  pinned: 'option_refused',
  'not-settable': 'forbidden',
}
