import { type DestinationStream, destination, pino } from 'pino'
import type { Log, LogFields } from '../base/log.ts'

export interface LogOptions {
  readonly level: string
  /** `auto`: text where a person is looking, else one JSON object a line. */
  readonly format: 'auto' | 'text' | 'json'
}

/** The log of the process, on standard error. */
export function createLog({ level, format }: LogOptions): Log & { applyLevel(level: string): void } {
  const isText = format === 'text' || (format === 'auto' && process.stderr.isTTY === true)
  const logger = pino(
    { level, base: null, serializers: { error: toErrorFields } },
    isText ? TEXT : destination({ fd: 2, sync: true }),
  )
  const write = (name: 'debug' | 'info' | 'warn' | 'error') => (message: string, fields?: LogFields) =>
    fields ? logger[name](fields, message) : logger[name](message)
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    applyLevel: (now) => {
      logger.level = now
    },
  }
}

// Only what names the failure: a message of a library may quote what it was given.
function toErrorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return { type: typeof error }
  const { code } = error as NodeJS.ErrnoException
  return { type: error.name, message: error.message, ...(code ? { code } : {}), stack: error.stack }
}

const LEVEL_NAMES = new Map([
  [20, 'debug'],
  [30, 'info'],
  [40, 'warn'],
  [50, 'error'],
])

const TEXT: DestinationStream = {
  write(line) {
    const { level, time, msg, ...fields } = JSON.parse(line)
    const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${renderValue(value)}`)
    process.stderr.write(`${new Date(time).toISOString()} ${LEVEL_NAMES.get(level) ?? level} ${msg}${rest.join('')}\n`)
  },
}

const PLAIN = /^[^\s"=\p{Cc}]+$/u

/** Quoted where it could be mistaken for something else: a client may choose the text, and must not forge a line. */
const renderValue = (value: unknown): string =>
  typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value)
