// What operators observe: whether the parts of the server work.
import { Refusal } from '../base/errors.ts'
import type { Component } from '../dialects/admin-api/probes.ts'
import type { LiveRing } from '../keys/live-ring.ts'
import type { OpenedParts } from './parts.ts'

type ObservedParts = Pick<OpenedParts, 'directory' | 'tokenSecrets' | 'gateway'>

/** The parts that must work for the server to be ready. Services are not among them: each serves only its own paths. */
export const listComponents = ({ directory, tokenSecrets, gateway }: ObservedParts): readonly Component[] => [
  { name: 'store', findProblem: () => findStoreProblem(directory.catchUp) },
  { name: 'keys', findProblem: async () => findKeyProblem([tokenSecrets.ring, gateway.ring]) },
  ...gateway.readiness.checks().map(({ door, findProblem }) => ({ name: `upstream.${door}`, findProblem })),
]

async function findStoreProblem(query: () => Promise<void>): Promise<string | undefined> {
  try {
    await query()
    return undefined
  } catch (error) {
    return (error instanceof Refusal ? error.detail : undefined) ?? 'the store cannot be reached'
  }
}

/** After a failed reload the old secrets stay in use, but a restart would fail and other nodes may have new ones. */
const findKeyProblem = (rings: readonly (LiveRing | undefined)[]): string | undefined =>
  rings.find((ring) => ring?.problem)?.problem?.reason
