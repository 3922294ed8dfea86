/** Users of one server who sign in with passkeys of software authenticators. */
import assert from 'node:assert/strict'
import { createAccounts } from './accounts.ts'
import { createAuthenticator, type Tampering } from './authenticator.ts'
import { createBrowser, tokenOf, withToken } from './browser.ts'
import { type Reply, send } from './request.ts'

export type Device = ReturnType<typeof createAuthenticator>

export function createPasskeyUsers(url: string) {
  const { ask } = createAccounts(url)
  const origin = `http://localhost:${new URL(url).port}`
  const beginSignIn = async (path = '/_cardea/account/passkey-options') =>
    (await send(url, { method: 'POST', path })).json.options
  return {
    origin,
    beginSignIn,
    signIn: (body: object) => send(url, { method: 'POST', path: '/_cardea/account/sign-in', body }),
    signWith: async (device: Device, change: Tampering = {}) => device.sign(await beginSignIn(), change),
    /** The name of the session that a reply has opened, or `null`. */
    async nameOfSession(reply: Reply): Promise<string | null> {
      const Cookie = (reply.lines['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
      return (await send(url, { path: '/_session', headers: { Cookie } })).json.userCtx.name
    },
    /** Adds a passkey with Basic. */
    async addPasskey(as: string, device = createAuthenticator(origin), change: Tampering = {}) {
      const { options } = (await ask(as, 'POST', '/account/passkeys/options')).json
      const response = device.create(options, change)
      const reply = await ask(as, 'POST', '/account/passkeys', { label: 'laptop', response })
      return { device, options, response, reply }
    },
  }
}

/** A session at the console that the passkey has opened, and how it signs requests in place of the password. */
export async function openByPasskey(url: string, device: Device) {
  const browser = createBrowser(url)
  const json = { passkey: await createPasskeyUsers(url).signWith(device) }
  const opened = await browser.ask('/session', { method: 'POST', json })
  assert.equal(opened.status, 200, opened.body)
  let token = opened.json.pageToken
  const call = (method: string, path: string, body?: object) => {
    // Node adds no length to the body of DELETE
    const length = String(Buffer.byteLength(JSON.stringify(body ?? {})))
    const headers = { ...withToken(token), ...(method !== 'GET' && { 'Content-Length': length }) }
    return browser.ask(path, { method, headers, ...(method !== 'GET' && { json: body ?? {} }) })
  }
  return {
    call,
    /** The body of the request that is named. */
    async sign(request: string, change: Tampering = {}) {
      const { options } = (await call('POST', '/account/passkeys/proof-options', { request })).json
      return { current_passkey: device.sign(options, change) }
    },
    /** The page is loaded again, after its session was replaced. */
    async refresh() {
      token = tokenOf(await browser.openPage())
    },
  }
}
