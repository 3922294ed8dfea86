// Messages to users: forgotten passwords and verified addresses.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { type ReceivedMail, startBreakingServer, startMailServer, tokenOf } from '../support/mail.ts'
import { AS_ADMIN, type Reply, send } from '../support/request.ts'
import { createSharedScope, makeFolder, type Scope } from '../support/scope.ts'
import { type AnyOptions, type Server, startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const API = '/_cardea/api'
const ACCOUNT = '/_cardea/account'

const scope = createSharedScope()
const mailServer = await startMailServer(scope)
const MAIL: AnyOptions = {
  mail: { url: mailServer.url, from: 'Shop <no-reply@shop.example>', 'client-requests-per-hour': 0 },
  console: { 'public-url': 'https://db.example.com', name: 'Shop' },
  auth: { 'min-password-length': 4 },
}
const server = await startServer(scope, MAIL)

interface Asked {
  readonly as?: string
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly at?: Server
  readonly headers?: Record<string, string>
}

const ask = ({ at = server, ...request }: Asked): Promise<Reply> => send(at.document, { method: 'POST', ...request })

async function addUser(name: string, address?: string, more: object = {}, at = server): Promise<void> {
  const body = { name, password: 'first', ...more }
  assert.equal((await ask({ at, as: AS_ADMIN, path: `${API}/users`, body })).status, 200)
  if (address !== undefined) assert.equal((await setAddress(name, address, at)).status, 200)
}

const setAddress = (name: string, address: string | null, at = server) =>
  ask({ at, as: AS_ADMIN, method: 'PUT', path: `${API}/users/${name}/address`, body: { address } })

const forget = (address: string, at = server) => ask({ at, path: `${ACCOUNT}/password-reset`, body: { address } })

const confirmReset = (token: string, password: string) =>
  ask({ path: `${ACCOUNT}/password-reset/confirm`, body: { token, password } })

const errorOf = ({ status, body }: Reply) => [status, JSON.parse(body).error]

/** All jobs so far have been done: a message to the address of the last one has arrived. */
let markers = 0
async function settle(): Promise<void> {
  markers += 1
  const name = `marker-${markers}`
  await addUser(name, `${name}@example.com`)
  await forget(`${name}@example.com`)
  await mailServer.take(`${name}@example.com`)
}

const countMails = (receiver: string) => mailServer.mails.filter((mail) => mail.receiver === receiver).length

describe('a forgotten password', () => {
  it('is replaced with a link that is sent to the address, once, and all sessions end', async () => {
    await addUser('ada', 'Ada@example.com')
    const session = await ask({ path: '/_session', body: { name: 'ada', password: 'first' } })
    const cookie = String(session.headers['set-cookie']).split(';')[0] ?? ''
    const reply = await forget(' ada@EXAMPLE.com ')
    assert.deepEqual([reply.status, reply.json], [200, { requested: true }])
    // as verified, and not as the client wrote it: that may be the mailbox of another person
    const mail = await mailServer.take('Ada@example.com')
    assert.equal(mail.subject, 'Choose a new password for Shop')
    assert.deepEqual(mail.from, { name: 'Shop', address: 'no-reply@shop.example' })
    assert.match(mail.text ?? '', /^https:\/\/db\.example\.com\/_cardea\/#\/password-link\/[\w-]{43}$/m)
    assert.ok(mail.html?.includes(`#/password-link/${tokenOf(mail)}"`))
    const token = tokenOf(mail)
    assert.deepEqual(errorOf(await confirmReset(token, 'abc')), [400, 'password_refused'])
    assert.deepEqual((await confirmReset(token, 'second')).json, { name: 'ada' })
    assert.deepEqual(errorOf(await confirmReset(token, 'third')), [404, 'not_found'])
    const after = await send(server.document, { path: '/_session', headers: { cookie } })
    assert.equal(after.json.userCtx.name, null)
    assert.equal((await send(server.document, { path: `${ACCOUNT}`, as: 'ada:second' })).status, 200)
    assert.ok(!JSON.stringify(server.log).includes(token))
  })

  it('ends all sessions even if the new password is the old one', async () => {
    await addUser('abe', 'abe@example.com')
    const session = await ask({ path: '/_session', body: { name: 'abe', password: 'first' } })
    const cookie = String(session.headers['set-cookie']).split(';')[0] ?? ''
    await forget('abe@example.com')
    assert.equal((await confirmReset(tokenOf(await mailServer.take('abe@example.com')), 'first')).status, 200)
    const after = await send(server.document, { path: '/_session', headers: { cookie } })
    assert.equal(after.json.userCtx.name, null)
  })

  it('has an older link that ends with the newer one', async () => {
    await addUser('amy', 'amy@example.com')
    await forget('amy@example.com')
    const first = tokenOf(await mailServer.take('amy@example.com'))
    await forget('amy@example.com')
    const second = tokenOf(await mailServer.take('amy@example.com'))
    assert.deepEqual(errorOf(await confirmReset(first, 'second')), [404, 'not_found'])
    assert.equal((await confirmReset(second, 'second')).status, 200)
  })

  it('never removes a second factor', async () => {
    const totp = { key: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }
    const path = '/_users/org.couchdb.user:tom'
    const body = { name: 'tom', password: 'first', roles: [], type: 'user', totp }
    assert.equal((await ask({ as: AS_ADMIN, method: 'PUT', path, body })).status, 201)
    assert.equal((await setAddress('tom', 'tom@example.com')).status, 200)
    await forget('tom@example.com')
    assert.equal((await confirmReset(tokenOf(await mailServer.take('tom@example.com')), 'second')).status, 200)
    const refused = await ask({ path: '/_session', body: { name: 'tom', password: 'second' } })
    assert.deepEqual([refused.status, refused.headers['x-cardea-second-factor']], [401, 'required'])
  })

  it('has the same reply and no message for an address without an account, and for users who cannot sign in', async () => {
    await addUser('dis', 'dis@example.com', { active: false })
    await addUser('exp', 'exp@example.com', { expires: '2001-01-01' })
    await addUser('empty', 'empty@example.com', { password: undefined })
    const known = await forget('ada@example.com')
    for (const name of ['stranger', 'dis', 'exp', 'empty']) {
      const reply = await forget(`${name}@example.com`)
      assert.deepEqual([reply.status, reply.body], [known.status, known.body])
    }
    await settle()
    for (const name of ['stranger', 'dis', 'exp', 'empty']) assert.equal(countMails(`${name}@example.com`), 0, name)
  })

  it('has no message for a user who has become an administrator of the configuration', async () => {
    await addUser('adam', 'adam@example.com')
    const path = '/_node/_local/_config/admins/adam'
    assert.equal((await ask({ as: AS_ADMIN, method: 'PUT', path, body: '"a-password"' })).status, 200)
    assert.equal((await forget('adam@example.com')).status, 200)
    await settle()
    assert.equal(countMails('adam@example.com'), 0)
  })

  it('refuses what is no address', async () => {
    for (const address of ['ada', 'ada@example.com\nBcc: eve@example.com', 'аda@example.com', ''])
      assert.deepEqual(errorOf(await forget(address)), [400, 'bad_request'])
  })

  it('can be asked for with an expired session', async () => {
    const headers = { cookie: 'AuthSession=expired' }
    const reply = await ask({ path: `${ACCOUNT}/password-reset`, body: { address: 'nn@example.com' }, headers })
    assert.equal(reply.status, 200)
  })
})

/** As a user who knows the password, and has the new mailbox. */
async function changeOwn(name: string, address: string): Promise<void> {
  const asked = await ask({ as: `${name}:first`, path: `${ACCOUNT}/address`, body: { address } })
  assert.equal(asked.status, 200)
  const token = tokenOf(await mailServer.take(address))
  assert.equal((await ask({ path: `${ACCOUNT}/address/confirm`, body: { token } })).status, 200)
}

describe('an address', () => {
  it('is set by an administrator, shown to administrators and its owner, and not in the user document', async () => {
    await addUser('ben', 'ben@example.com')
    const shown = await send(server.document, { as: AS_ADMIN, path: `${API}/users/ben` })
    assert.equal(shown.json.address, 'ben@example.com')
    const own = await send(server.document, { as: 'ben:first', path: `${ACCOUNT}/address` })
    assert.deepEqual(own.json, { address: 'ben@example.com', canSend: true })
    const document = await send(server.document, { as: 'ben:first', path: '/_users/org.couchdb.user:ben' })
    assert.ok(!document.body.includes('example.com'))
    assert.equal((await setAddress('ben', null)).json.address, null)
  })

  it('belongs to one user, whatever its case', async () => {
    await addUser('cat', 'cat@example.com')
    await addUser('cora')
    assert.deepEqual(errorOf(await setAddress('cora', 'CAT@example.com')), [409, 'conflict'])
    assert.equal((await setAddress('cora', 'cat+2@example.com')).status, 200)
  })

  it('takes effect when the link that was sent there is used, once', async () => {
    await addUser('dan')
    const asked = await ask({ as: 'dan:first', path: `${ACCOUNT}/address`, body: { address: 'dan@example.com' } })
    assert.deepEqual(asked.json, { requested: true })
    const mail = await mailServer.take('dan@example.com')
    assert.equal(mail.subject, 'Confirm your address for Shop')
    assert.ok(!mail.text?.includes('dan '), 'a name could be any text')
    const before = await send(server.document, { as: 'dan:first', path: `${ACCOUNT}/address` })
    assert.equal(before.json.address, null)
    const token = tokenOf(mail)
    const found = await ask({ path: `${ACCOUNT}/address/find`, body: { token } })
    assert.deepEqual(found.json, { name: 'dan', address: 'dan@example.com' })
    const used = await ask({ path: `${ACCOUNT}/address/confirm`, body: { token } })
    assert.deepEqual(used.json, { name: 'dan', address: 'dan@example.com' })
    assert.deepEqual(errorOf(await ask({ path: `${ACCOUNT}/address/confirm`, body: { token } })), [404, 'not_found'])
    const after = await send(server.document, { as: 'dan:first', path: `${ACCOUNT}/address` })
    assert.equal(after.json.address, 'dan@example.com')
  })

  it('claims nothing before: another user can verify it, and the later link is refused', async () => {
    for (const name of ['eve', 'emil']) await addUser(name)
    await ask({ as: 'eve:first', path: `${ACCOUNT}/address`, body: { address: 'em@example.com' } })
    const stranger = await mailServer.take('em@example.com')
    await ask({ as: 'emil:first', path: `${ACCOUNT}/address`, body: { address: 'em@example.com' } })
    const owner = await mailServer.take('em@example.com')
    const confirm = (mail: ReceivedMail) => ask({ path: `${ACCOUNT}/address/confirm`, body: { token: tokenOf(mail) } })
    assert.equal((await confirm(owner)).status, 200)
    assert.deepEqual(errorOf(await confirm(stranger)), [409, 'conflict'])
  })

  it('needs a proof of the password, and a link of one purpose does not serve another', async () => {
    await addUser('fay')
    const session = await ask({ path: `${ACCOUNT}/token`, body: { name: 'fay', password: 'first' } })
    assert.equal(session.status, 200)
    await ask({ as: 'fay:first', path: `${ACCOUNT}/address`, body: { address: 'fay@example.com' } })
    const token = tokenOf(await mailServer.take('fay@example.com'))
    assert.deepEqual(errorOf(await confirmReset(token, 'second')), [404, 'not_found'])
    const anonymous = await ask({ path: `${ACCOUNT}/address`, body: { address: 'fay2@example.com' } })
    assert.equal(anonymous.status, 401)
  })

  it('of a deleted user is not confirmed for a later user of the name', async () => {
    await addUser('gus')
    await ask({ as: 'gus:first', path: `${ACCOUNT}/address`, body: { address: 'gus@example.com' } })
    const token = tokenOf(await mailServer.take('gus@example.com'))
    await ask({ as: AS_ADMIN, method: 'DELETE', path: `${API}/users/gus` })
    await addUser('gus')
    assert.deepEqual(errorOf(await ask({ path: `${ACCOUNT}/address/confirm`, body: { token } })), [404, 'not_found'])
  })

  it('is not confirmed after the password was changed: its link may be that of a person who knew the old one', async () => {
    await addUser('gil')
    await ask({ as: 'gil:first', path: `${ACCOUNT}/address`, body: { address: 'gil@example.com' } })
    const token = tokenOf(await mailServer.take('gil@example.com'))
    await ask({ as: AS_ADMIN, method: 'PUT', path: `${API}/users/gil/password`, body: { password: 'other' } })
    assert.deepEqual(errorOf(await ask({ path: `${ACCOUNT}/address/confirm`, body: { token } })), [404, 'not_found'])
  })

  it('that is replaced gets a message whose link restores it with a new password, after further changes too', async () => {
    await addUser('hugo', 'hugo@example.com')
    await changeOwn('hugo', 'eve@evil.example')
    await changeOwn('hugo', 'eve2@evil.example')
    const mail = await mailServer.take('hugo@example.com')
    assert.equal(mail.subject, 'Your address at Shop was changed')
    assert.match(mail.text ?? '', /within 7 days/)
    await mailServer.take('eve@evil.example')
    const token = tokenOf(mail)
    await ask({ as: AS_ADMIN, method: 'PUT', path: `${API}/users/hugo/password`, body: { password: 'evil' } })
    const session = await ask({ path: '/_session', body: { name: 'hugo', password: 'evil' } })
    const cookie = String(session.headers['set-cookie']).split(';')[0] ?? ''
    const found = await ask({ path: `${ACCOUNT}/address/undo/find`, body: { token } })
    assert.deepEqual([found.json.name, found.json.address], ['hugo', 'hugo@example.com'])
    const undone = await ask({ path: `${ACCOUNT}/address/undo`, body: { token, password: 'mine' } })
    assert.deepEqual(undone.json, { name: 'hugo', address: 'hugo@example.com' })
    const after = await send(server.document, { path: '/_session', headers: { cookie } })
    assert.equal(after.json.userCtx.name, null)
    const own = await send(server.document, { as: 'hugo:mine', path: `${ACCOUNT}/address` })
    assert.equal(own.json.address, 'hugo@example.com')
    const again = await ask({ path: `${ACCOUNT}/address/undo`, body: { token, password: 'other' } })
    assert.deepEqual(errorOf(again), [404, 'not_found'])
  })

  it('that is written in another case, or that an administrator replaces, gets no message', async () => {
    await addUser('ida', 'ida@example.com')
    await changeOwn('ida', 'IDA@example.com')
    const before = countMails('ida@example.com')
    await setAddress('ida', 'ida2@example.com')
    await addUser('ilse', 'ilse@example.com')
    await changeOwn('ilse', 'ilse2@example.com')
    await mailServer.take('ilse@example.com')
    assert.equal(countMails('ida@example.com') - before, 0)
  })

  it('is no matter of administrators of the configuration', async () => {
    assert.notEqual((await setAddress('admin', 'admin@example.com')).status, 200)
  })
})

describe('sign-up with a verified address', async () => {
  const open = await startServer(scope, MAIL, { mail: { 'sign-up': 'verified' } })
  const signUp = (name: string, address: string) =>
    ask({ at: open, path: `${ACCOUNT}/sign-up/request`, body: { name, address } })
  const confirm = (token: string, password = 'first') =>
    ask({ at: open, path: `${ACCOUNT}/sign-up/confirm`, body: { token, password } })

  it('creates the user with the password that is chosen with the link, once', async () => {
    assert.deepEqual((await signUp('joe', 'Joe@example.com')).json, { requested: true })
    assert.equal(await open.cardea.users.find('joe'), undefined)
    const mail = await mailServer.take('Joe@example.com')
    assert.equal(mail.subject, 'Create your account at Shop')
    assert.ok(!mail.text?.includes('joe'), 'a name could be any text')
    const token = tokenOf(mail)
    const found = await ask({ at: open, path: `${ACCOUNT}/sign-up/find`, body: { token } })
    assert.deepEqual([found.json.name, found.json.address], ['joe', 'Joe@example.com'])
    assert.deepEqual(errorOf(await confirm(token, 'abc')), [400, 'password_refused'])
    assert.deepEqual((await confirm(token)).json, { name: 'joe', address: 'Joe@example.com' })
    assert.deepEqual(errorOf(await confirm(token)), [404, 'not_found'])
    const shown = await send(open.document, { as: 'joe:first', path: `${ACCOUNT}/address` })
    assert.equal(shown.json.address, 'Joe@example.com')
  })

  it('has the same reply for an address with an account, which gets a message that says so', async () => {
    await addUser('kim', 'kim@example.com', {}, open)
    const [known, unknown] = [await signUp('kim2', 'kim@example.com'), await signUp('kim3', 'new@example.com')]
    assert.deepEqual([known.status, known.body], [unknown.status, unknown.body])
    const mail = await mailServer.take('kim@example.com')
    assert.equal(mail.subject, 'You have an account at Shop')
    assert.equal(tokenOf(mail), '')
  })

  it('does not show that a name that is the address is taken: its mailbox gets a message that says so', async () => {
    await addUser('hal@x.example', undefined, {}, open)
    const [known, unknown] = [
      await signUp('hal@x.example', 'Hal@X.example'),
      await signUp('ian@x.example', 'ian@x.example'),
    ]
    assert.deepEqual([known.status, known.body], [200, unknown.body])
    const mail = await mailServer.take('Hal@x.example')
    assert.equal(mail.subject, 'You have an account at Shop')
    assert.match(mail.text ?? '', /account hal@x\.example already/)
    for (const name of ['hal@x.example', 'ian@x.example', 'nn@x.example'])
      assert.deepEqual(errorOf(await signUp(name, 'eve@example.com')), [400, 'bad_request'], name)
  })

  it('checks the name when it is asked for, and again with the link', async () => {
    await signUp('lee', 'lee@example.com')
    const token = tokenOf(await mailServer.take('lee@example.com'))
    await addUser('lee', undefined, {}, open)
    assert.deepEqual(errorOf(await confirm(token)), [409, 'conflict'])
    assert.deepEqual(errorOf(await signUp('lee', 'lee2@example.com')), [409, 'conflict'])
    for (const name of ['admin', '_x', 'a:b', ''])
      assert.ok([400, 409].includes((await signUp(name, 'lee3@example.com')).status), name)
  })

  it('gives an address that another user has verified meanwhile to that user alone', async () => {
    await signUp('mia', 'mia@example.com')
    const token = tokenOf(await mailServer.take('mia@example.com'))
    await addUser('max', 'mia@example.com', {}, open)
    assert.deepEqual(errorOf(await confirm(token)), [409, 'conflict'])
    assert.equal(await open.cardea.users.find('mia'), undefined)
  })

  it('ends an older link for the same address with a newer one', async () => {
    await signUp('ned', 'ned@example.com')
    const first = tokenOf(await mailServer.take('ned@example.com'))
    await signUp('nell', 'ned@example.com')
    const second = tokenOf(await mailServer.take('ned@example.com'))
    assert.deepEqual(errorOf(await confirm(first)), [404, 'not_found'])
    assert.equal((await confirm(second)).json.name, 'nell')
  })

  it('leaves all other ways to create a user closed, and is closed by default', async () => {
    const body = { name: 'oto', password: 'first', roles: [], type: 'user' }
    const document = await ask({ at: open, method: 'PUT', path: '/_users/org.couchdb.user:oto', body })
    assert.equal(document.status, 401)
    const plain = { name: 'oto', password: 'first' }
    assert.equal((await ask({ at: open, path: `${ACCOUNT}/sign-up`, body: plain })).status, 403)
    const closed = await ask({ path: `${ACCOUNT}/sign-up/request`, body: { name: 'oto', address: 'oto@example.com' } })
    assert.deepEqual(errorOf(closed), [403, 'forbidden'])
  })

  it('does not start together with sign-up without an address', async (t) => {
    const both = { mail: { 'sign-up': 'verified' }, chttpd_auth: { allow_sign_up: true } }
    await assert.rejects(startServer(t, MAIL, both), /mail\.sign-up = verified needs/)
  })
})

describe('limits of messages', () => {
  it('count requests for one mailbox, whether it has an account or not', async () => {
    await addUser('hal', 'hal@example.com')
    for (const local of ['hal', 'nobody-hal']) {
      for (const address of [local, `${local}+x`, local.toUpperCase()])
        assert.equal((await forget(`${address}@example.com`)).status, 200)
      const refused = await forget(`${local}@example.com`)
      assert.deepEqual(errorOf(refused), [429, 'too_many_requests'])
      assert.ok(Number(refused.headers['retry-after']) > 3000)
    }
    await mailServer.take('hal@example.com')
  })

  it('count requests of one client', async (t) => {
    const other = await startServer(t, MAIL, { mail: { 'client-requests-per-hour': 2 } })
    assert.equal((await forget('i1@example.com', other)).status, 200)
    assert.equal((await forget('i2@example.com', other)).status, 200)
    assert.deepEqual(errorOf(await forget('i3@example.com', other)), [429, 'too_many_requests'])
  })
})

describe('a mail server that is down', () => {
  it('delays no request, and gets the message when it is back', async (t) => {
    const first = await startMailServer(t)
    await first.close()
    const other = await startServer(t, MAIL, { mail: { url: first.url } })
    await addUser('ivy', 'ivy@example.com', {}, other)
    assert.equal((await forget('ivy@example.com', other)).status, 200)
    await waitUntil(() => other.log.some(({ message }) => /a job failed/.test(message)))
    const list = () => ask({ at: other, as: AS_ADMIN, method: 'GET', path: `${API}/messages` })
    await waitUntil(async () => (await list()).json.messages[0].problem !== '')
    const [{ message, address, attempts, problem }, ...more] = (await list()).json.messages
    assert.deepEqual([message, address], ['password-reset', 'ivy@example.com'])
    assert.ok(attempts >= 1)
    assert.match(problem, /ECONNREFUSED/)
    assert.deepEqual(more, [])
    assert.equal((await ask({ at: other, as: 'ivy:first', method: 'GET', path: `${API}/messages` })).status, 403)
    const again = await startMailServer(t, { port: first.port })
    const mail = await again.take('ivy@example.com')
    assert.equal(mail.subject, 'Choose a new password for Shop')
    await waitUntil(async () => (await list()).json.messages.length === 0)
  })
})

describe('a message that is tried for long', () => {
  /** A server with the job of one message, whose state a test can set. */
  async function openFailing(t: Scope) {
    const first = await startMailServer(t)
    await first.close()
    const path = join(makeFolder(t), 'store.db')
    const at = await startServer(t, MAIL, { mail: { url: first.url }, store: { url: `sqlite:${path}` } })
    await addUser('ivo', 'ivo@example.com', {}, at)
    assert.equal((await forget('ivo@example.com', at)).status, 200)
    const list = async () => (await ask({ at, as: AS_ADMIN, method: 'GET', path: `${API}/messages` })).json.messages
    await waitUntil(async () => (await list())[0]?.problem !== '')
    const setJob = (columns: string) => {
      const database = new DatabaseSync(path)
      database.exec(`PRAGMA busy_timeout = 5000; UPDATE cardea_jobs SET ${columns}, due_ms = 0`)
      database.close()
    }
    const wasLogged = (event: string) => at.log.some(({ fields }) => fields['event'] === event)
    return { port: first.port, list, setJob, wasLogged }
  }

  it('ends with the third attempt that the mail server may have accepted, however many were refused before', async (t) => {
    const { port, list, setJob, wasLogged } = await openFailing(t)
    const breaking = await startBreakingServer(t, port)
    setJob('attempts = 10')
    for (const count of [1, 2]) {
      await waitUntil(async () => breaking.received() === count && (await list())[0]?.nextAt !== null)
      assert.equal(wasLogged('mail.rejected'), false)
      setJob('attempts = 10')
    }
    await waitUntil(() => wasLogged('mail.rejected'))
    assert.equal(breaking.received(), 3)
  })

  it('is given up after a day, with a security event', async (t) => {
    const { list, setJob, wasLogged } = await openFailing(t)
    setJob(`begun_ms = ${Date.now() - 86_400_000}`)
    await waitUntil(() => wasLogged('mail.given-up'))
    await waitUntil(async () => (await list()).length === 0)
  })
})

describe('without mail.url', () => {
  it('no message can be asked for, and the sign-in page does not offer it', async (t) => {
    const plain = await startServer(t)
    assert.deepEqual(errorOf(await forget('ada@example.com', plain)), [400, 'bad_request'])
    const readOptions = async (at: Server) => {
      const { body } = await send(at.document, { path: '/_cardea/sign-in' })
      return JSON.parse(decodeURIComponent(/cardea-options" content="([^"]*)"/.exec(body)?.[1] ?? ''))
    }
    const { passwordReset, mailSignUp, addressSignIn } = await readOptions(plain)
    assert.deepEqual([passwordReset, mailSignUp, addressSignIn], [false, false, false])
    assert.equal((await readOptions(server)).passwordReset, true)
    // the account page, the page of a user, and the list of users show nothing of mail then
    await addUser('ada', undefined, {}, plain)
    for (const [as, path] of [
      ['ada:first', `${ACCOUNT}/address`],
      [AS_ADMIN, `${API}/users/ada/address`],
      [AS_ADMIN, `${API}/invitations`],
    ] as const)
      assert.equal((await ask({ at: plain, as, method: 'GET', path })).json.canSend, false, path)
  })
})
