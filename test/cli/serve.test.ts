import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { test } from 'node:test'

const LIST_LOADED = `
  import { registerHooks } from 'node:module'
  const urls = []
  registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
  await import(process.argv[1])
  console.log(urls.join('\\n'))
`

test('a process that supervises others loads neither doors nor modules but for their options', () => {
  const path = resolve('src/cli/serve.ts')
  const loaded = execFileSync(process.execPath, ['--input-type=module', '--eval', LIST_LOADED, path], {
    encoding: 'utf8',
  })
  assert.match(loaded, /\/src\/cluster\/supervisor\.ts/)
  assert.deepEqual(loaded.match(/\/src\/(?:wiring|dialects|modules(?!\/[\w-]+\/options\.ts))\b.*/g), null)
})
