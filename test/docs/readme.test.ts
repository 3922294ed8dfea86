import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createTestCardea } from '../../src/index.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, code = '']) => code)

/** The examples speak of the ports and the password a first start has; here it is a server of the test's own. */
async function openCardea(t: { after(work: () => unknown): void }) {
  const cardea = await createTestCardea()
  t.after(() => cardea.close())
  const { document, multiModel } = await cardea.listen()
  const place = (url = '') => new URL(url).host
  return (code: string) =>
    code
      .replaceAll('127.0.0.1:5984', place(document[0]))
      .replaceAll('127.0.0.1:8529', place(multiModel[0]))
      .replaceAll('PASSWORD', 'adminpw')
}

test('the curl commands of README are answered 200', async (t) => {
  const fit = await openCardea(t)
  const commands = blocks('sh')
    .flatMap((code) => code.split('\n'))
    .filter((line) => line.startsWith('curl '))
  assert.equal(commands.length, 3)
  for (const command of commands) {
    const { stdout } = await run('sh', ['-c', `${fit(command)} --silent --show-error --fail`])
    assert.ok(JSON.parse(stdout), command)
  }
})

const EXPECTED: [client: string, printed: RegExp][] = [
  ['nano', /name: 'admin'/],
  ['arangojs', /server: 'arango'/],
]

for (const [client, printed] of EXPECTED) {
  test(`the ${client} example of README runs as it stands`, async (t) => {
    const fit = await openCardea(t)
    const code = blocks('js').find((block) => block.includes(`from '${client}'`)) ?? ''
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', fit(code)], { cwd: root })
    assert.match(stdout, printed)
  })
}

test('every page README links to is there', () => {
  for (const [, path = ''] of readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) {
    assert.ok(readFileSync(new URL(`../../${path}`, import.meta.url)).length > 0, path)
  }
})
