import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import {
  api,
  instanceName,
  isCodeMissing,
  isRefused,
  onSessionEnd,
  type SessionView,
  setPageToken,
  toMessage,
} from '../../api/client.ts'
import { canUsePasskeys, isCancelled, offerPasskeys, usePasskey } from '../../modules/passkeys/use-passkey.ts'
import { shared } from '../../texts.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Problem, TextField } from '../../ui/field.tsx'
import { Logo } from '../../ui/icons.tsx'
import { Button } from '../../ui/parts.tsx'
import { useTitle } from '../../ui/use-title.ts'
import { texts } from './texts.ts'

/** The frame of the pages for users who are not signed in. */
export function Entrance({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  useTitle(title)
  return (
    <main class="entrance">
      <div class="brand">
        <Logo />
        {shared.product}
      </div>
      <p class="instance">{instanceName || location.host}</p>
      {children}
    </main>
  )
}

/** At an address where browsers cannot sign in. */
export const Closed = () => (
  <Entrance title={texts.closed}>
    <section class="card">
      <h1>{texts.closed}</h1>
      <p>{texts.closedText}</p>
      <pre>{texts.closedExample}</pre>
      <p>{texts.closedPrograms}</p>
    </section>
  </Entrance>
)

interface SignInFormProps {
  /** Whose session ended; the title is that of the dialog. */
  readonly again?: string
  readonly onSignedIn: (session: SessionView) => void
}

/** Asks for name and password, then for a one-time code or a passkey if the account has a second factor; or for a passkey. */
export function SignInForm({ again, onSignedIn }: SignInFormProps) {
  const [given, setGiven] = useState({ name: again ?? '', password: '', code: '' })
  const [isCodeStep, setCodeStep] = useState(false)
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const setter = (field: keyof typeof given) => (value: string) => setGiven((last) => ({ ...last, [field]: value }))
  const refuse = (error: unknown) => {
    setBusy(false)
    if (isCodeMissing(error)) setCodeStep(true)
    else if (!isRefused(error)) setProblem(toMessage(error))
    else setProblem(isCodeStep ? texts.codeRefused : texts.refused)
  }
  const begin = () => {
    setBusy(true)
    setProblem('')
  }
  const submit = (event: Event) => {
    event.preventDefault()
    begin()
    const { code, ...rest } = given
    api.post<SessionView>('/session', { ...rest, ...(isCodeStep && { code: code.trim() }) }).then(onSignedIn, refuse)
  }
  const offering = useOfferedPasskeys(!isCodeStep, onSignedIn)
  const signInWithPasskey = () => {
    begin()
    offering.current.abort()
    const { name, password } = given
    openWithPasskey(isCodeStep ? { name, password } : {}).then(onSignedIn, (error: unknown) => {
      setBusy(false)
      setProblem(toPasskeyProblem(error))
    })
  }
  const goBack = () => {
    setCodeStep(false)
    setProblem('')
    setter('code')('')
  }
  return (
    <form class={again === undefined ? 'card' : 'stack'} onSubmit={submit}>
      {isCodeStep ? (
        <CodeStep name={given.name} code={given.code} problem={problem} onCode={setter('code')} />
      ) : (
        <>
          {again === undefined ? <h1>{texts.title}</h1> : <p>{texts.ended}</p>}
          <Problem text={problem} />
          <TextField
            label={texts.name}
            value={given.name}
            onValue={setter('name')}
            autoFocus={again === undefined}
            {...NAME_INPUT}
          />
          <TextField
            label={texts.password}
            value={given.password}
            onValue={setter('password')}
            autoFocus={again !== undefined}
            {...PASSWORD_INPUT}
          />
        </>
      )}
      <Button type="submit" kind="primary" isBusy={isBusy}>
        {shared.actions.signIn}
      </Button>
      {canUsePasskeys() && <Button onClick={signInWithPasskey}>{texts.passkey}</Button>}
      {isCodeStep && (
        <Button kind="quiet" onClick={goBack}>
          {texts.back}
        </Button>
      )}
    </form>
  )
}

/** Passkeys in the list of the name field, where the browser can. A button ends the offer: a browser waits for one at a time. */
function useOfferedPasskeys(isOffered: boolean, onSignedIn: (session: SessionView) => void) {
  const offering = useRef(new AbortController())
  useEffect(() => {
    if (!isOffered) return
    offering.current = new AbortController()
    const signIn = async (passkey: object) => onSignedIn(await api.post<SessionView>('/session', { passkey }))
    // a passkey of the list that is refused is no reason to leave the form
    void offerPasskeys(askPasskey, signIn, offering.current.signal)
    return () => offering.current.abort()
  }, [isOffered])
  return offering
}

const askPasskey = () => api.post<{ readonly options: object }>('/passkeys/sign-in-options')

async function openWithPasskey(given: object): Promise<SessionView> {
  const passkey = await usePasskey(await askPasskey())
  return api.post<SessionView>('/session', { ...given, passkey })
}

function toPasskeyProblem(error: unknown): string {
  if (isCancelled(error)) return texts.passkeyCancelled
  return isRefused(error) ? texts.passkeyRefused : toMessage(error)
}

interface CodeStepProps {
  readonly name: string
  readonly code: string
  readonly problem: string
  readonly onCode: (code: string) => void
}

const CodeStep = ({ name, code, problem, onCode }: CodeStepProps) => (
  <>
    <h1>{texts.codeTitle}</h1>
    <p>{texts.codeText(name)}</p>
    <TextField label={texts.code} problem={problem} value={code} onValue={onCode} {...CODE_INPUT} />
  </>
)

export const SignIn = () => (
  <Entrance title={texts.title}>
    <SignInForm onSignedIn={() => location.reload()} />
  </Entrance>
)

/** Shown over the page when its session has ended. What was typed stays, and requests that waited are sent again. */
export function SignInAgain({ name }: { readonly name: string }) {
  const [waiting, setWaiting] = useState<readonly (() => void)[]>([])
  useEffect(() => onSessionEnd(() => new Promise((resolve) => setWaiting((all) => [...all, resolve]))), [])
  if (waiting.length === 0) return null
  const goOn = (session: SessionView) => {
    // another user must not see this page
    if (session.name !== name || !session.pageToken) return location.reload()
    setPageToken(session.pageToken)
    setWaiting([])
    for (const resolve of waiting) resolve()
  }
  return (
    <Dialog title={texts.title} kind="sign-in">
      <SignInForm again={name} onSignedIn={goOn} />
    </Dialog>
  )
}

const TEXT_INPUT = { required: true, autoCapitalize: 'none', spellcheck: false } as const
const NAME_INPUT = { ...TEXT_INPUT, name: 'name', autoComplete: 'username webauthn' } as const
const PASSWORD_INPUT = { name: 'password', type: 'password', autoComplete: 'current-password', required: true } as const
const CODE_INPUT = {
  ...TEXT_INPUT,
  name: 'code',
  autoComplete: 'one-time-code',
  autoFocus: true,
  isMono: true,
} as const
