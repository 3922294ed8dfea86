// The sign-in page: a password, then a one-time code or a passkey where the account needs one; a passkey alone; sign-up
// where it is on; a button for each identity provider.
import '../styles/tokens.css'
import '../styles/base.css'
import '../styles/frame.css'
import '../styles/controls.css'
import '../styles/parts.css'
import '../styles/sign-in.css'
import { applyTheme } from '../frame/apply-theme.ts'
import { canUsePasskeys, isCancelled, offerPasskeys, usePasskey } from '../modules/passkeys/use-passkey.ts'
import { button, element, field, form, show } from './elements.ts'
import {
  findArrival,
  finishSignIn,
  linkButtons,
  providerButtons,
  showPasswordLink,
  signOutButtons,
} from './providers.ts'
import { API, options, PATH, post, RefusedRequest } from './server.ts'
import { texts } from './texts.ts'

interface SignedIn {
  readonly name: string
  readonly mustChangePassword?: boolean
  readonly mustSetUpFactor?: boolean
  readonly roles?: readonly string[]
  readonly canLink?: boolean
}

/** What the user must do first, at the page of the user's own account. */
function findAction({ mustChangePassword, mustSetUpFactor }: SignedIn): string | undefined {
  if (mustChangePassword) return texts.mustChangePassword
  return mustSetUpFactor ? texts.mustSetUpFactor : undefined
}

interface Credentials {
  readonly name: string
  readonly password: string
}

const NAME = { autocomplete: 'username webauthn', spellcheck: 'false' }
const PASSWORD = { type: 'password', autocomplete: 'current-password' }
const NEW_PASSWORD = { type: 'password', autocomplete: 'new-password' }
const ADDRESS = { type: 'email', autocomplete: 'email', spellcheck: 'false' }
const CODE = { autocomplete: 'one-time-code', spellcheck: 'false' }

function showSignIn(): void {
  const notice = options.isNextWrong ? [element('p', { class: 'notice', role: 'status' }, texts.wrongNext)] : []
  const fields = [
    ...notice,
    field(options.addressSignIn ? texts.nameOrAddress : texts.name, 'name', NAME),
    field(texts.password, 'password', PASSWORD),
    button(texts.action, 'primary'),
  ]
  const submit = ({ name = '', password = '' }: Record<string, string>) => signIn({ name, password })
  const forgotten = options.passwordReset ? [button(texts.forgotten, 'quiet', showForgotten)] : []
  const showForm = options.mailSignUp ? showMailSignUp : showSignUp
  const signUp = options.signUp || options.mailSignUp ? [button(texts.signUp, 'quiet', showForm)] : []
  show(texts.title, form(fields, submit), ...passkeyButton({}), ...forgotten, ...signUp, ...providerButtons())
  offering.abort()
  offering = new AbortController()
  // a passkey of the list that is refused is no reason to leave the form
  void offerPasskeys(askPasskey, (passkey) => signInWith({ passkey }).then(goOn), offering.signal)
}

/** Ends the offer of passkeys in the name field: a browser waits for one authenticator at a time. */
let offering = new AbortController()

const askPasskey = () => post<{ readonly options: object }>('/passkey-options', {})

/** `given`: the password, where the passkey is the second step. */
function passkeyButton(given: Partial<Credentials>): readonly Node[] {
  if (!canUsePasskeys()) return []
  const submit = async () => {
    offering.abort()
    try {
      await goOn(await signInWith({ ...given, passkey: await usePasskey(await askPasskey()) }))
    } catch (error) {
      throw isCancelled(error) ? new Error(texts.passkeyCancelled) : explain(error, texts.passkeyRefused)
    }
  }
  return [form([button(texts.passkey, '')], submit)]
}

async function signIn(given: Credentials): Promise<void> {
  try {
    await goOn(await signInWith(given))
  } catch (error) {
    if (isCode(error, 'code_required')) return showCode(given)
    throw explain(error, texts.refused)
  }
}

interface Given extends Partial<Credentials> {
  readonly code?: string
  readonly passkey?: object
}

/** Only a session that has proved the password can link. Administrators have no accounts at providers. */
async function signInWith(given: Given): Promise<SignedIn> {
  const user = await post<SignedIn>('/sign-in', given)
  return { ...user, canLink: given.password !== undefined && !user.roles?.includes('_admin') }
}

function showCode(given: Credentials): void {
  const fields = [
    element('p', {}, texts.codeText(given.name)),
    field(texts.code, 'code', CODE),
    button(texts.action, 'primary'),
  ]
  const submit = async ({ code = '' }: Record<string, string>) => {
    try {
      await goOn(await signInWith({ ...given, code: code.trim() }))
    } catch (error) {
      throw explain(error, texts.codeRefused)
    }
  }
  const other = button(texts.anotherName, 'quiet', showSignIn)
  show(texts.codeTitle, form(fields, submit), ...passkeyButton(given), other)
}

