import type { Readable } from 'node:stream'
import type { Exchange } from '../door/exchange.ts'
import type { DirectOrder } from './direct.ts'
import { type HeaderFilter, keepTrailers } from './request-headers.ts'

interface Sent {
  readonly exchange: Exchange
  readonly headers: readonly string[]
  readonly filter: HeaderFilter
}

/** A request that undici cannot send, ready for who can: one with an expectation or with trailers. `undefined`: it can. */
export function findDirectOrder({ exchange, headers, filter }: Sent, body: Readable): DirectOrder | undefined {
  const expect = exchange.header('expect')
  const trailer = exchange.header('trailer')
  if (expect === undefined && trailer === undefined) return undefined
  const expectsContinue = expect?.toLowerCase() === '100-continue'
  const length = exchange.header('content-length')
  // only a body in pieces has trailers
  const announced = length === undefined && trailer !== undefined ? filterNames(trailer, exchange, filter) : ''
  if (!expectsContinue && announced === '') return undefined
  const all = [...headers]
  if (length === undefined) all.push('Transfer-Encoding', 'chunked')
  else all.push('Content-Length', length)
  if (expectsContinue) all.push('Expect', '100-continue')
  if (announced !== '') all.push('Trailer', announced)
  const trailers = (): [string, string][] =>
    announced === '' ? [] : toPairs(keepTrailers(exchange.rawTrailers, exchange.rawHeaders, filter))
  const isBodyHere = () => exchange.isBodyHere
  return { method: exchange.method, path: exchange.target, headers: all, body, expectsContinue, isBodyHere, trailers }
}

/** Nothing is announced that will not come. */
function filterNames(announced: string, { rawHeaders }: Exchange, filter: HeaderFilter): string {
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
