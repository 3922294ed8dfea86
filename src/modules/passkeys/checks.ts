// What `cardea check` finds about passkeys: those that were made for another host than the one of today.
import { readJsonObject } from '../../base/json.ts'
import type { Settings } from '../../config/settings.ts'
import { type AdministratorPasskeys, PASSKEYS_OF_ADMINISTRATORS } from '../../directory/administrators.ts'
import type { Passkey } from '../../directory/users/user.ts'
import { listUsersWith } from '../../store/backup/check-records.ts'
import { readStore } from '../../store/backup/engines.ts'
import { readRows, type StoreSnapshot } from '../../store/backup/snapshot.ts'
import { textOf } from '../../store/engine.ts'
import type { CheckedWith, Finding, ModuleCheck } from '../module.ts'
import { toRpId } from './options.ts'

export const PASSKEY_CHECK: ModuleCheck = {
  name: 'passkeys',
  isConfigured: () => true,
  find: findUnusable,
  ok: 'none was made for another host',
}

async function findUnusable({ values }: Settings, { hasStore }: CheckedWith): Promise<readonly Finding[]> {
  const rpId = toRpId(values)
  let count = 0
  const isOwner = (passkeys: readonly Passkey[] = []): boolean => {
    const unusable = passkeys.filter((passkey) => passkey.rpId !== rpId).length
    count += unusable
    return unusable > 0
  }
  const list = async (snapshot: StoreSnapshot) => [
    ...(await listAdministrators(snapshot, isOwner)),
    ...(await listUsersWith(snapshot, 'passkeys', ({ passkeys }) => isOwner(passkeys))),
  ]
  // why it cannot be read is a finding about the store
  const names = hasStore ? await readStore(values.store.url, list).catch(() => []) : []
  const message = `${count} ${count === 1 ? 'passkey was' : 'passkeys were'} made for another host than ${rpId} and cannot be used`
  return names.length === 0 ? [] : [{ level: 'warning', message, advice: ADVICE, names }]
}

const ADVICE =
  'Set passkeys.rp-id to the host of before, or let these users sign in with the password and add new ones. Those without a password need "cardea user password-link".'

async function listAdministrators(
  snapshot: StoreSnapshot,
  isOwner: (passkeys: readonly Passkey[]) => boolean,
): Promise<readonly string[]> {
  const names: string[] = []
  for await (const row of readRows(snapshot, 'cardea_settings')) {
    if (row['section'] !== PASSKEYS_OF_ADMINISTRATORS || row['value'] === null) continue
    // the server has written it
    const { list = [] } = (readJsonObject(textOf(row, 'value')) ?? {}) as Partial<AdministratorPasskeys>
    if (isOwner(list)) names.push(textOf(row, 'key'))
  }
  return names
}
