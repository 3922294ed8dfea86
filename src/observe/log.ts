import { type DestinationStream, pino } from 'pino'
import { Refusal } from '../base/errors.ts'
import type { LogFields } from '../base/log.ts'
import { createStandardError } from './standard-error.ts'

/** The log of the process, on standard error. `auto`: text on a terminal, otherwise one JSON object per line. */
export function createLog(level: string, format: 'auto' | 'text' | 'json' = 'auto') {
  const isText = format === 'text' || (format === 'auto' && process.stderr.isTTY === true)
  const output = createStandardError((lines) => logger.error({ lines }, LOST))
  const logger = pino({ level, base: null, serializers: { error: toErrorFields } }, isText ? toText(output) : output)
  const write = (name: 'debug' | 'info' | 'warn' | 'error') => (message: string, fields?: LogFields) =>
    fields ? logger[name](fields, message) : logger[name](message)
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    /** Writes whole lines of another process, which has logged them. */
    forward: (lines: string) => output.write(lines),
    applyLevel: (now: string) => {
      logger.level = now
    },
  }
}

const LOST = 'lines of the log were lost: standard error could not be written'

/**
 * What the log has of an error. Messages of libraries may quote the data they were given, a password for example, so
 * of their errors only the type, the code and the stack frames are logged. Messages of Cardea are logged whole.
 */
function toErrorFields(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name: type, message, code } = error as NodeJS.ErrnoException
  const fields = { type, ...(code ? { code } : {}), stack: framesOf(error) }
  if (error instanceof Refusal) return { ...fields, message, ...(error.detail ? { detail: error.detail } : {}) }
  return isProgrammingError(error) ? { ...fields, message } : fields
}

/** A TypeError of Cardea or of the language. Those of Node have a code, and quote the value they got. */
const isProgrammingError = (error: Error): boolean => error instanceof TypeError && !('code' in error)

/** The stack without its first lines, which repeat the message. */
function framesOf({ stack = '', message }: Error): string {
  const start = stack.indexOf(message)
  const lines = (start < 0 ? stack : stack.slice(start + message.length)).split('\n')
  return lines.filter((line) => FRAME.test(line)).join('\n')
}

const FRAME = /^ {4}at /

const LEVEL_NAMES = new Map([
  [20, 'debug'],
  [30, 'info'],
  [40, 'warn'],
  [50, 'error'],
])

const toText = (output: DestinationStream): DestinationStream => ({
  write(line) {
    const { level, time, msg, ...fields } = JSON.parse(line)
    const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${renderValue(value)}`)
    output.write(`${new Date(time).toISOString()} ${LEVEL_NAMES.get(level) ?? level} ${msg}${rest.join('')}\n`)
  },
})

const PLAIN = /^[^\s"=\p{Cc}]+$/u

/** Text that a client may have chosen is quoted, so that it cannot imitate fields or lines. */
const renderValue = (value: unknown): string =>
  typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value)
