import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import {
  api,
  instanceName,
  isCodeMissing,
  isRefused,
  onSessionEnd,
  type Session,
  setPageToken,
  toMessage,
} from '../api/client.ts'
import { texts } from '../texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Problem, TextField } from '../ui/field.tsx'
import { Logo } from '../ui/icons.tsx'
import { Button } from '../ui/parts.tsx'
import { useTitle } from '../ui/use-title.ts'

/** The frame of the pages for users who are not signed in. */
export function Entrance({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  useTitle(title)
  return (
    <main class="entrance">
      <div class="brand">
        <Logo />
        {texts.product}
      </div>
      <p class="instance">{instanceName || location.host}</p>
      {children}
    </main>
  )
}

/** At an address where browsers cannot sign in. */
export const Closed = () => (
  <Entrance title={texts.signIn.closed}>
    <section class="card">
      <h1>{texts.signIn.closed}</h1>
      <p>{texts.signIn.closedText}</p>
      <pre>{texts.signIn.closedExample}</pre>
      <p>{texts.signIn.closedPrograms}</p>
    </section>
  </Entrance>
)

interface SignInFormProps {
  /** Whose session ended; the title is that of the dialog. */
  readonly again?: string
  readonly onSignedIn: (session: Session) => void
}

/** Asks for name and password, then for a one-time code if the account has a second factor. */
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
    else setProblem(isCodeStep ? texts.signIn.codeRefused : texts.signIn.refused)
  }
  const submit = (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setProblem('')
    const { code, ...rest } = given
    api.post<Session>('/session', { ...rest, ...(isCodeStep && { code: code.trim() }) }).then(onSignedIn, refuse)
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
          {again === undefined ? <h1>{texts.signIn.title}</h1> : <p>{texts.signIn.ended}</p>}
          <Problem text={problem} />
          <TextField
            label={texts.signIn.name}
            value={given.name}
            onValue={setter('name')}
            autoFocus={again === undefined}
            {...NAME_INPUT}
          />
          <TextField
            label={texts.signIn.password}
            value={given.password}
            onValue={setter('password')}
            autoFocus={again !== undefined}
            {...PASSWORD_INPUT}
          />
        </>
      )}
      <Button type="submit" kind="primary" isBusy={isBusy}>
        {texts.signIn.action}
      </Button>
      {isCodeStep && (
        <Button kind="quiet" onClick={goBack}>
          {texts.signIn.back}
        </Button>
      )}
    </form>
  )
}

interface CodeStepProps {
  readonly name: string
  readonly code: string
  readonly problem: string
  readonly onCode: (code: string) => void
}

const CodeStep = ({ name, code, problem, onCode }: CodeStepProps) => (
  <>
    <h1>{texts.signIn.codeTitle}</h1>
    <p>{texts.signIn.codeText(name)}</p>
    <TextField label={texts.signIn.code} problem={problem} value={code} onValue={onCode} {...CODE_INPUT} />
  </>
)

export const SignIn = () => (
  <Entrance title={texts.signIn.title}>
    <SignInForm onSignedIn={() => location.reload()} />
  </Entrance>
)

/** Shown over the page when its session has ended. What was typed stays, and requests that waited are sent again. */
export function SignInAgain({ name }: { readonly name: string }) {
  const [waiting, setWaiting] = useState<readonly (() => void)[]>([])
  useEffect(() => onSessionEnd(() => new Promise((resolve) => setWaiting((all) => [...all, resolve]))), [])
  if (waiting.length === 0) return null
  const goOn = (session: Session) => {
    // another user must not see this page
    if (session.name !== name || !session.pageToken) return location.reload()
    setPageToken(session.pageToken)
    setWaiting([])
    for (const resolve of waiting) resolve()
  }
  return (
    <Dialog title={texts.signIn.title} kind="sign-in">
      <SignInForm again={name} onSignedIn={goOn} />
    </Dialog>
  )
}

const TEXT_INPUT = { required: true, autoCapitalize: 'none', spellcheck: false } as const
const NAME_INPUT = { ...TEXT_INPUT, name: 'name', autoComplete: 'username' } as const
const PASSWORD_INPUT = { name: 'password', type: 'password', autoComplete: 'current-password', required: true } as const
const CODE_INPUT = {
  ...TEXT_INPUT,
  name: 'code',
  autoComplete: 'one-time-code',
  autoFocus: true,
  isMono: true,
} as const
