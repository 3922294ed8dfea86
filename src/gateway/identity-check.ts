/**
 * Whether a server accepts the identities that Cardea signs. A response of 400 or 401 may be about the client's request
 * or about Cardea's signature, and both look alike; so the server is asked something that only the signature decides.
 */
import type { Clock } from '../base/clock.ts'
import { readUtf8 } from '../base/encoding.ts'
import { readJson } from '../base/json.ts'
import type { Member } from './balancer.ts'
import type { Pools } from './pools.ts'

/** A request whose response shows whether the signature was accepted. */
export interface IdentityProbe {
  /** Responses to a signed request that may mean that it was not. */
  readonly suspicious: ReadonlySet<number>
  readonly path: string
  /** Names and values in turn; `undefined`: identities are not signed now. */
  headers(): readonly string[] | undefined
  /** Why the signature was not accepted; `undefined`: it was, or this does not show it. */
  findReason(status: number, body: unknown): string | undefined
}

/** Why this server rejects the signature; `undefined`: it does not, or that cannot be told now. */
export type CheckIdentity = (member: Member<Pools>) => Promise<string | undefined>

/** How long an answer counts. Clients may cause any number of suspicious responses. */
const FRESH_MS = 1000
const TIMEOUT_MS = 5000
const MAX_BODY_BYTES = 16_384

interface Finding {
  readonly atMs: number
  readonly reason: Promise<string | undefined>
}

export function createIdentityCheck(probe: IdentityProbe, clock: Clock): CheckIdentity {
  const findings = new WeakMap<Member<Pools>, Finding>()
  return (member) => {
    const known = findings.get(member)
    if (known && clock.nowMs() - known.atMs < FRESH_MS) return known.reason
    const reason = ask(member, probe).catch(() => undefined)
    findings.set(member, { atMs: clock.nowMs(), reason })
    return reason
  }
}

async function ask({ pool }: Member<Pools>, { path, headers, findReason }: IdentityProbe): Promise<string | undefined> {
  const signed = headers()
  if (signed === undefined) return undefined
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const response = await pool.requests.request({ method: 'GET', path, headers: [...signed], signal })
  return findReason(response.statusCode, await readJsonBody(response.body))
}

/** `undefined` for what is too large or no JSON. */
export async function readJsonBody(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  const reading = readJson(readUtf8(Buffer.concat(chunks)) ?? '')
  return reading.kind === 'json' ? reading.value : undefined
}
