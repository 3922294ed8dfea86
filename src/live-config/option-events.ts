// Security events about the configuration, by comparing it before and after a change.
import { describeSettings, type ShownSetting } from '../config/describe.ts'
import { MASK } from '../config/options.ts'
import type { Settings } from '../config/settings.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { ConfigSnapshot } from './snapshot.ts'

/** Administrators have events of their own. */
const ADMINISTRATORS = 'admins.'

/** Records the old and the new value of each of these options. */
export function recordOptionChanges(
  events: SecurityEvents,
  names: readonly string[],
  before: Settings,
  after: Settings,
): void {
  const [old, now] = [toShownValues(before), toShownValues(after)]
  for (const option of names)
    if (!option.startsWith(ADMINISTRATORS))
      events.record('option.changed', { option, old: old.get(option), new: now.get(option) })
}

const toShownValues = (settings: Settings): ReadonlyMap<string, string> =>
  new Map(describeSettings(settings).map((setting) => [setting.name, toLoggedValue(setting)]))

/** The value of an unknown option may be a secret, so it is masked, like the user and password of a URL. */
const toLoggedValue = ({ value, note }: ShownSetting): string =>
  note === 'ignored' ? MASK : value.replaceAll(/\/\/[^/@\s]*@/g, `//${MASK}@`)

/** Records administrators that files, environment or flags brought, changed or removed. */
export function recordAdministratorChanges(
  events: SecurityEvents,
  before: ConfigSnapshot,
  after: ConfigSnapshot,
): void {
  for (const [subject, { text }] of after.administrators) {
    const old = before.administrators.get(subject)
    if (!old) events.record('administrator.created', { subject })
    else if (old.text !== text) events.record('administrator.changed', { subject })
  }
  for (const subject of before.administrators.keys())
    if (!after.administrators.has(subject)) events.record('administrator.removed', { subject })
}
