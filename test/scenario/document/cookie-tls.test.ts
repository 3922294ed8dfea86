import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestCardea } from '../../../src/index.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
const ca = readFileSync(fixture('cert.pem'))

const signOut = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    request(`${url}/_session`, { ca, agent: false, method: 'DELETE' }, (response) => {
      response.resume()
      resolve(response.headers['set-cookie']?.join() ?? '')
    })
      .on('error', reject)
      .end()
  })

test('a cookie sent over TLS is Secure', async (t) => {
  const ssl = { enable: true, port: 0, cert_file: fixture('cert.pem'), key_file: fixture('key.pem') }
  const cardea = await createTestCardea({ options: { ssl } })
  t.after(() => cardea.close())
  const [plain = '', secure = ''] = (await cardea.listen()).document
  assert.match(await signOut(secure), /; Max-Age=600; Secure; Path=\/; HttpOnly$/)
  const answer = await fetch(`${plain}/_session`, { method: 'DELETE' })
  assert.doesNotMatch(answer.headers.get('set-cookie') ?? '', /Secure/)
})
