import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ROOT } from '../support/process.ts'
import { makeFolder } from '../support/scope.ts'

const namesOf = (paths: readonly string[]) => paths.map((path) => basename(path)).toSorted()

test('the client is one file with a source map, and about as large as its guide says, compressed', (t) => {
  const folder = makeFolder(t)
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const [build = ''] = String(scripts['build:client']).split(' && ')
  const [command = '', ...args] = build.split(' ')
  execFileSync(join(ROOT, 'node_modules', '.bin', command), [...args, '--outDir', folder], { cwd: ROOT })
  assert.deepEqual(globSync('*', { cwd: folder }).toSorted(), ['index.js', 'index.js.map'])
  const { sources } = JSON.parse(readFileSync(join(folder, 'index.js.map'), 'utf8'))
  // one has only types
  const expected = namesOf(globSync(join(ROOT, 'client', 'src', '*.ts'))).filter((name) => name !== 'client.ts')
  assert.deepEqual(namesOf(sources), expected)
  const { length } = gzipSync(readFileSync(join(folder, 'index.js')), { level: 9 })
  t.diagnostic(`${length} bytes`)
  const guide = readFileSync(join(ROOT, 'docs', 'guides', 'build-an-app.md'), 'utf8')
  const said = Number(/of (\S+) KiB compressed/.exec(guide)?.[1]) * 1024
  assert.ok(length > said * 0.9 && length <= said * 1.02, `${length} bytes, the guide says ${said}`)
})
