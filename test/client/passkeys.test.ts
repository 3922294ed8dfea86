// The client's passkeys in Chromium, with its virtual authenticator and its own functions for JSON.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Frame, Page } from 'playwright-core'
import { type Client, createClient } from '../../client/src/index.ts'
import { launchBrowser, NO_BROWSER } from '../support/chromium.ts'
import { createPasskeyUsers } from '../support/passkeys.ts'
import { createSharedScope, type Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { addDevice, carry, countHeld, leaveUntouched } from '../support/virtual-authenticator.ts'
import { servePage } from './serve-page.ts'

const PASSWORD = 'analytical-engine'
const scope = createSharedScope()
const browser = await launchBrowser(scope)
const server = await startServer(scope, { admin: { 'second-factor-roles': 'staff' } })
const toLocal = (url: string) => url.replace('127.0.0.1', 'localhost')
const url = toLocal(server.document)

declare const app: Client & { readonly log: string[] }

async function addUser(name: string, roles: readonly string[] = []) {
  await server.cardea.users.create({ name, password: PASSWORD, roles })
  return { name, password: PASSWORD }
}

interface Opening {
  readonly origin?: string
  readonly credential?: 'cookie' | 'token'
}

/** A browser of its own, with a device and the application. */
async function openApp(t: Scope, { origin = url, credential = 'cookie' }: Opening = {}) {
  assert.ok(browser)
  const context = await browser.newContext()
  t.after(() => context.close())
  await servePage(context, origin)
  const openPage = async () => {
    const page = await context.newPage()
    const device = await addDevice(page)
    await page.goto(`${origin}/app/?credential=${credential}`)
    await page.waitForFunction('"app" in globalThis')
    return { page, device }
  }
  return { context, openPage, ...(await openPage()) }
}

const signIn = (page: Page, given: { readonly name: string; readonly password: string }) =>
  page.evaluate((it) => app.signIn(it), given)
const signInWithPasskey = (page: Page | Frame) => page.evaluate(() => app.signInWithPasskey())
const add = (page: Page, label = 'laptop') => page.evaluate((it) => app.passkeys.add(it), label)

/** Goes on in the page, which logs its end. */
const offerInList = (page: Page) =>
  page.evaluate(() => void app.signInWithPasskey({ conditional: true }).then(({ status }) => app.log.push(status)))

async function openWithPasskey(t: Scope, name: string, opening?: Opening) {
  const user = await addUser(name)
  const opened = await openApp(t, opening)
  assert.equal((await signIn(opened.page, user)).status, 'signed_in')
  assert.deepEqual(await add(opened.page), { status: 'added' })
  return { user, ...opened }
}

/** Bodies with the status 200. */
const HOSTILE = [
  ...['', '[', 'null', '[]', '"options"', '7', '{}', '{"options":null}', '{"options":[]}', '{"options":{}}'],
  ...['{"options":{"challenge":7}}', '{"options":{"challenge":{"__proto__":1}}}', '{"name":7,"roles":"x"}'],
]

describe('passkeys of the client', { skip: NO_BROWSER }, () => {
  for (const credential of ['cookie', 'token'] as const)
    it(`are added, listed, renamed, sign in without a name, and are removed: ${credential}`, async (t) => {
      const { page } = await openWithPasskey(t, `all-${credential}`, { credential })
      assert.equal(await page.evaluate(() => app.passkeys.areAvailable()), true)
      assert.deepEqual(await add(page, 'again'), { status: 'already_added' })
      const listed = await page.evaluate(async () => {
        const [passkey] = await app.passkeys.list()
        await app.passkeys.rename(passkey?.id ?? '', 'phone')
        return (await app.passkeys.list()).map(({ label, kind, host, usedAt }) => [label, kind, host, usedAt])
      })
      assert.deepEqual(listed, [['phone', 'device', 'localhost', undefined]])
      await page.evaluate(() => app.signOut())
      const opened = await signInWithPasskey(page)
      assert.equal(opened.status === 'signed_in' && opened.session.name, `all-${credential}`)
      // the session of a passkey proves no password: a passkey signs the change
      const refused = page.evaluate(async () => app.passkeys.remove((await app.passkeys.list())[0]?.id ?? ''))
      await assert.rejects(refused, /Sign in with the password/)
      const left = await page.evaluate(async () => {
        await app.passkeys.remove((await app.passkeys.list())[0]?.id ?? '', { passkey: true })
        return (await app.session())?.name ?? null
      })
      assert.equal(left, credential === 'token' ? null : 'all-cookie', 'a token ends with the passkey')
      await page.evaluate(() => app.signOut())
      assert.deepEqual(await signInWithPasskey(page), { status: 'wrong_password' })
    })

  it('sign in from the list of the name field', async (t) => {
    const { device, context } = await openWithPasskey(t, 'listed')
    await context.clearCookies()
    const other = await openApp(t)
    await carry(device, other.device)
    // the virtual authenticator picks from the list by itself
    const opened = await other.page.evaluate(() => app.signInWithPasskey({ conditional: true }))
    assert.equal(opened.status === 'signed_in' && opened.session.name, 'listed')
  })

  it('of the list give way to a sign-in with the password, to a call that needs one, and to a signal', async (t) => {
    const user = await addUser('list')
    const { page, device } = await openApp(t)
    const waitForEnd = (count: number) =>
      page.waitForFunction(`app.log.filter((each) => each === 'cancelled').length === ${count}`)
    await leaveUntouched(device)
    await offerInList(page)
    assert.equal((await signIn(page, user)).status, 'signed_in')
    await waitForEnd(1)
    await offerInList(page)
    const added = add(page)
    await waitForEnd(2)
    const aborted = await page.evaluate(() => app.signInWithPasskey({ conditional: true, signal: AbortSignal.abort() }))
    assert.deepEqual([await added, aborted], [{ status: 'cancelled' }, { status: 'cancelled' }])
  })

  it('of the list are offered with a new challenge before one expires, until the client is closed', async (t) => {
    const { page, device } = await openApp(t)
    await leaveUntouched(device)
    await page.evaluate(() => {
      const renewals: AbortController[] = []
      AbortSignal.timeout = () => {
        renewals.push(new AbortController())
        return renewals.at(-1)?.signal ?? AbortSignal.abort()
      }
      Object.assign(globalThis, { renewals })
    })
    const asked: string[] = []
    page.on('request', (request) => void asked.push(new URL(request.url()).pathname))
    await offerInList(page)
    for (const count of [1, 2, 3]) {
      await page.waitForFunction(`renewals.length === ${count}`)
      await page.evaluate('renewals.at(-1).abort(new DOMException("over", "TimeoutError"))')
    }
    await page.waitForFunction('renewals.length === 4')
    assert.deepEqual(new Set(asked), new Set(['/_cardea/account/passkey-options']))
    assert.ok(asked.length >= 3)
    await page.evaluate(() => app.close())
    await page.waitForFunction('app.log.includes("cancelled")')
  })

  it('are the second step after the password, and give recovery codes where a role needs one', async (t) => {
    const user = await addUser('staff', ['staff'])
    const { page, context } = await openApp(t)
    await signIn(page, user)
    const added = await add(page)
    assert.equal(added.status === 'added' && added.recoveryCodes?.length, 10)
    await context.clearCookies()
    assert.deepEqual(await signIn(page, user), { status: 'code_required' })
    const opened = await page.evaluate((it) => app.signInWithPasskey(it), user)
    assert.equal(opened.status, 'signed_in')
    await page.evaluate(() => app.signOut())
    const wrong = await page.evaluate((it) => app.signInWithPasskey({ ...it, password: 'wrong' }), user)
    assert.deepEqual(wrong, { status: 'wrong_password' })
  })

  it('sign changes in place of the password, and replace it', async (t) => {
    const { page, context, user } = await openWithPasskey(t, 'proofs')
    const other = await openApp(t)
    await signIn(other.page, user)
    await add(other.page, 'phone')
    await context.clearCookies()
    assert.equal((await signInWithPasskey(page)).status, 'signed_in')
    const done = await page.evaluate(async () => {
      const proof = { passkey: true }
      const { secret } = await app.secondFactor.enrol(proof)
      const others = (await app.sessions.list()).filter(({ isCurrent }) => !isCurrent)
      for (const { id } of others) await app.sessions.end(id, proof)
      await app.passkeys.replacePassword()
      const name = (await app.session())?.name
      return [secret.length > 0, others.length, name]
    })
    assert.deepEqual(done, [true, 2, 'proofs'])
    assert.deepEqual(await signIn(page, user), { status: 'wrong_password' })
    const changed = await page.evaluate(async (password) => {
      await app.signInWithPasskey()
      return app.changePassword({ passkey: true }, password)
    }, PASSWORD)
    assert.deepEqual(changed, { status: 'changed' })
    assert.equal((await signIn(page, user)).status, 'signed_in')
    const end = await page.evaluate(async () => {
      await app.signOut()
      await app.signInWithPasskey()
      await app.deleteAccount({ passkey: true })
      return app.session()
    })
    assert.equal(end, null)
    assert.equal(await server.cardea.users.find('proofs'), undefined)
  })

  it('that the user does not give end the call', async (t) => {
    const { page, device } = await openWithPasskey(t, 'shy')
    await device.cdp.send('WebAuthn.setUserVerified', { authenticatorId: device.id, isUserVerified: false })
    assert.deepEqual(await signInWithPasskey(page), { status: 'cancelled' })
    assert.deepEqual(await add(page), { status: 'cancelled' })
    await assert.rejects(
      page.evaluate(() => app.secondFactor.enrol({ passkey: true })),
      /No passkey was chosen/,
    )
  })

  it('sign in at the multi-model door, for tokens', async (t) => {
    const { device } = await openWithPasskey(t, 'model')
    const { page, device: other } = await openApp(t, { origin: toLocal(server.multiModel), credential: 'token' })
    await carry(device, other)
    const opened = await signInWithPasskey(page)
    assert.equal(opened.status === 'signed_in' && opened.session.name, 'model')
    assert.equal(await page.evaluate(async () => (await app.fetch('/_cardea/account')).status), 200)
  })

  it('are not made where the user has as many as possible', async (t) => {
    const user = await addUser('many')
    const { addPasskey } = createPasskeyUsers(server.document)
    for (let count = 0; count < 20; count += 1) await addPasskey(`many:${PASSWORD}`)
    const { page, device } = await openApp(t)
    await signIn(page, user)
    const refused = await add(page)
    assert.match(refused.status === 'rejected' ? refused.reason : refused.status, /at most 20/)
    assert.equal(await countHeld(device), 0)
  })

  it('end with an error or a result, whatever the server sends, and work when it has recovered', async (t) => {
    const { page, user } = await openWithPasskey(t, 'hostile')
    await page.evaluate(() => app.signOut())
    for (const body of HOSTILE) {
      await page.route('**/passkey-options', (route) => route.fulfill({ contentType: 'application/json', body }))
      for (const conditional of [false, true])
        await assert.rejects(
          page.evaluate((it) => app.signInWithPasskey({ conditional: it }), conditional),
          body,
        )
      await page.unroute('**/passkey-options')
      await page.route('**/sign-in', (route) => route.fulfill({ contentType: 'application/json', body }))
      await assert.rejects(signInWithPasskey(page), body)
      await page.unroute('**/sign-in')
      assert.equal(await page.evaluate(() => app.session()), null)
    }
    const opened = await signInWithPasskey(page)
    assert.equal(opened.status === 'signed_in' && opened.session.name, user.name)
    await page.route('**/account/passkeys', (route) => route.fulfill({ contentType: 'application/json', body: '[' }))
    await assert.rejects(page.evaluate(() => app.passkeys.list()))
  })

  it('of two tabs are both accepted, and each tab knows of the other', async (t) => {
    const { page, device, openPage } = await openWithPasskey(t, 'tabs')
    await page.evaluate(() => app.signOut())
    const { page: second, device: carried } = await openPage()
    await carry(device, carried)
    assert.equal(await second.evaluate(() => app.session()), null)
    const [one, two] = await Promise.all([signInWithPasskey(page), signInWithPasskey(second)])
    assert.deepEqual([one.status, two.status], ['signed_in', 'signed_in'])
    for (const tab of [page, second]) assert.equal(await tab.evaluate(async () => (await app.session())?.name), 'tabs')
  })

  it('of a page in a frame of another origin are refused', async (t) => {
    const { page, context } = await openWithPasskey(t, 'framed')
    await context.clearCookies()
    const outer = 'http://localhost:1'
    const body = `<iframe src="${url}/app/" allow="publickey-credentials-get *"></iframe>`
    await context.route(`${outer}/`, (route) => route.fulfill({ contentType: 'text/html', body }))
    await page.goto(outer)
    const frame = page.frames().find((each) => each.url().startsWith(url)) ?? assert.fail()
    await frame.waitForFunction('"app" in globalThis')
    assert.deepEqual(await signInWithPasskey(frame), { status: 'wrong_password' })
    assert.equal(await frame.evaluate(() => app.session()), null)
  })

  it('are not available at an address', async (t) => {
    const { page } = await openApp(t, { origin: server.document })
    assert.equal(await page.evaluate(() => app.passkeys.areAvailable()), false)
    assert.deepEqual(await signInWithPasskey(page), { status: 'unavailable' })
  })
})

it('passkeys are not available outside a browser', async () => {
  const client = createClient({ url: server.document })
  assert.equal(client.passkeys.areAvailable(), false)
  assert.deepEqual(await client.signInWithPasskey(), { status: 'unavailable' })
  await client.signIn(await addUser('node'))
  assert.deepEqual(await client.passkeys.add('x'), { status: 'unavailable' })
  assert.deepEqual(await client.passkeys.list(), [])
  client.close()
})
