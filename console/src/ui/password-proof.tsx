// Asks for the password again: some changes need it if the session is older than `admin.reauthenticate-after`.
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../api/client.ts'
import { texts } from '../texts.ts'
import { FormDialog } from './dialog.tsx'
import { TextField } from './field.tsx'

interface Question {
  answer(password: string): Promise<void>
  cancel(): void
}

let show = (_question: Question | undefined) => {}

/** Sent with a change that needs the password again. */
export interface Proof {
  readonly current_password?: string
}

/** Runs a change. If the server wants the password, asks for it and runs the change again with it. */
export async function withPassword<T>(run: (proof: Proof) => Promise<T>): Promise<T> {
  try {
    return await run({})
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'password_required') throw error
    return new Promise<T>((resolve, reject) => {
      const answer = async (password: string) => resolve(await run({ current_password: password }))
      show({ answer, cancel: () => reject(error) })
    })
  }
}

export function PasswordProof() {
  const [question, setQuestion] = useState<Question>()
  const [password, setPassword] = useState('')
  useEffect(() => {
    show = setQuestion
  }, [])
  if (!question) return null
  const close = () => {
    setQuestion(undefined)
    setPassword('')
  }
  return (
    <FormDialog
      title={texts.proof.title}
      action={texts.proof.action}
      isReady={password !== ''}
      onClose={() => {
        question.cancel()
        close()
      }}
      onSubmit={async () => {
        await question.answer(password)
        close()
      }}
    >
      <p>{texts.proof.text}</p>
      <TextField
        label={texts.proof.password}
        type="password"
        autoComplete="current-password"
        value={password}
        onValue={setPassword}
      />
    </FormDialog>
  )
}
