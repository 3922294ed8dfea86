import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ROOT } from '../support/process.ts'
import { makeFolder } from '../support/scope.ts'

test('the client has at most 7 KiB, compressed', (t) => {
  const folder = makeFolder(t)
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const [build = ''] = String(scripts['build:client']).split(' && ')
  const [command = '', ...args] = build.split(' ')
  execFileSync(join(ROOT, 'node_modules', '.bin', command), [...args, '--outDir', folder], { cwd: ROOT })
  const sources = globSync(join(folder, '*.js')).map((file) => readFileSync(file))
  assert.ok(sources.length > 0)
  const { length } = gzipSync(Buffer.concat(sources), { level: 9 })
  t.diagnostic(`${length} bytes`)
  assert.ok(length <= 7 * 1024, `${length} bytes`)
})
