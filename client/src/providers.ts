// Sign-in at identity providers, from pages on the origin of the door.
import type { Client, ListedProvider } from './client.ts'
import { type Credential, toJson } from './credential.ts'
import { findPage } from './platform.ts'
import { read } from './results.ts'
import type { SessionKeeper } from './session-keeper.ts'

export function createProviderCalls(
  base: string,
  { send, findToken }: Credential,
  keeper: SessionKeeper,
): Pick<Client, 'providers' | 'signInWith'> {
  const url = `${base}_cardea/sign-in/providers`
  return {
    async providers() {
      keeper.requireOpen()
      return (await read<{ providers: readonly ListedProvider[] }>(await send(url))).providers
    },
    async signInWith(provider, { next } = {}) {
      keeper.requireOpen()
      const page = findPage()
      const { origin } = new URL(base)
      if (findToken || !page?.assign || new URL(page.href).origin !== origin)
        throw new TypeError(`signInWith needs the cookie, and a page of ${origin}.`)
      const query = new URLSearchParams({ next: next ?? page.href.slice(origin.length) })
      const started = await send(`${url}/${encodeURIComponent(provider)}?${query}`, toJson('POST', {}))
      page.assign((await read<{ url: string }>(started)).url)
    },
  }
}
