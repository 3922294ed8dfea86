/** An identity provider on loopback that others have written, with clients and users that sign in at it. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { Scope } from './scope.ts'

export const FOREIGN_AUDIENCE = 'cardea'
const REDIRECT = 'http://127.0.0.1:1/callback'
const CLIENT = { client_id: 'app', client_secret: 'secret-of-the-app' }

const createJwk = (kid: string) => ({
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
  kid,
  use: 'sig',
  alg: 'ES256',
})

/** `redirectUris`: where its client may send a browser back to. */
export async function startForeignProvider(scope: Scope, redirectUris: readonly string[] = [REDIRECT]) {
  let listener: RequestListener
  const server = createServer((request, response) => listener(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  scope.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let keys = [createJwk('1')]
  const restart = () => {
    listener = new Provider(issuer, toConfiguration(keys, redirectUris)).callback()
  }
  restart()
  return {
    issuer,
    client: CLIENT,
    /** Signs with a new key from then on. Tokens of the key before stay valid. */
    rotate(kid: string): void {
      keys = [createJwk(kid), ...keys.slice(0, 1)]
      restart()
    },
    /** An access token of the client itself: it is about no user. */
    requestToken: async (): Promise<string> =>
      (await requestTokens(issuer, { grant_type: 'client_credentials' })).access_token ?? '',
    /** What the client gets when a user signs in with a browser. */
    signIn: async (user: string) => {
      const code = await authorize(issuer, user)
      return requestTokens(issuer, { grant_type: 'authorization_code', code, redirect_uri: REDIRECT })
    },
  }
}

const toConfiguration = (keys: readonly object[], redirectUris: readonly string[]) => ({
  jwks: { keys },
  clients: [
    {
      ...CLIENT,
      grant_types: ['authorization_code', 'client_credentials'],
      redirect_uris: redirectUris,
      post_logout_redirect_uris: redirectUris.map((uri) => new URL('/_cardea/sign-in', uri).href),
      token_endpoint_auth_method: 'client_secret_post',
      id_token_signed_response_alg: 'ES256',
    },
  ],
  cookies: { keys: ['only for tests'] },
  pkce: { required: () => false },
  findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
  features: {
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'https://db.example.com',
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'data',
        audience: FOREIGN_AUDIENCE,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
})

async function requestTokens(issuer: string, body: Readonly<Record<string, string>>) {
  const form = new URLSearchParams({ ...CLIENT, ...body })
  const response = await fetch(`${issuer}/token`, { method: 'POST', body: form })
  const tokens: { access_token?: string; id_token?: string } = JSON.parse(await response.text())
  return tokens
}

async function authorize(issuer: string, user: string): Promise<string> {
  const query = { client_id: CLIENT.client_id, response_type: 'code', scope: 'openid', redirect_uri: REDIRECT }
  const url = await followBrowser(`${issuer}/auth?${new URLSearchParams(query)}`, user)
  return url.searchParams.get('code') ?? ''
}

/** Follows the redirects of a browser, signs in and consents. Returns where the provider sends the browser back to. */
export async function followBrowser(start: string, user: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = new URL(start)
  const issuer = url.origin
  for (let step = 0; step < 10 && url.origin === issuer; step += 1) {
    const visit = (init: RequestInit) =>
      fetch(url, {
        ...init,
        redirect: 'manual',
        headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      })
    const page = await visit({})
    const [, prompt = ''] = /name="prompt" value="(\w+)"/.exec(await page.clone().text()) ?? []
    const form = new URLSearchParams({ prompt, login: user, password: 'any' })
    const reply = prompt === '' ? page : await visit({ method: 'POST', body: form })
    for (const line of [...page.headers.getSetCookie(), ...reply.headers.getSetCookie()]) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=')
      cookies.set(name, value)
    }
    url = new URL(reply.headers.get('location') ?? 'http://127.0.0.1:1/', url)
  }
  return url
}
