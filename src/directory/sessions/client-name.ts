const BROWSERS = [
  ['Firefox', /Firefox\//],
  ['Edge', /Edg\//],
  ['Opera', /OPR\//],
  ['Chrome', /Chrom(e|ium)\//],
  ['Safari', /Safari\//],
] as const
const SYSTEMS = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
] as const

/** "Chrome on Linux"; the name of a program that is no browser as it is. Lists of sessions show it and search by it. */
export function describeClient(userAgent: string): string {
  const browser = BROWSERS.find(([, pattern]) => pattern.test(userAgent))?.[0]
  if (browser === undefined) return userAgent
  const system = SYSTEMS.find(([, pattern]) => pattern.test(userAgent))?.[0]
  return system === undefined ? browser : `${browser} on ${system}`
}
