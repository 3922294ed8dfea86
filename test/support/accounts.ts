// Users of one server, and how they use their accounts: with Basic, in the console, at the document door.
import assert from 'node:assert/strict'
import { API, createBrowser, tokenOf, withToken } from './browser.ts'
import { AS_ADMIN, type Reply, send } from './request.ts'

export const PASSWORD = 'long enough'

export const NEEDS_PASSWORD = [403, 'password_required']

export const errorOf = ({ status, body }: Reply) => [status, JSON.parse(body).error]

export function createAccounts(url: string) {
  const ask = (as: string | undefined, method: string, path: string, body?: unknown) =>
    send(url, { method, path: `${API}${path}`, ...(as && { as }), ...(body !== undefined && { body }) })
  return {
    ask,
    /** Returns the Basic credentials of the new user. */
    async addUser(name: string, more: object = {}): Promise<string> {
      const { status, body } = await ask(AS_ADMIN, 'POST', '/users', { name, password: PASSWORD, ...more })
      assert.equal(status, 200, body)
      return `${name}:${PASSWORD}`
    },
    /** Signs in at the console. */
    async openBrowser(name: string, { password = PASSWORD, code = '' } = {}) {
      const browser = createBrowser(url)
      const answer = await browser.signIn(name, password, code)
      assert.equal(answer.status, 200, answer.body)
      const token = tokenOf(await browser.openPage())
      const call = (method: string, path: string, json?: unknown) => {
        // Node adds no length to the body of DELETE
        const length = String(json === undefined ? 0 : Buffer.byteLength(JSON.stringify(json)))
        const headers = { ...withToken(token), 'Content-Length': length }
        return browser.ask(path, { method, headers, ...(json !== undefined && { json }) })
      }
      return { browser, call, answer }
    },
    /** Returns the session cookie of the document door. */
    async openDoorSession(name: string): Promise<string> {
      const body = { name, password: PASSWORD }
      const { lines } = await send(url, { method: 'POST', path: '/_session', body })
      return (lines['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
    },
  }
}
