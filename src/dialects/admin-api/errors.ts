import { ERRORS, type Refusal } from '../../base/errors.ts'

/** The body of an error, the same over HTTP and for a command that has opened the store itself. */
export function toErrorBody({ code, reason }: Refusal) {
  // why a credential is rejected is for the log
  const { status, text } = ERRORS[code]
  return { error: code, reason: (status === 401 ? undefined : reason) ?? text }
}
