// Sign-in at identity providers. The provider sends the browser back to this page with a response in the query.
import { button, element, field, form, show } from './elements.ts'
import { options, PATH, type Provider, post } from './server.ts'
import { texts } from './texts.ts'

const toQuery = (next: string | undefined): string => (next === undefined ? '' : `?next=${encodeURIComponent(next)}`)

async function goTo({ name }: Provider, body: object): Promise<void> {
  const { url } = await post<{ url: string }>(`/providers/${name}${toQuery(options.next)}`, body)
  location.assign(url)
}

/** A provider sends browsers back to one address. At another one there is a link to it. */
const isHere = options.publicUrl === '' || new URL(options.publicUrl).origin === location.origin

export function providerButtons(): readonly Node[] {
  if (options.providers.length === 0) return []
  const or = element('p', { class: 'or' }, texts.or)
  if (!isHere) {
    const { host } = new URL(options.publicUrl)
    return [or, element('a', { class: 'button', href: new URL(PATH, options.publicUrl).href }, texts.signInAt(host))]
  }
  return [
    or,
    ...options.providers.map((each) => form([button(texts.signInWith(each.label), '')], () => goTo(each, {}))),
  ]
}

export const linkButtons = (onCancel: () => void): readonly Node[] =>
  (isHere ? options.providers : []).map((each) =>
    button(texts.linkWith(each.label), '', () => showLinkForm(each, onCancel)),
  )

/** Both sides are proved: the password here, the account there. */
function showLinkForm(provider: Provider, onCancel: () => void): void {
  const fields = [
    element('p', {}, texts.linkText(provider.label)),
    field(texts.password, 'password', { type: 'password', autocomplete: 'current-password' }),
    button(texts.goOn, 'primary'),
  ]
  const submit = ({ password = '' }: Record<string, string>) =>
    goTo(provider, { link: true, current_password: password })
  show(texts.linkWith(provider.label), form(fields, submit), button(texts.back, 'quiet', onCancel))
}

/** The secret of a password link, or of an invitation with the name. In the fragment it is never part of a logged path. */
const [, passwordLink, invitedName] = /^#password-link\/([\w-]+)(?:\/(.+))?$/.exec(location.hash) ?? []

/** Lets the user of a password link choose an account. Returns whether there is such a link. */
export function showPasswordLink(): boolean {
  if (passwordLink === undefined) return false
  history.replaceState(null, '', PATH)
  const name = invitedName === undefined ? {} : { name: decodeURIComponent(invitedName) }
  const choices = options.providers.map((each) =>
    form([button(texts.linkWith(each.label), '')], () => goTo(each, { password_link: passwordLink, ...name })),
  )
  show(texts.passwordLink, element('p', {}, texts.passwordLinkText), ...choices)
  return true
}

const CALLBACK = `${PATH}/callback/`

export interface Arrived {
  readonly name: string
  readonly linked: boolean
  readonly next?: string
}

/** The provider that sent the browser here; `undefined`: none did. */
export const findArrival = (): string | undefined =>
  location.pathname.startsWith(CALLBACK) ? location.pathname.slice(CALLBACK.length) : undefined

/** The code in the address works once, and is removed from the history. */
export async function finishSignIn(provider: string): Promise<Arrived> {
  const query = location.search.slice(1)
  history.replaceState(null, '', PATH)
  const arrived = await post<Arrived>(`/callback/${provider}`, { query })
  localStorage.setItem(KEY, provider)
  return arrived
}

const KEY = 'cardea-provider'

/** Offers to end the session at the provider that this browser signed in with, too. */
export function signOutButtons(): readonly Node[] {
  const provider = options.providers.find(({ name }) => name === localStorage.getItem(KEY))
  localStorage.removeItem(KEY)
  if (!provider) return []
  const submit = async () => {
    const { url } = await post<{ url: string | null }>(`/providers/${provider.name}/sign-out`, {})
    if (url === null) location.assign(PATH)
    else location.assign(url)
  }
  return [form([button(texts.signOutAt(provider.label), '')], submit)]
}
