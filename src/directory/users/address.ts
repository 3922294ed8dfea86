/** E-mail addresses of users. One counts only when its owner, or an administrator, has verified it. */
import { domainToASCII, domainToUnicode } from 'node:url'
import { digestHex } from '../../base/encoding.ts'

export interface VerifiedAddress {
  /** As `readAddress` returns it. */
  readonly text: string
  /** Seconds since the epoch. */
  readonly verifiedAt: number
  /**
   * With a link that was sent there, with one that undoes a change, or at a trusted identity provider. Left out: an
   * administrator has set it.
   */
  readonly provenBy?: 'link' | 'undo' | 'provider'
}

/** RFC 5321. */
const MAX_ADDRESS_BYTES = 254
const MAX_LOCAL_BYTES = 64

/** ASCII without quotes: a letter that only looks like another one is no part of it, and no line break is. */
const LOCAL = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/
/** Checked before the conversion, which would also read an escaped host or one with a port. */
const GIVEN_DOMAIN = /^[a-z0-9.\-\u0080-\u{10ffff}]+$/iu
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
/** The last label is no number: that would be an IP address. */
const DOMAIN = new RegExp(`^(?:${LABEL}\\.)*(?!\\d+$)${LABEL}$`)

/** Without white space around it, and with the domain in lower case and ASCII; `undefined`: it is no address. */
export function readAddress(given: string): string | undefined {
  const [, local = '', domain = ''] = /^([^@]+)@([^@]+)$/.exec(given.trim()) ?? []
  if (!LOCAL.test(local) || local.length > MAX_LOCAL_BYTES || !GIVEN_DOMAIN.test(domain)) return undefined
  const ascii = domainToASCII(domain)
  const address = `${local}@${ascii}`
  return DOMAIN.test(ascii) && address.length <= MAX_ADDRESS_BYTES ? address : undefined
}

/** What people may write for an address: with the domain in ASCII, and in their own letters. */
export function listForms(address: string): readonly string[] {
  const [local = '', domain = ''] = address.split('@')
  return [...new Set([address, `${local}@${domainToUnicode(domain)}`])]
}

/** Equal for addresses that differ only in case. One user at most has a verified address with this key. */
export const toAddressKey = (address: string): string => digestHex('sha256', `mailto:${address.toLowerCase()}`)