function showSignUp(): void {
  const fields = [
    field(texts.name, 'name', NAME),
    field(texts.newPassword, 'password', NEW_PASSWORD),
    button(texts.signUpAction, 'primary'),
  ]
  const submit = async ({ name = '', password = '' }: Record<string, string>) => {
    await post('/sign-up', { name, password })
    await signIn({ name, password })
  }
  show(texts.signUp, form(fields, submit), button(texts.toSignIn, 'quiet', showSignIn))
}

function showMailSignUp(): void {
  const fields = [
    field(texts.name, 'name', NAME),
    field(texts.address, 'address', ADDRESS),
    element('p', {}, texts.signUpText),
    button(texts.signUpAction, 'primary'),
  ]
  const submit = async ({ name = '', address = '' }: Record<string, string>) => {
    await sendLink(texts.signUpSentText(address.trim()), () => post('/account/sign-up/request', { name, address }, API))
  }
  show(texts.signUp, form(fields, submit), button(texts.toSignIn, 'quiet', showSignIn))
}

function showForgotten(): void {
  const fields = [
    element('p', {}, texts.forgottenText),
    field(texts.address, 'address', ADDRESS),
    button(texts.sendLink, 'primary'),
  ]
  const submit = async ({ address = '' }: Record<string, string>) => {
    await sendLink(texts.linkSentText(address.trim()), () => post('/account/password-reset', { address }, API))
  }
  show(texts.forgottenTitle, form(fields, submit), toStart())
}

/** Says that a message is on its way, and offers to send it again. */
async function sendLink(sent: string, send: () => Promise<unknown>, title: string = texts.linkSent): Promise<void> {
  await send()
  const again = form([button(texts.sendAgain, '')], () => sendLink(sent, send, texts.linkSentAgain))
  show(title, element('p', { role: 'status' }, sent), again, toStart())
}

const toStart = (): Node => button(texts.toStart, 'quiet', showSignIn)

async function goOn(user: SignedIn, next = options.next): Promise<void> {
  if (next === undefined || findAction(user) !== undefined) return showSignedIn(user)
  if (options.hasToken && WEB_INTERFACE.test(next)) await enterWebInterface(user)
  location.assign(next)
}

const WEB_INTERFACE = /^\/(?:_db\/[^/?#]+\/)?_admin\/aardvark(?:[/?#]|$)/

/** The web interface of ArangoDB keeps its token and its user there. */
async function enterWebInterface({ name }: SignedIn): Promise<void> {
  const { jwt } = await post<{ jwt: string }>('/token', {})
  sessionStorage.setItem('jwt', jwt)
  sessionStorage.setItem('jwtUser', name)
}

const toLink = (to: string, label: string): Node => element('a', { class: 'button primary', href: to }, label)

function showSignedIn(user: SignedIn, note?: string): void {
  const action = findAction(user)
  const { next } = options
  const first = action
    ? [toLink('/_cardea/#/account', texts.toAccount)]
    : [
        ...(next === undefined ? [] : [form([button(texts.goOn, 'primary')], () => goOn(user))]),
        ...(user.canLink ? linkButtons(() => showSignedIn(user)) : []),
      ]
  show(
    texts.signedInTitle,
    ...(note === undefined ? [] : [element('p', { role: 'status' }, note)]),
    element('p', {}, action ?? texts.signedIn(user.name)),
    ...first,
    form([button(texts.signOut, first.length > 0 ? 'quiet' : '')], signOut),
  )
}

async function signOut(): Promise<void> {
  await post('/sign-out', {})
  const offers = signOutButtons()
  show(texts.signedOut, ...offers, button(texts.action, offers.length > 0 ? 'quiet' : '', showSignIn))
}

async function arrive(provider: string): Promise<void> {
  show(texts.working)
  try {
    const { linked, next, ...user } = await finishSignIn(provider)
    // a user who has linked an account in the session of before, and not with a password link
    const canLink = options.canLink && options.name === user.name
    if (linked) showSignedIn({ ...user, canLink }, texts.linked)
    else await goOn(user, next)
  } catch (error) {
    const why = element('p', { class: 'notice danger', role: 'alert' }, error instanceof Error ? error.message : '')
    show(texts.failed, why, toLink(PATH, texts.again))
  }
}

const isCode = (error: unknown, code: string): boolean => error instanceof RefusedRequest && error.code === code

/** `refused` instead of what the server says about a wrong credential. */
const explain = (error: unknown, refused: string): unknown =>
  isCode(error, 'credential_refused') ? new Error(refused) : error

const showStart = (): void => (options.name === null ? showSignIn() : showSignedIn({ ...options, name: options.name }))

applyTheme()
const provider = findArrival()
if (provider !== undefined) void arrive(provider)
else if (!showPasswordLink()) showStart()
