// The keys of TLS session tickets. Siblings have the same, so that each resumes the sessions of the others.
import { hash } from 'node:crypto'
import type { Server } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import { type Clock, SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveSecret } from '../base/siblings.ts'

/** How long a key encrypts tickets. A ticket of an earlier key leads to a full handshake. */
const PERIOD_MS = 3_600_000
const KEY_BYTES = 48

/** Other settings have other keys: a session that they would not open is not resumed. */
export const deriveTicketKeys = (seed: Uint8Array, tls: object, nowMs: number): Buffer =>
  deriveSecret(seed, `tickets ${hash('sha256', JSON.stringify(tls))} ${Math.floor(nowMs / PERIOD_MS)}`, KEY_BYTES)

/** Sets the keys now and in each period. Returns a function that stops this. */
export function followTicketKeys(
  server: Server,
  seed: Uint8Array | undefined,
  tls: object | undefined,
  { nowMs }: Clock = SYSTEM_CLOCK,
): () => void {
  if (!(server instanceof HttpsServer && seed && tls)) return () => {}
  let timer: NodeJS.Timeout
  const set = () => {
    server.setTicketKeys(deriveTicketKeys(seed, tls, nowMs()))
    timer = setTimeout(set, PERIOD_MS - (nowMs() % PERIOD_MS)).unref()
  }
  set()
  return () => clearTimeout(timer)
}
