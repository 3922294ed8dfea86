import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api, isCodeMissing, isRefused, toMessage } from '../api/client.ts'
import { texts } from '../texts.ts'
import { Button } from '../ui/button.tsx'
import { Problem, TextField } from '../ui/field.tsx'
import { Logo } from '../ui/icons.tsx'
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
  /** Shown until an attempt fails. */
  readonly notice?: string | undefined
  readonly onSignedIn: () => void
}

/** Asks for name and password, then for a one-time code if the account has a second factor. */
export function SignInForm({ notice, onSignedIn }: SignInFormProps) {
  const [given, setGiven] = useState({ name: '', password: '', code: '' })
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
    api.post('/session', { ...rest, ...(isCodeStep && { code: code.trim() }) }).then(onSignedIn, refuse)
  }
  const goBack = () => {
    setCodeStep(false)
    setProblem('')
    setter('code')('')
  }
  return (
    <form class="card" onSubmit={submit}>
      {isCodeStep ? (
        <CodeStep name={given.name} code={given.code} problem={problem} onCode={setter('code')} />
      ) : (
        <>
          <h1>{texts.signIn.title}</h1>
          {notice && !problem && <p class="notice warning">{notice}</p>}
          <Problem text={problem} />
          <TextField label={texts.signIn.name} value={given.name} onValue={setter('name')} {...NAME_INPUT} />
          <TextField
            label={texts.signIn.password}
            value={given.password}
            onValue={setter('password')}
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

/** Only a page of a navigation carries the page token, so a sign-in loads the page again. */
export const SignIn = ({ isEnded }: { readonly isEnded: boolean }) => (
  <Entrance title={texts.signIn.title}>
    <SignInForm notice={isEnded ? texts.signIn.ended : undefined} onSignedIn={() => location.reload()} />
  </Entrance>
)

const TEXT_INPUT = { required: true, autoCapitalize: 'none', spellcheck: false } as const
const NAME_INPUT = { ...TEXT_INPUT, name: 'name', autoComplete: 'username', autoFocus: true } as const
const PASSWORD_INPUT = { name: 'password', type: 'password', autoComplete: 'current-password', required: true } as const
const CODE_INPUT = {
  ...TEXT_INPUT,
  name: 'code',
  autoComplete: 'one-time-code',
  autoFocus: true,
  isMono: true,
} as const
