import { ERRORS, type ErrorCode, type Refusal } from '../../base/errors.ts'

export interface ErrorBody {
  readonly error: ErrorCode
  readonly reason: string
}

/** The body of an error, the same over HTTP and for a command that has opened the store itself. */
export function toErrorBody({ code, reason }: Refusal): ErrorBody {
  // why a credential is rejected is for the log
  const [status, text] = ERRORS[code]
  return { error: code, reason: (status === 401 ? undefined : reason) ?? text }
}
