// What a program that uses the client in a wrong way is told. No message shows a value: it may be a password.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { createClient } from '../../client/src/index.ts'
import { startServer } from '../support/server.ts'

const URL = 'http://127.0.0.1:5984'
const open = (options: object = {}) => createClient({ url: URL, ...options })

const MISTAKES: Readonly<Record<string, [() => unknown, RegExp]>> = {
  'no options': [() => createClient(undefined as never), /^createClient needs an object with url/],
  'an unknown option': [() => open({ token: 'secret' }), /^createClient has no option token\.$/],
  'a storage without methods': [
    () => open({ storage: { getItem: () => null } }),
    /^storage must have the methods getItem, setItem, removeItem\.$/,
  ],
  'a storage that is true': [() => open({ storage: true }), /^storage must have the methods/],
  'a path without a page': [() => open({ url: '/secret' }), /^url must begin with http:\/\/ or https:\/\//],
  'a host without a scheme': [() => open({ url: 'localhost:5984' }), /^url must begin with http/],
  'a URL that is none': [() => open({ url: 'http://ada:secret@' }), /^url must begin with http/],
  'a password in the URL': [
    () => open({ url: 'http://ada:secret@127.0.0.1:5984' }),
    /^url must have no name and no password: give them to signIn\.$/,
  ],
  'a password in the path of the account': [
    () => open({ account: 'http://ada:secret@127.0.0.1/account' }),
    /^url must have no name and no password/,
  ],
  'another credential': [() => open({ credential: 'secret' }), /^credential must be cookie or token\.$/],
  'another rule for the end': [() => open({ onLost: 'secret' }), /^onLost must be wait or reject\.$/],
  'routes of a program with tokens': [
    () => open({ credential: 'token', account: '/account' }),
    /^The option account needs/,
  ],
  'a listener that is none': [() => open().onChange({} as never), /^onChange takes a function/],
  'no listener': [() => open().onChange(undefined as never), /^onChange takes a function/],
  'signUp with one object': [
    () => open().signUp({ name: 'ada', password: 'secret' } as never, undefined as never),
    /^signUp takes two strings: signUp\(name, password\)\.$/,
  ],
  'signUp without a password': [() => open().signUp('secret', undefined as never), /^signUp takes two strings/],
  'signIn with two strings': [
    () => open().signIn('secret' as never),
    /^signIn takes an object: signIn\(\{ name, password \}\)\.$/,
  ],
  'signIn without anything': [() => open().signIn(undefined as never), /^signIn takes an object/],
  'a token without tokens': [() => open().token(), /^token\(\) needs the option credential: 'token'\.$/],
  'a sign-in at a provider without a page': [
    () => open().signInWith('example'),
    /^signInWith needs the cookie, and a page of http:\/\/127\.0\.0\.1:5984\.$/,
  ],
}

for (const [name, [run, message]] of Object.entries(MISTAKES))
  test(`names the mistake: ${name}`, async () => {
    const error = await (async () => run())().then(
      () => assert.fail('was accepted'),
      (thrown: Error) => thrown,
    )
    assert.equal(error.name, 'TypeError')
    assert.match(error.message, message)
    assert.doesNotMatch(`${error.message} ${inspect({ ...error })}`, /secret/)
  })

test('a closed client says so', async (t) => {
  const { document } = await startServer(t, { chttpd_auth: { allow_sign_up: true } })
  const client = createClient({ url: document })
  await client.signUp('ada', 'analytical')
  await client.signIn({ name: 'ada', password: 'analytical' })
  client.close()
  const closed = { message: 'This client is closed: close() was called. Create another one.' }
  await assert.rejects(client.fetch('/_session'), closed)
  await assert.rejects(client.session(), closed)
  await assert.rejects(client.signOut(), closed)
  await assert.rejects(client.providers(), closed)
  await assert.rejects(client.signInWith('example'), closed)
  assert.equal((await client.session({ cached: true }))?.name, 'ada')
})

test('a closed client gives no token', async (t) => {
  const { cardea, document } = await startServer(t)
  await cardea.users.create({ name: 'ada', password: 'analytical' })
  const client = createClient({ url: document, credential: 'token' })
  await client.signIn({ name: 'ada', password: 'analytical' })
  client.close()
  await assert.rejects(client.token(), { message: /^This client is closed/ })
})
