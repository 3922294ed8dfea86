import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ApiError, api, toMessage } from '../api/client.ts'
import { texts } from '../texts.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Logo } from '../ui/icons.tsx'

/** The frame of the pages for users who are not signed in. */
export const Entrance = ({ children }: { readonly children: ComponentChildren }) => (
  <main class="entrance">
    <div class="brand">
      <Logo />
      {texts.product}
    </div>
    {children}
  </main>
)

/** At an address where browsers cannot sign in. */
export const Closed = () => (
  <Entrance>
    <section class="card">
      <h1>{texts.signIn.closed}</h1>
      <p>{texts.signIn.closedText}</p>
      <pre>{texts.signIn.closedExample}</pre>
      <p>{texts.signIn.closedPrograms}</p>
    </section>
  </Entrance>
)

const toProblem = (error: unknown): string =>
  error instanceof ApiError && error.code === 'credential_refused' ? texts.signIn.refused : toMessage(error)

/** Only a page of a navigation carries the page token, so a sign-in loads the page again. */
export function SignIn({ isEnded }: { readonly isEnded: boolean }) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [hasCode, setHasCode] = useState(false)
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setProblem('')
    try {
      await api.post('/session', { name, password, ...(code.trim() && { code: code.trim() }) })
      location.reload()
    } catch (error) {
      setProblem(toProblem(error))
      setHasCode(true)
      setBusy(false)
    }
  }
  return (
    <Entrance>
      <form class="card" onSubmit={submit}>
        <h1>{texts.signIn.title}</h1>
        {isEnded && !problem && <p class="notice warning">{texts.signIn.ended}</p>}
        {problem && (
          <p class="notice danger" role="alert">
            {problem}
          </p>
        )}
        <TextField label={texts.signIn.name} value={name} onValue={setName} required autoFocus {...NAME_INPUT} />
        <TextField label={texts.signIn.password} value={password} onValue={setPassword} required {...PASSWORD_INPUT} />
        {hasCode ? (
          <TextField
            label={texts.signIn.code}
            hint={texts.signIn.codeHint}
            value={code}
            onValue={setCode}
            {...CODE_INPUT}
          />
        ) : (
          <div class="flush">
            <Button kind="quiet" onClick={() => setHasCode(true)}>
              {texts.signIn.haveCode}
            </Button>
          </div>
        )}
        <Button type="submit" kind="primary" isBusy={isBusy}>
          {texts.signIn.action}
        </Button>
      </form>
    </Entrance>
  )
}

const NAME_INPUT = { name: 'name', autoComplete: 'username', autoCapitalize: 'none', spellcheck: false } as const
const PASSWORD_INPUT = { name: 'password', type: 'password', autoComplete: 'current-password' } as const
const CODE_INPUT = { name: 'code', autoComplete: 'one-time-code', autoCapitalize: 'none', spellcheck: false } as const
