import { setFlagsFromString } from 'node:v8'
import { isInternalUsable } from './probes.ts'

export const V8_FLAGS: readonly string[] = [
  // Requests in progress survive a garbage collection. V8 concludes that such objects live long, and creates later ones
  // in the old generation, where each keeps the objects of its request until a full collection. Without this flag the
  // gateway takes 93 instead of 69 µs of CPU time for a request with a JWT (`npm run bench -- gateway-cpu`), and pauses
  // for up to 30 ms.
  '--no-allocation-site-pretenuring',
  // A request passes through many small functions. By default V8 inlines functions of up to 460 bytes of bytecode, and
  // 920 bytes in all. Then a request with a JWT, a cookie or Basic takes 6 to 11 % more CPU time (means of three runs of
  // `npm run bench -- gateway-cpu --against=DIR`).
  '--max-inlined-bytecode-size=1000',
  '--max-inlined-bytecode-size-cumulative=4000',
]

/** Called after the start: with other flags V8 does not use the compiled code that Node and the compile cache keep. */
export function tuneV8(): void {
  if (isInternalUsable('v8-flags')) for (const flag of V8_FLAGS) setFlagsFromString(flag)
}
