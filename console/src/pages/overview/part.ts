// The parts that the health is about: what they are called, and where their problems are solved.
import { texts } from './texts.ts'

const PROVIDER = /^provider\.(.*)$/

export function toPartLabel(part: string): string {
  const provider = PROVIDER.exec(part)?.[1]
  return provider === undefined ? (texts.parts[part] ?? part) : texts.provider(provider)
}

const PAGES: Readonly<Record<string, string>> = { keys: '#/secrets', nodes: '#/nodes' }

/** `undefined`: no page of the console shows more. */
export const findPartPage = (part: string): string | undefined =>
  PROVIDER.test(part) ? '#/settings?search=provider' : PAGES[part]
