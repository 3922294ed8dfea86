import type { Readable } from 'node:stream'
import type { RequestContext } from '../http/request-context.ts'
import type { DirectOrder } from './node-client.ts'
import { type HeaderFilter, keepTrailers } from './request-headers.ts'

interface Sent {
  readonly context: RequestContext
  readonly headers: readonly string[]
  readonly filter: HeaderFilter
}

/** A request with trailers, ready for the client that can send them. `undefined`: undici can send it. */
export function findDirectOrder({ context, headers, filter }: Sent, body: Readable): DirectOrder | undefined {
  const trailer = context.header('trailer')
  // only a chunked body has trailers
  if (trailer === undefined || context.header('content-length') !== undefined) return undefined
  const announced = filterNames(trailer, context, filter)
  if (announced === '') return undefined
  const all = [...headers, 'Transfer-Encoding', 'chunked', 'Trailer', announced]
  const trailers = () => toPairs(keepTrailers(context.rawTrailers, context.rawHeaders, filter))
  return { method: context.method, path: context.target, headers: all, body, trailers }
}

/** Nothing is announced that will not come. */
function filterNames(announced: string, { rawHeaders }: RequestContext, filter: HeaderFilter): string {
  const flat = announced.split(',').flatMap((name) => [name.trim(), ''])
  const kept = keepTrailers(flat, rawHeaders, filter)
  return kept.filter((name) => TOKEN.test(name)).join(', ')
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

function toPairs(flat: readonly string[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([flat[i] as string, flat[i + 1] as string])
  return pairs
}
