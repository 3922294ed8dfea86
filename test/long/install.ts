// Packs Cardea, installs it as `npm install --global` does, with an empty cache, and starts it in an empty folder.
//   npm run test:long -- install
//
// The dependencies come from the npm registry. Where it cannot be reached, the test is skipped.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { FREE_PORTS, get, ROOT, run, signsIn, start, stop } from '../support/process.ts'
import { makeFolder } from '../support/scope.ts'

const isReached = spawnSync('npm', ['ping', '--fetch-retries=0', '--fetch-timeout=10000']).status === 0

it('works in an empty folder after npm install --global', {
  skip: isReached ? false : 'the npm registry cannot be reached',
}, async (t) => {
  const [packed, prefix, cwd] = [makeFolder(t), makeFolder(t), makeFolder(t)]
  const npm = (...args: readonly string[]) =>
    execFileSync('npm', [...args, '--cache', join(prefix, 'cache')], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  npm('pack', '--pack-destination', packed)
  const [tarball = ''] = readdirSync(packed)
  npm('install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', join(packed, tarball))

  const options = { command: [join(prefix, 'bin', 'cardea')], cwd }
  const cardea = start(t, ['start', ...FREE_PORTS], options)
  const { document } = await cardea.doors()
  const [, password = ''] = await cardea.says(/password {2}(\S+)/)
  assert.ok(await signsIn(document, ['admin', password]))
  assert.equal((await get(`${document}/_cardea/`)).status, 200)
  const listed = await run(t, ['user', 'list'], options)
  assert.equal(listed.code, 0, listed.stderr)
  await stop(cardea)
  assert.deepEqual(readdirSync(cwd), ['data'])
})
