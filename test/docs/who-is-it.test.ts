// The Python of the page "Who is it?": accepts the token that a service gets, and no other.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createTestCardea } from '../../src/index.ts'
import { basic, send } from '../support/request.ts'
import { listBlocks, readPage } from './page.ts'

const PAGE = 'docs/guides/who-is-it.md'
const PYTHON = process.env['CARDEA_TEST_PYTHON'] ?? 'python3'

function hasPyJwt(): boolean {
  try {
    execFileSync(PYTHON, ['-c', 'import jwt, cryptography'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** The roles that `user_of` finds, or the error that it raises. */
const MAIN = `
import sys
try:
    print(user_of({"X-Auth-Token": sys.argv[1]})["roles"])
except jwt.PyJWTError as error:
    print(type(error).__name__)
`

test('programs of the page have at most 15 lines', () => {
  const blocks = listBlocks(readPage(PAGE)).filter(({ language }) => language === 'js' || language === 'python')
  assert.deepEqual(
    blocks.map(({ language, text }) => [language, text.trim().split('\n').length <= 15]),
    [
      ['js', true],
      ['python', true],
    ],
  )
})

test('the Python program verifies the token of a service', { skip: !hasPyJwt() && 'needs PyJWT' }, async (t) => {
  const received: string[] = []
  const service = createServer((request, response) => {
    received.push(String(request.headers['x-auth-token']))
    response.end()
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  t.after(() => service.close())
  const { port } = service.address() as AddressInfo
  const mount = (name: string) => `/${name} http://127.0.0.1:${port} document user`
  const cardea = await createTestCardea({ options: { services: { reports: mount('reports'), shop: mount('shop') } } })
  t.after(() => cardea.close())
  const { document } = await cardea.listen()
  const door = document[0] ?? assert.fail()
  await cardea.users.create({ name: 'ada', password: 'engine', roles: ['reader'] })
  for (const path of ['/reports', '/shop'])
    await send(door, { path, headers: { Authorization: basic('ada', 'engine') } })
  const [code = ''] = listBlocks(readPage(PAGE)).flatMap(({ language, text }) => (language === 'python' ? [text] : []))
  const program = code.replace('http://127.0.0.1:5984', door.replace(/\/$/, '')) + MAIN
  const run = (token: string) =>
    new Promise<string>((resolve, reject) =>
      execFile(PYTHON, ['-c', program, token], (error, printed) => (error ? reject(error) : resolve(printed.trim()))),
    )
  const [own = '', ofShop = ''] = received
  assert.deepEqual(await Promise.all([own, ofShop, 'invented'].map(run)), [
    "['reader']",
    'InvalidAudienceError',
    'DecodeError',
  ])
})
