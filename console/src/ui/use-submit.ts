import { useState } from 'preact/hooks'
import { toMessage } from '../api/client.ts'

/** Runs the change of a form. If it fails, what was typed stays and `problem` says why. */
export function useSubmit(run: () => Promise<unknown>) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const submit = async (event?: Event) => {
    event?.preventDefault()
    setBusy(true)
    setProblem('')
    await run().catch((error: unknown) => setProblem(toMessage(error)))
    setBusy(false)
  }
  return { submit, isBusy, problem }
}
