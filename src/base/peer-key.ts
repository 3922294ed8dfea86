import { isIPv4, isIPv6 } from 'node:net'

const UNIX_SOCKET = 'unix'
const GROUPS = 8
const NETWORK_GROUPS = 4
const MAPPED_IPV4 = /^::ffff:(?:0:)?(\d+\.\d+\.\d+\.\d+)$/i

/**
 * The key under which failures from an address are counted. For IPv6 it is the /64 network, because a client usually owns
 * all of it. An IPv4-mapped address counts as IPv4. `undefined` for a request without a connection, whose client is unknown.
 */
export function toPeerKey(address: string): string | undefined {
  if (address === '') return UNIX_SOCKET
  if (address === '0.0.0.0') return undefined
  if (!address.includes(':')) return address
  const [plain = ''] = address.split('%')
  const mapped = MAPPED_IPV4.exec(plain)?.[1]
  if (mapped !== undefined && isIPv4(mapped)) return mapped
  return isIPv6(plain) ? toNetwork(readGroups(plain)) : address
}

function toNetwork(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(-2)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (isMapped) return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}

/** The eight numbers of an IPv6 address that is known to be valid. */
function readGroups(address: string): readonly number[] {
  const [head = '', tail] = address.split('::')
  const front = readPart(head)
  if (tail === undefined) return front
  const back = readPart(tail)
  return [...front, ...Array<number>(GROUPS - front.length - back.length).fill(0), ...back]
}

const readPart = (text: string): readonly number[] =>
  text === ''
    ? []
    : text.split(':').flatMap((group) => (group.includes('.') ? readIPv4(group) : [Number.parseInt(group, 16)]))

function readIPv4(text: string): readonly number[] {
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number)
  return [a * 256 + b, c * 256 + d]
}
