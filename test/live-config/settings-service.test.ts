import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Log, SILENT_LOG } from '../../src/base/log.ts'
import { toFlags } from '../../src/config/flags.ts'
import type { SettingsReader } from '../../src/config/load.ts'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { Position } from '../../src/directory/store-port/changes.ts'
import { openLiveConfig } from '../../src/live-config/live-config.ts'
import { openConfiguration } from '../../src/live-config/load.ts'
import { listOptions } from '../../src/live-config/settings-editor.ts'
import { createSettingsService } from '../../src/live-config/settings-service.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { KERNEL_ROWS } from '../../src/modules.ts'

const FLAGS = toFlags({ store: { url: 'sqlite::memory:' }, chttpd_auth: { iterations: 1 }, admins: { ada: 'pw' } })

/** Reads as a server does, but rejects one value that no rule for changes checks. */
function load(): SettingsReader {
  const reader = openConfiguration({
    table: OPTION_TABLE,
    flags: { configs: [], flags: FLAGS, problems: [] },
    env: {},
    cwd: '/',
  })
  return (runtime) => {
    const reading = reader(runtime)
    const isSour = runtime.some(({ key, text }) => key === 'taste' && text === 'sour')
    const problem = { kind: 'bad-value', place: 'run time', message: 'too sour' } as const
    return isSour ? { ...reading, problems: [...reading.problems, problem] } : reading
  }
}

async function openService(t: TestContext, log: Log = SILENT_LOG) {
  const liveConfig = await openLiveConfig({ rows: KERNEL_ROWS, load, log })
  t.after(() => liveConfig.kernel.store.close())
  return { liveConfig, service: createSettingsService(liveConfig) }
}

test('lists, changes and unsets the configured value of an option that needs a restart', async (t) => {
  const { liveConfig, service } = await openService(t)
  assert.equal(await service.set({ section: 'node', key: 'name', text: 'one@127.0.0.1' }, PROGRAM), '')
  assert.deepEqual({ ...service.list()['node'] }, { name: 'one@127.0.0.1' })
  assert.equal(liveConfig.get().settings.values.node.name, 'cardea@127.0.0.1')
  await service.set({ section: 'chttpd_auth', key: 'timeout', text: '99' }, PROGRAM)
  assert.equal(await service.set({ section: 'node', key: 'name', text: 'two@127.0.0.1' }, PROGRAM), 'one@127.0.0.1')
  assert.equal(await service.unset('node', 'name', PROGRAM), 'two@127.0.0.1')
  await assert.rejects(service.unset('node', 'name', PROGRAM), { code: 'option_not_found' })
})

test('does not show an option in the store that cannot be set at run time', async (t) => {
  const { liveConfig, service } = await openService(t)
  await liveConfig.kernel.store.setSetting({
    section: 'upstream',
    key: 'document',
    text: 'http://evil.example',
    nowSeconds: 1,
  })
  await liveConfig.refresh()
  assert.equal(service.list()['upstream'], undefined)
  const shown = (await listOptions(liveConfig)).options.find(({ name }) => name === 'upstream.document')
  assert.deepEqual([shown?.value, shown?.source.kind, shown?.changedAt], ['', 'default', undefined])
})

test('applies a setting before it returns the previous value', async (t) => {
  const { liveConfig, service } = await openService(t)
  assert.equal(await service.set({ section: 'chttpd_auth', key: 'timeout', text: '99' }, PROGRAM), '')
  assert.equal(liveConfig.get().settings.values.chttpd_auth.timeout, 99)
  assert.equal(await service.set({ section: 'chttpd_auth', key: 'timeout', text: '98' }, PROGRAM), '99')
  assert.equal(await service.unset('chttpd_auth', 'timeout', PROGRAM), '98')
  assert.equal(liveConfig.get().settings.values.chttpd_auth.timeout, 600)
})

test('logs the warning about a value once, when it is set', async (t) => {
  const warnings: string[] = []
  const { service } = await openService(t, { ...SILENT_LOG, warn: (message) => void warnings.push(message) })
  await service.set({ section: 'chttpd_auth', key: 'hash_algorithms', text: 'sha256, md5' }, PROGRAM)
  await service.set({ section: 'chttpd_auth', key: 'timeout', text: '99' }, PROGRAM)
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', /md5/)
  await service.set({ section: 'chttpd_auth', key: 'hash_algorithms', text: 'sha256' }, PROGRAM)
  await service.set({ section: 'chttpd_auth', key: 'hash_algorithms', text: 'sha256, md4' }, PROGRAM)
  assert.match(warnings[1] ?? '', /md4/)
  assert.equal(warnings.length, 2)
  await assert.rejects(service.set({ section: 'chttpd_auth', key: 'hash_algorithms', text: 'md4' }, PROGRAM), {
    code: 'option_refused',
  })
})

