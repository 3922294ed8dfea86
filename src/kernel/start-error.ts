import { messageOf, Refusal } from '../base/errors.ts'

/** The reason why Cardea cannot start, for the operator. */
export class StartError extends Error {
  override readonly name: string = 'StartError'
}

/** Another process holds the store. */
export class StoreBusy extends StartError {}

/** For the operator: includes the detail that clients do not see. */
export function reasonOf(error: unknown): string {
  const detail = error instanceof Refusal && error.detail !== undefined ? ` ${error.detail}` : ''
  return `${messageOf(error)}${detail}`
}
