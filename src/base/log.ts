/** The log that all folders use. Fields never hold a secret, token, cookie or password. */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

export type LogFields = Readonly<Record<string, unknown>>

const nothing = () => {}

export const SILENT_LOG: Log = Object.freeze({ debug: nothing, info: nothing, warn: nothing, error: nothing })
