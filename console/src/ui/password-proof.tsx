// Asks for the password or a passkey again: some changes need it if the session is older than `admin.reauthenticate-after`.
import { useEffect, useState } from 'preact/hooks'
import { ApiError, api, type Proof } from '../api/client.ts'
import { canUsePasskeys, isCancelled, usePasskey } from '../modules/passkeys/use-passkey.ts'
import { shared } from '../texts.ts'
import { FormDialog } from './dialog.tsx'
import { Problem, TextField, useSubmit } from './field.tsx'
import { Button } from './parts.tsx'

export type { Proof } from '../api/client.ts'

interface Question {
  readonly hasPasskeys: boolean
  answer(proof: Proof): Promise<void>
  cancel(): void
}

let show = (_question: Question | undefined) => {}

/** Runs a change. If the server wants the password, asks for it or a passkey, and runs the change again with it. */
export async function withPassword<T>(run: (proof: Proof) => Promise<T>): Promise<T> {
  try {
    return await run({})
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'password_required') throw error
    const hasPasskeys = canUsePasskeys() && (await countPasskeys()) > 0
    return new Promise<T>((resolve, reject) => {
      const answer = async (proof: Proof) => resolve(await run(proof))
      show({ hasPasskeys, answer, cancel: () => reject(error) })
    })
  }
}

const countPasskeys = async (): Promise<number> =>
  (await api.get<{ readonly passkeys: readonly object[] }>('/account/passkeys')).passkeys.length

/** Asks for a passkey at once. */
export const PASSKEY_PROOF: Proof = {
  current_passkey: async (request) => {
    const asked = await api.post<{ readonly options: object }>('/account/passkeys/proof-options', { request })
    return usePasskey(asked).catch((error: unknown) => {
      throw isCancelled(error) ? new Error(shared.proof.cancelled) : error
    })
  },
}

export function PasswordProof() {
  const [question, setQuestion] = useState<Question>()
  const [password, setPassword] = useState('')
  useEffect(() => {
    show = setQuestion
  }, [])
  const close = () => {
    setQuestion(undefined)
    setPassword('')
  }
  const answer = async (proof: Proof) => {
    await question?.answer(proof)
    close()
  }
  const byPasskey = useSubmit(() => answer(PASSKEY_PROOF))
  if (!question) return null
  return (
    <FormDialog
      title={question.hasPasskeys ? shared.proof.titleOrPasskey : shared.proof.title}
      action={shared.proof.action}
      isReady={password !== ''}
      onClose={() => {
        question.cancel()
        close()
      }}
      onSubmit={() => answer({ current_password: password })}
    >
      <p>{question.hasPasskeys ? shared.proof.textOrPasskey : shared.proof.text}</p>
      {question.hasPasskeys && (
        <div class="stack">
          <Button onClick={byPasskey.submit} isBusy={byPasskey.isBusy}>
            {shared.proof.passkey}
          </Button>
          <Problem text={byPasskey.problem} />
        </div>
      )}
      <TextField
        label={shared.proof.password}
        type="password"
        autoComplete="current-password"
        value={password}
        onValue={setPassword}
      />
    </FormDialog>
  )
}
