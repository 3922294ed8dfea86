// Requests as a browser sends them to /_cardea/.
import assert from 'node:assert/strict'
import { type Reply, send } from './request.ts'

type Headers = Readonly<Record<string, string>>

/** What a browser adds when the user opens a page. */
export const NAVIGATION: Headers = {
  'Sec-Fetch-Site': 'none',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Dest': 'document',
  'Sec-Fetch-User': '?1',
}

/** What a browser adds to a fetch of a script of the same origin. */
export const SCRIPT: Headers = {
  'Sec-Fetch-Site': 'same-origin',
  'Sec-Fetch-Mode': 'cors',
  'Sec-Fetch-Dest': 'empty',
  'X-Cardea-Control': '1',
}

export const API = '/_cardea/api'

export interface Call {
  readonly method?: string
  readonly headers?: Headers
  readonly json?: unknown
}

/** A window with the cookies of one host. */
export interface Browser {
  cookie: string
  /** A fetch of a script. */
  ask(path: string, call?: Call): Promise<Reply>
  openPage(headers?: Headers): Promise<Reply>
  signIn(name: string, password: string, code?: string): Promise<Reply>
}

export function createBrowser(url: string, standing: Headers = {}): Browser {
  const context = async (method: string, path: string, headers: Headers, body?: string): Promise<Reply> => {
    const sent = { ...standing, ...(browser.cookie && { Cookie: browser.cookie }), ...headers }
    const answer = await send(url, { method, path, headers: sent, ...(body !== undefined && { body }) })
    for (const line of answer.lines['set-cookie'] ?? []) browser.cookie = line.split(';')[0] ?? ''
    return answer
  }
  const browser: Browser = {
    cookie: '',
    ask: (path, { method = 'GET', headers = {}, json } = {}) => {
      const all = { ...SCRIPT, ...(json !== undefined && { 'Content-Type': 'application/json' }), ...headers }
      return context(method, `${API}${path}`, all, json === undefined ? undefined : JSON.stringify(json))
    },
    openPage: (headers = NAVIGATION) => context('GET', '/_cardea/', headers),
    signIn: (name, password, code) =>
      browser.ask('/session', { method: 'POST', json: { name, password, ...(code !== undefined && { code }) } }),
  }
  return browser
}

export const tokenOf = ({ body }: Reply): string =>
  /name="cardea-page-token" content="([^"]*)"/.exec(body)?.[1] ?? assert.fail(body)

export const withToken = (token: string): Headers => ({ 'X-Cardea-Page-Token': token })
