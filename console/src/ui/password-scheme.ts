import { shared } from '../texts.ts'

/** "pbkdf2 sha256 600000", as the server names it, as "PBKDF2-SHA-256, 600,000 rounds". */
export function showScheme(scheme: string): string {
  const [, digest, rounds] = /^pbkdf2 sha(\d+) (\d+)$/.exec(scheme) ?? []
  return digest === undefined ? scheme : `PBKDF2-SHA-${digest}, ${shared.users.rounds(Number(rounds))}`
}