test('restores the previous value of a setting that cannot be applied', async (t) => {
  const { liveConfig, service } = await openService(t)
  await assert.rejects(service.set({ section: 'mine', key: 'taste', text: 'sour' }, PROGRAM), {
    code: 'bad_request',
    reason: /too sour/,
  })
  assert.equal(liveConfig.get().settings.find('mine', 'taste'), undefined)
  await service.set({ section: 'mine', key: 'taste', text: 'sweet' }, PROGRAM)
  await assert.rejects(service.set({ section: 'mine', key: 'taste', text: 'sour' }, PROGRAM), { code: 'bad_request' })
  const kept = (await liveConfig.runtime.list()).find(({ key }) => key === 'taste')
  assert.equal(kept?.text, 'sweet')
  assert.equal(
    await service.set({ section: 'chttpd_auth', key: 'timeout', text: '99' }, PROGRAM),
    '',
    'others can be set as before',
  )
})

test('removes a volatile setting that cannot be applied', async (t) => {
  const { liveConfig, service } = await openService(t)
  await service.set({ section: 'mine', key: 'taste', text: 'sweet' }, PROGRAM)
  await assert.rejects(service.set({ section: 'mine', key: 'taste', text: 'sour' }, PROGRAM, { isVolatile: true }), {
    code: 'bad_request',
  })
  assert.equal(liveConfig.get().settings.find('mine', 'taste')?.text, 'sweet')
})

test('creates a cookie secret for this process only if it was unset for this process only', async (t) => {
  const { liveConfig, service } = await openService(t)
  const secret = () => liveConfig.get().settings.values.chttpd_auth.secret
  const before = secret()
  await service.unset('chttpd_auth', 'secret', PROGRAM, { isVolatile: true })
  assert.notEqual(secret(), before)
  await service.reload()
  assert.equal(secret(), before)
})

test('still rejects cookies of earlier secrets after a replacement that another one forestalled', async (t) => {
  const { liveConfig, service } = await openService(t)
  const replace = (text: string, unchangedSince?: Position) =>
    service.set({ section: 'chttpd_auth', key: 'secret', text }, PROGRAM, {
      isImmediate: true,
      ...(unchangedSince && { unchangedSince }),
    })
  const { position } = await liveConfig.runtime.read()
  await replace('a-first-secret-of-cookies')
  assert.equal(liveConfig.get().dropsEarlierSecrets, true)
  await assert.rejects(replace('a-second-secret-of-cookies', position), { code: 'conflict' })
  await liveConfig.refresh()
  assert.equal(liveConfig.get().settings.values.chttpd_auth.secret, 'a-first-secret-of-cookies')
  assert.equal(liveConfig.get().dropsEarlierSecrets, true)
})

const REFUSED = [
  { row: 'an unknown option', section: 'chttpd_auth', key: 'timout', text: '1', code: 'option_unknown' },
  { row: 'a bad value', section: 'chttpd_auth', key: 'timeout', text: 'x', code: 'option_refused' },
  { row: 'an address that is none', section: 'chttpd', key: 'bind_address', text: 'x', code: 'option_refused' },
  { row: 'a header of HTTP itself', section: 'chttpd_auth', key: 'x_auth_roles', text: 'host', code: 'option_refused' },
  { row: 'one a flag sets', section: 'chttpd_auth', key: 'iterations', text: '2', code: 'option_refused' },
  { row: 'one that is fixed at start', section: 'store', key: 'url', text: 'sqlite:x', code: 'forbidden' },
]

for (const { row, section, key, text, code } of REFUSED) {
  test(`rejects ${row} with ${code} and writes nothing`, async (t) => {
    const { liveConfig, service } = await openService(t)
    const before = await liveConfig.runtime.list()
    await assert.rejects(service.set({ section, key, text }, PROGRAM), { code })
    assert.deepEqual(await liveConfig.runtime.list(), before)
  })
}
