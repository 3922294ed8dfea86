import { serverUrls } from './addresses.ts'
import type { Problem } from './problems.ts'
import { type OpenEntry, renderSource } from './settings.ts'

/** An application behind the multi-model door. */
export interface Service {
  readonly name: string
  /** The path it is mounted at, segment by segment. */
  readonly mount: readonly string[]
  readonly url: string
  /** Whether it asks for a credential whatever the mode. */
  readonly isRequired: boolean
  /** Whether it answers CORS preflights itself. */
  readonly ownsPreflights: boolean
}

/**
 * Whom the tokens of `/_gate` are for: whatever application stands behind the proxy that asked. A service of that name
 * would take them for its own.
 */
export const GATE_AUDIENCE = 'gate'

const FORM = /^(\/\S+)\s+(\S+)((?:\s+(?:required|preflight))*)$/
const SEGMENT = /^[A-Za-z0-9.~-][A-Za-z0-9._~-]*$/
const EXPECTED =
  'expected /mount http://host:port, then required, preflight, both or nothing; no part of the mount begins with _'

/** Those that are sound, longest mount first: the nearest counts. */
export const readServices = (entries: readonly OpenEntry[]): readonly Service[] =>
  entries
    .map(readService)
    .filter((service) => typeof service !== 'string')
    .toSorted((a, b) => b.mount.length - a.mount.length)

/** All that is wrong with them, each with its place. */
export function checkServices(entries: readonly OpenEntry[]): readonly Problem[] {
  const mounted = new Map<string, string>()
  return entries.flatMap((entry) => {
    const service = readService(entry)
    if (typeof service === 'string') return [toProblem(entry, service)]
    const path = `/${service.mount.join('/')}`
    const other = mounted.get(path)
    if (other !== undefined) return [toProblem(entry, `${other} is mounted at ${path} already`)]
    mounted.set(path, entry.key)
    return []
  })
}

const toProblem = ({ key, source }: OpenEntry, why: string): Problem => ({
  kind: 'bad-value',
  place: renderSource(source),
  message: `[services] ${key}: ${why}`,
})

/** Or what is wrong with it. */
function readService({ key: name, text }: OpenEntry): Service | string {
  if (name === GATE_AUDIENCE) return 'this name is taken by the tokens of /_gate'
  const [, path = '', address = '', rest = ''] = FORM.exec(text.trim()) ?? []
  const words = rest.split(/\s+/)
  const mount = path.split('/').slice(1)
  const isPlain = mount.every((segment) => SEGMENT.test(segment) && !/^\.+$/.test(segment))
  const url = findUrl(address)
  if (path === '' || !isPlain || url === undefined) return EXPECTED
  return { name, mount, url, isRequired: words.includes('required'), ownsPreflights: words.includes('preflight') }
}

function findUrl(text: string): string | undefined {
  try {
    const [url, ...others] = serverUrls.parse(text)
    return others.length === 0 ? url : undefined
  } catch {
    return undefined
  }
}
