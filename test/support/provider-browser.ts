/** A browser that signs in at identity providers, with the cookies of one host. */
import assert from 'node:assert/strict'
import { send } from './request.ts'

export const PUBLIC_URL = 'https://db.example.com'
const PAGE = '/_cardea/sign-in'

type Headers = Readonly<Record<string, string>>

/** At the listener with this URL. `nameOf` asks the document door. `standing` are headers of every request. */
export function createBrowser(url: string, document = url, standing: Headers = {}) {
  const cookies = new Map<string, string>()
  const post = async (path: string, body: object = {}) => {
    const Cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const headers = { 'Content-Type': 'application/json', ...(Cookie && { Cookie }), ...standing }
    const reply = await send(url, { method: 'POST', path: `${PAGE}${path}`, headers, body })
    for (const line of reply.lines['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    return { status: reply.status, ...JSON.parse(reply.body) }
  }
  /** Goes to the provider, and comes back with its response. */
  const visit = async (provider: string, body: object = {}, next = '') => {
    const started = await post(`/providers/${provider}${next}`, body)
    assert.equal(started.status, 200, JSON.stringify(started))
    const location = (await fetch(started.url, { redirect: 'manual' })).headers.get('location') ?? ''
    assert.ok(location.startsWith(`${PUBLIC_URL}${PAGE}/callback/${provider}?`), location)
    return new URL(location).search.slice(1)
  }
  const finish = (provider: string, query: string) => post(`/callback/${provider}`, { query })
  /** The header of its session. */
  const session = () => ({ Cookie: `AuthSession=${cookies.get('AuthSession') ?? ''}` })
  const userOf = async () => (await send(document, { path: '/_session', headers: session() })).json.userCtx
  return { cookies, post, visit, finish, session, userOf, nameOf: async () => (await userOf()).name }
}
