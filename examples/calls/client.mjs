// Every call of `cardea/client` once. docs/reference/client.md shows the lines below each `// #`.
import { createTestCardea } from 'cardea'
import { createClient } from 'cardea/client'
import { showCode } from './one-time-code.mjs'

const MAIL = {
  console: { 'public-url': 'https://db.example.com' },
  mail: { url: 'smtp://localhost:2525', from: 'no-reply@example.com' },
}
const cardea = await createTestCardea({ options: { chttpd_auth: { allow_sign_up: true }, ...MAIL } })
const { document } = await cardea.listen()

// # createClient
const client = createClient({ url: document[0] })
client.url.endsWith('/')
// → true

// # client.onChange
const changes = []
const stop = client.onChange((change, session) => changes.push([change, session?.name]))

// # client.signUp
await client.signUp('ada', 'analytical engine', { likes: 'engines' })
// → { status: 'signed_up' }

// # client.signIn
await client.signIn({ name: 'ada', password: 'wrong' })
// → { status: 'wrong_password' }
await client.signIn({ name: 'ada', password: 'analytical engine' })
// → { status: 'signed_in', session: { name: 'ada', roles: [], id: '4d82f60b-dd0a-8498-a22b-6ac5593e37a6' } }

// # client.session
await client.session()
// → { name: 'ada', roles: [], id: '4d82f60b-dd0a-8498-a22b-6ac5593e37a6' }

await client.session({ cached: true })
// → { name: 'ada', roles: [], id: '4d82f60b-dd0a-8498-a22b-6ac5593e37a6' }

// # client.sessions.list
const sessions = await client.sessions.list()
sessions.map(({ door, isCurrent }) => [door, isCurrent])
// → [['document', true]]

// # client.fetch
const response = await client.fetch('/_users/org.couchdb.user:ada')
const user = await response.json()
user.likes
// → 'engines'

// # client.changePassword
await client.changePassword('analytical engine', 'difference engine')
// → { status: 'changed' }

// # client.changeAddress
await client.changeAddress('ada@example.com')
// → { status: 'requested' }

// # client.confirmAddress
await client.confirmAddress('the part of the link behind the last slash')
// → { status: 'invalid_link' }

// #
const byMail = await createTestCardea({ options: { ...MAIL, mail: { ...MAIL.mail, 'sign-up': 'verified' } } })
const visitor = createClient({ url: (await byMail.listen()).document[0] })
// # client.requestSignUp
await visitor.requestSignUp('bob', 'bob@example.com')
// → { status: 'requested' }

// # client.confirmSignUp
await visitor.confirmSignUp('the part of the link behind the last slash', 'a new password')
// → { status: 'invalid_link' }

// #
visitor.close()
await byMail.close()

// # client.requestPasswordReset
await client.requestPasswordReset('ada@example.com')
// → { status: 'requested' }

// # client.confirmPasswordReset
await client.confirmPasswordReset('the part of the link behind the last slash', 'a new password')
// → { status: 'invalid_link' }

// # client.secondFactor.enrol
const { secret, uri } = await client.secondFactor.enrol({ currentPassword: 'difference engine' })
uri.startsWith('otpauth://totp/')
// → true

// #
const code = showCode(secret)
const proof = { currentPassword: 'difference engine' }
// # client.secondFactor.confirm
const recoveryCodes = await client.secondFactor.confirm(secret, code, proof)
recoveryCodes.length
// → 10

// # client.secondFactor.recoveryCodes
const replaced = await client.secondFactor.recoveryCodes(proof)
replaced.length
// → 10

// # client.secondFactor.disable
await client.secondFactor.disable(proof)

// #
const tablet = createClient({ url: document[0] })
await tablet.signIn({ name: 'ada', password: 'difference engine' })
// # client.sessions.end
const other = (await client.sessions.list()).find(({ isCurrent }) => !isCurrent)
await client.sessions.end(other.id)
await tablet.session()
// → null

// # client.database
await client.database()
// → null

// #
tablet.close()
// # client.signInWithPasskey
const result = await client.signInWithPasskey() // in a browser: { status: 'signed_in', session }
result
// → { status: 'unavailable' }

// # client.passkeys.areAvailable
client.passkeys.areAvailable()
// → false

// # client.passkeys.add
await client.passkeys.add('This laptop', { currentPassword: 'difference engine' })
// → { status: 'unavailable' }

// # client.passkeys.list
const passkeys = await client.passkeys.list()
passkeys.map(({ label, kind }) => `${label}: ${kind}`)
// → []

// # client.passkeys.rename
const rename = ({ id }) => client.passkeys.rename(id, 'Old laptop')
passkeys.map(rename)
// → []

// # client.passkeys.remove
const remove = ({ id }) => client.passkeys.remove(id, { passkey: true })
passkeys.map(remove)
// → []

// # client.passkeys.replacePassword
const replacePassword = () => client.passkeys.replacePassword()
passkeys.length > 1 && (await replacePassword())
// → false

// # client.providers
const providers = await client.providers()
providers.map(({ label }) => `Sign in with ${label}`)
// → []

// # client.signInWith
const toButton = ({ name, label }) => ({ label, onclick: () => client.signInWith(name, { next: '/app' }) })
providers.map(toButton)
// → []

// # client.signOut
await client.signOut({ everywhere: true, currentPassword: 'difference engine' })
await client.session()
// → null
changes.filter(([change]) => change !== 'renewed').map(([change]) => change)
// → ['signed_in', 'signed_out']

// # client.token
const withToken = createClient({ url: document[0], credential: 'token' })
await withToken.signIn({ name: 'ada', password: 'difference engine' })
const token = await withToken.token() // db.useBearerAuth(token) of arangojs
token.split('.').length
// → 3

// # client.exportAccount
const exported = await withToken.exportAccount()
exported.name
// → 'ada'

// # client.deleteAccount
await withToken.deleteAccount()
await withToken.signIn({ name: 'ada', password: 'difference engine' })
// → { status: 'wrong_password' }

// # client.close
withToken.close()
stop()
client.close()

// #
await cardea.close()
