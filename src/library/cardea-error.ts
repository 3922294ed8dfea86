import { ERRORS, type ErrorCode, Refusal } from '../base/errors.ts'
import { toApiErrorBody } from '../dialects/admin-api/json.ts'

/** An expected failure of `cardea.users` and `cardea.sessions`. Express and Fastify respond with its status. */
export class CardeaError extends Error {
  override readonly name = 'CardeaError'
  readonly code: ErrorCode
  /** The HTTP status that says the same; read by Express. */
  readonly status: number
  /** Equal to `status`: Fastify reads this one. */
  readonly statusCode: number
  /** How long the client should wait, with the codes `too_many_requests` and `overloaded`. */
  readonly retryAfterSeconds: number | undefined

  constructor(refusal: Refusal) {
    super(toApiErrorBody(refusal).reason, { cause: refusal })
    this.code = refusal.code
    this.status = ERRORS[refusal.code].status
    this.statusCode = this.status
    this.retryAfterSeconds = refusal.retryAfterSeconds
  }
}

/** Asynchronous methods which a refusal leaves as a `CardeaError`. */
export function toLibraryMethods<T extends object>(methods: T): T {
  const entries = Object.entries(methods).map(([name, run]) => {
    const runChecked = (...given: unknown[]) => withCardeaErrors(() => run(...given))
    return [name, runChecked]
  })
  return Object.fromEntries(entries) as T // the same names and parameters
}

/** Runs `work`; a refusal leaves the library as a `CardeaError`. */
export async function withCardeaErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof Refusal ? new CardeaError(error) : error
  }
}

/** Names the user that does not exist. */
export async function orUnknownUser<T>(name: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'not_found' || error.reason !== undefined) throw error
    throw new Refusal('not_found', { reason: `No user has the name ${name}.`, cause: error })
  }
}
